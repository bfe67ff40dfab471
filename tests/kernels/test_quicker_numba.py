"""The quicker forms of numba's functions make the same code as numba's own."""

import importlib.util
import re

import numba
import pytest
from numba import njit, types
from numba.core import errors, ir
from numba.extending import overload

from lastblock.kernels import quicker_numba
from processes import run_python

pytestmark = pytest.mark.skipif(
    not numba.__version__.startswith(quicker_numba.COMPARED),
    reason="this version of numba keeps its own forms: compare, then add it to COMPARED",
)

PROGRAM = """
import math, sys
from lastblock.kernels import linking
if sys.argv[1] == "numbas":
    linking.quicken = lambda: None
from lastblock.kernels.numba_on_demand import make_ready
make_ready()
import numba
import numpy as np
from lastblock.core.history import append, block_mean, history_dtype
from lastblock.kernels.samplers import normal

@numba.njit
def ours(states, rewards, stream, n, *rest):
    total, found = (0.0, 1), [1.5, n]
    for k in range(n):
        for reward in rewards[k::2]:
            append(states[0], 0, reward)
            while total[0] < reward:
                total = total[0] + normal(stream), k
                if total[0] > 3.0:
                    break
        if k == 7 and rest[0]:
            continue
        mean = math.sqrt(abs(total[0])) ** 2 / (k + 1) if k < 2.5 else block_mean(states[0], 0, 1)
        found.append(mean)
    if n > 100:
        raise ValueError("too many", n)
    return found[1:], np.sum(rewards)

states = np.zeros(1, history_dtype(2, 63))
print(ours(states, np.arange(4.0), np.arange(1, 5, dtype=np.uint64), 3, True))
assert hasattr(numba.core.event.start_event, "is_quick") == (sys.argv[1] == "quick")
print(ours.inspect_llvm(ours.signatures[0]))
"""


def test_the_code_is_that_of_numba():
    """Numbers, tuples, lists, records, slices, loops, errors, kernels and numpy's functions."""
    made = [run_python("-c", PROGRAM, way).stdout for way in ("numbas", "quick")]
    # Types are numbered as they come; and addresses are those of a process.
    own, quick = (re.sub(r"Li\d+E|\d{7,}", "…", text) for text in made)
    assert "; ModuleID" in own
    assert own == quick


def test_where_numba_is_different_it_keeps_its_own(monkeypatch):
    monkeypatch.delattr(ir.Inst, "_rec_list_vars")
    quicker_numba.quicken()
    assert not hasattr(ir.Inst, "_rec_list_vars")


def test_what_a_user_registers_later_is_found():
    def twice(x):
        raise NotImplementedError

    @njit
    def caller(x):
        return x + 1

    assert caller(1) == 2

    @overload(twice)
    def _twice(x):
        return (lambda x: 2 * x) if isinstance(x, types.Integer) else (lambda x: x + x)

    @njit
    def other(x):
        return twice(x) + 1

    assert other(3) == 7
    assert other(0.25) == 1.5


def test_errors_say_where_they_were_raised():
    spec = importlib.util.find_spec("numba.core.errors")
    numbas = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(numbas)
    assert not hasattr(numbas.new_error_context, "is_quick")
    said = []
    for module in (numbas, errors):
        outside, inside = ir.Loc("mine.py", 3), ir.Loc(module._numba_path + "/x.py", 4)
        problem = module.TypingError("a problem", loc=outside)
        context = module.new_error_context
        with (
            pytest.raises(module.TypingError),
            context("{x} at {loc}", x=1, loc=outside),
            context("{} inside", 2, loc=inside),
            context("curly {}"),
        ):
            raise problem
        with pytest.raises(ZeroDivisionError), context("nothing"):
            raise ZeroDivisionError
        said.append((str(problem), module.loc_info["loc"], module.loc_info["x"]))
    assert said[0] == said[1]
    assert "1 at mine.py (3)" in said[0][0].replace("\n", "")
