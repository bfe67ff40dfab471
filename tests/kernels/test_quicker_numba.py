"""The quicker forms of numba's functions return what numba's own do."""

import importlib.util
import inspect
import itertools
import math
import operator

import numba
import numpy as np
import pytest
from llvmlite import ir as llvm
from numba import njit, typeof, types
from numba.core import base, errors, ir, postproc, registry
from numba.core.compiler import Flags, run_frontend
from numba.core.targetconfig import Option, TargetConfig
from numba.extending import overload

from lastblock.core import history
from lastblock.kernels import quicker_numba, samplers

pytestmark = pytest.mark.skipif(
    not numba.__version__.startswith(quicker_numba.COMPARED),
    reason="this version of numba keeps its own forms: compare, then add it to COMPARED",
)


def numbas_own(quick, name="numbas"):
    """Numba's function behind a quicker one."""
    return inspect.getclosurevars(quick).nonlocals[name]


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


def loops(a, b):
    total = 0.0
    for k in range(a):
        while total < b:
            total += k
            if total > 3.0:
                break
        if k == 7:
            continue
        b = total
    return total, b


@pytest.mark.parametrize("function", [loops, history.append, samplers.normal])
def test_variables_live_where_numba_says(function):
    run = postproc.PostProcessor.run
    codes = [run_frontend(getattr(function, "compilable", function)) for _ in range(2)]
    for code, way in zip(codes, (run, numbas_own(run)), strict=True):
        way(postproc.PostProcessor(code))
    quick, own = codes
    assert list(quick.blocks) == list(own.blocks)
    assert quick.variable_lifetime.livemap == own.variable_lifetime.livemap
    for here, there in zip(quick.blocks.values(), own.blocks.values(), strict=True):
        assert quick.get_block_entry_vars(here) == own.get_block_entry_vars(there)
    with pytest.raises(KeyError):
        quick.get_block_entry_vars(None)
    for code, way in zip(codes, (run, numbas_own(run)), strict=True):
        way(postproc.PostProcessor(code), True)
    here, there = (
        [str(line) for block in code.blocks.values() for line in block.body] for code in codes
    )
    assert here == there
    assert any(line.startswith("del ") for line in here)


def test_a_function_is_found_for_exactly_its_types():
    @njit
    def twice(x, y=2):
        return x * y

    assert (twice(3), twice(0.5), twice(3, 0.5)) == (6, 1.0, 1.5)
    template = type(twice).get_call_template
    given = [(types.int64,), (types.float64,), (types.int64, types.float64), (types.literal(3),)]
    for args in given:
        found, pysig, folded, kws = twice.get_call_template(args, {})
        numbas, numbas_pysig, numbas_folded, numbas_kws = numbas_own(template, "numbas_template")(
            twice, args, {}
        )
        assert (pysig, folded, kws) == (numbas_pysig, numbas_folded, numbas_kws)
        (signature,) = found.cases
        assert signature in numbas.cases
        assert signature.args == tuple(folded)
        assert twice.compile(tuple(folded)) == twice.overloads[tuple(folded)].entry_point
    twice.disable_compile()
    with pytest.raises(RuntimeError, match="disabled"):
        twice.compile((types.complex128,))
    assert twice.get_call_template((types.int64,), {})[0].cases == twice.nopython_signatures


def test_sizes_are_those_of_llvm():
    data = registry.cpu_target.target_context.target_data
    word, real, byte = llvm.IntType(64), llvm.DoubleType(), llvm.IntType(8)
    pair = llvm.LiteralStructType([byte, word])
    named = [llvm.Context().get_identified_type("named") for _ in range(2)]
    named[0].set_body(word, word)
    named[1].set_body(byte)
    kinds = [byte, word, real, pair, llvm.ArrayType(pair, 3), pair.as_pointer()]
    for kind, size in zip(named, (16, 1), strict=True):
        assert kind.get_abi_size(data, kind.context) == size
    for measure, expected in [
        (llvm.Type.get_abi_size, [1, 8, 8, 16, 48, 8]),
        (llvm.Type.get_abi_alignment, [1, 8, 8, 8, 8, 8]),
    ]:
        for _ in range(2):
            assert [measure(kind, data) for kind in kinds] == expected
        assert expected == [numbas_own(measure)(kind, data) for kind in kinds]


def test_functions_that_take_the_place_of_a_call_are_known():
    def without(context, builder, signature, args):
        pass

    def taking(context, builder, signature, args, loc=None):
        pass

    for _ in range(2):
        assert [base._has_loc(each) for each in (without, taking)] == [False, True]
