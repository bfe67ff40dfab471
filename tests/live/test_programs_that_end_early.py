"""Programs that end or fork while kernels compile in the background."""

import os
import threading
import time
from contextlib import suppress

import pytest

from lastblock.kernels import background, jit
from processes import run_python

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")

EXIT = """
import time
import lastblock as lb

bandit = lb.Bandit(lb.PlayTheWinner(), 2, seed=1)
bandit.tell(bandit.ask(), 1.0)
time.sleep(PAUSE)
"""
PROGRAMS = {
    f"it ends after {pause} s": EXIT.replace("PAUSE", pause) for pause in ("0", ".3", "1.5")
}
PROGRAMS["the first decision needs no numba"] = """
import sys
import lastblock as lb
from lastblock.kernels.background import compiling

with compiling("never"):
    bandit = lb.Bandit(lb.LBSDAGM(), 3, seed=1)
    bandit.tell(bandit.ask(), 1.0)
assert "numba" not in sys.modules
"""
PROGRAMS["a log of everything has no line of numba"] = """
import io, logging
logging.basicConfig(level=logging.DEBUG, stream=io.StringIO())
import lastblock as lb

lb.Bandit(lb.PlayTheWinner(), 2, seed=1, compiled=True)
assert "numba" not in logging.root.handlers[0].stream.getvalue()
"""
PROGRAMS["the child of a fork compiles for itself"] = """
import os, time
import lastblock as lb

bandit = lb.Bandit(lb.PlayTheWinner(), 2, seed=1)
decision = bandit.ask()
child = os.fork() if hasattr(os, "fork") else 1
bandit.tell(decision, 1.0)
while not bandit.is_compiled:
    time.sleep(0.01)
    bandit.tell(bandit.ask(), 1.0)
if child == 0:
    os._exit(0)
assert not hasattr(os, "fork") or os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_well_that_has_kernels_to_compile(name, tmp_path):
    cache = {} if "fork" in name else {"NUMBA_CACHE_DIR": tmp_path}
    done = run_python("-c", PROGRAMS[name], **cache)
    assert (done.returncode, done.stderr) == (0, "")


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
