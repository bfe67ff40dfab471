"""The quicker forms of numba's functions return what numba's own do."""

import itertools
import math

import pytest
from numba.core import ir
from numba.core.compiler import Flags, run_frontend
from numba.core.targetconfig import Option, TargetConfig

from lastblock.core import history
from lastblock.kernels import quicker_numba, samplers


class Other(TargetConfig):
    nrt = Option(type=bool, default=True, doc="Another default.")


def settings():
    plain, same, inlined, again, other = Flags(), Flags(), Flags(), Flags(), Other()
    same.nrt = plain.nrt  # set, to the default
    inlined.forceinline = again.forceinline = True
    again.nrt = not plain.nrt
    other.nrt = False
    return [plain, same, inlined, again, inlined.copy(), Other(), other]


def test_settings_are_equal_if_all_their_values_are():
    for one, other in itertools.product(settings(), settings()):
        assert (one == other) == (one.values() == other.values())
        assert one != other or hash(one) == hash(other)
    plain, same, inlined, again, *_ = settings()
    assert plain == same
    assert plain != inlined != again
    assert plain != "settings"
    assert Other() == Other()


def variables_of(value):
    """Numba's own way."""
    if isinstance(value, ir.Var):
        return [value]
    if isinstance(value, ir.Expr):
        return variables_of(value._kws)
    if isinstance(value, ir.Stmt):
        return variables_of(value.__dict__)
    parts = value.values() if isinstance(value, dict) else value
    found = []
    for part in parts if isinstance(value, (list, tuple, dict)) else []:
        found.extend(variables_of(part))
    return found


def several_kinds(a, b, *rest):
    total = [a, b, (a, 1.5)]
    for x in rest:
        if x > b:
            total[0] = math.sqrt(x) + a[1:b]
        else:
            raise ValueError(x, "and", b)
    return {a: total}


@pytest.mark.parametrize(
    "function", [several_kinds, history.append, samplers.normal], ids=lambda f: f.__name__
)
def test_an_instruction_has_the_variables_that_numba_finds(function):
    blocks = run_frontend(getattr(function, "compilable", function)).blocks.values()
    statements = [statement for block in blocks for statement in block.body]
    assert len(statements) > 5
    for statement in statements:
        found = statement.list_vars()
        assert [v.name for v in found] == [v.name for v in variables_of(statement)]


def test_where_numba_is_different_it_keeps_its_own(monkeypatch):
    monkeypatch.delattr(ir.Inst, "_rec_list_vars")
    quicker_numba.quicken()
    assert not hasattr(ir.Inst, "_rec_list_vars")
