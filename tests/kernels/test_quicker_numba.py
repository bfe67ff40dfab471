"""The quicker forms of numba's functions return what numba's own do."""

import itertools
import math
import operator

import numpy as np
import pytest
from numba import njit, typeof, types
from numba.core import ir, registry
from numba.core.compiler import Flags, run_frontend
from numba.core.targetconfig import Option, TargetConfig
from numba.extending import overload

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


def test_a_record_is_spelt_as_numba_spells_it():
    first, second = (typeof(np.zeros(1, [("a", np.int64), ("b", kind)])[0]) for kind in "df")
    for _ in range(2):
        assert repr(first).startswith("Record([('a', {'type': int64, 'offset': 0,")
        assert "'type': float64" in repr(first)
        assert "'type': float32" in repr(second)
    assert "_repr" not in "".join(vars(first))  # it is pickled with every compiled function


OPERATORS = [operator.add, operator.truediv, operator.lt, operator.iadd, operator.and_]
NUMBERS = [types.int64, types.uint64, types.float64, types.boolean, types.literal(3)]


@pytest.mark.parametrize("name", OPERATORS, ids=lambda f: f.__name__)
def test_an_operator_means_what_numba_says(name):
    context = registry.cpu_target.typing_context
    context.refresh()
    function = context.resolve_value_type(name)
    slow = type(function).get_call_type.__closure__
    numbas = next(cell.cell_contents for cell in slow if callable(cell.cell_contents))
    for args in itertools.product(NUMBERS, NUMBERS):
        try:
            expected = numbas(function, context, args, {})
        except Exception as error:
            with pytest.raises(type(error)):
                function.get_call_type(context, args, {})
            continue
        for _ in range(2):
            assert function.get_call_type(context, args, {}) == expected


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
