"""Programs that end or fork while kernels compile in the background."""

import os
import threading
import time
from contextlib import suppress

import pytest

import lastblock as lb
from lastblock.kernels import background, jit
from processes import run_python

POLICY = lb.LBSDAGM()
compiles = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


FIRST_DECISION = """
import sys
import lastblock as lb
from lastblock.kernels.background import compiling

assert "numba" not in sys.modules
with compiling("never"):
    bandit = lb.Bandit(lb.LBSDAGM(), 3, seed=1)
    bandit.tell(bandit.ask(), 1.0)
assert "numba" not in sys.modules
"""


def test_the_first_decision_needs_no_numba():
    done = run_python("-c", FIRST_DECISION)
    assert (done.returncode, done.stderr) == (0, "")


EXIT = """
import sys, time
import lastblock as lb

bandit = lb.Bandit(lb.PlayTheWinner(), 2, seed=1)
bandit.tell(bandit.ask(), 1.0)
time.sleep(float(sys.argv[1]))
""".replace("sys.argv[1]", "PAUSE")


@compiles
@pytest.mark.parametrize("pause", [0.0, 0.3, 1.5])
def test_the_program_may_end_while_it_compiles(pause, tmp_path):
    done = run_python("-c", EXIT.replace("PAUSE", repr(str(pause))), NUMBA_CACHE_DIR=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


FORK = """
import os, time
import lastblock as lb

bandit = lb.Bandit(lb.LBSDAGM(), 3, seed=1)
decision = bandit.ask()
child = os.fork()
bandit.tell(decision, 1.0)
while not bandit.is_compiled:
    time.sleep(0.01)
    bandit.tell(bandit.ask(), 1.0)
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@compiles
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_the_child_of_a_fork_compiles_for_itself():
    lb.Bandit(POLICY, 3, seed=1, compiled=True)  # so that the cache has it
    done = run_python("-c", FORK)
    assert (done.returncode, done.stderr) == (0, "")


QUIET = """
import logging
logging.basicConfig(level=logging.DEBUG)
import lastblock as lb

lb.Bandit(lb.PlayTheWinner(), 2, seed=1, compiled=True)
"""


@compiles
def test_a_log_of_everything_has_no_line_of_numba(tmp_path):
    done = run_python("-c", QUIET, NUMBA_CACHE_DIR=tmp_path)
    assert done.returncode == 0
    assert "numba" not in done.stderr


def test_a_compiler_is_not_stopped_within_llvmlite():
    """It would leave objects of LLVM half made, which are freed twice then."""
    started, let_go, ended = threading.Event(), threading.Event(), []

    def work():
        while not let_go.is_set():
            started.set()
            time.sleep(0.001)
        ended.append("with llvmlite")

    def compile_all(code):
        code()
        while True:
            time.sleep(0.001)

    path = os.path.join("site-packages", "llvmlite", "binding", "module.py")
    work.__code__ = work.__code__.replace(co_filename=path)
    compiler = background._Compiler()
    compiler._thread = threading.Thread(target=stopping, args=(compile_all, work), daemon=True)
    compiler._thread.start()
    started.wait()
    threading.Timer(0.2, let_go.set).start()
    compiler.stop()
    assert not compiler._thread.is_alive()
    assert ended == ["with llvmlite"]


def stopping(function, *arguments):
    """Call a function that is to be stopped."""
    with suppress(background._Stop):
        function(*arguments)
