"""What numba does around its passes gives the same in its quicker form."""

import importlib.util
import inspect

import numba
import numpy as np
import pytest
from llvmlite import ir as llvm
from numba import njit, typeof, types
from numba.core import base, errors, event, ir, postproc, registry
from numba.core.compiler import run_frontend
from numba.np import arrayobj

from lastblock.core import history
from lastblock.kernels import quicker_numba, samplers

pytestmark = pytest.mark.skipif(
    not numba.__version__.startswith(quicker_numba.COMPARED),
    reason="this version of numba keeps its own forms: compare, then add it to COMPARED",
)


def numbas_own(quick, name="numbas"):
    """Numba's function behind a quicker one."""
    return inspect.getclosurevars(quick).nonlocals[name]


class Heard(event.Listener):
    def __init__(self):
        self.kinds = []

    def on_start(self, event):
        self.kinds.append(("start", event.kind, event.data))

    def on_end(self, event):
        self.kinds.append(("end", event.kind, event.data))


def test_timers_measure_and_listeners_hear():
    kind, outer, inner = "a kind of ours", event.TimingListener(), event.TimingListener()
    with event.install_listener(kind, outer):
        event.start_event(kind)
        with event.install_listener(kind, inner):
            event.start_event(kind)
            assert not inner.done
            event.end_event(kind)
        assert inner.done
        assert not outer.done
        event.end_event(kind)
        first = outer.duration
        with event.install_listener(kind, Heard()) as heard, event.trigger_event(kind, data=7):
            pass
    assert heard.kinds == [("start", kind, 7), ("end", kind, 7)]
    assert outer.duration > first > inner.duration >= 0.0


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


def test_types_that_stand_for_an_array_are_read_as_it(monkeypatch):
    array = typeof(np.zeros(3))
    made = arrayobj.make_array(array)
    assert made is arrayobj.make_array(array)
    assert made is not arrayobj.make_array(typeof(np.zeros((3, 3))))
    context = registry.cpu_target.target_context
    builder = llvm.IRBuilder(
        llvm.Function(
            llvm.Module(), llvm.FunctionType(llvm.VoidType(), ()), "f"
        ).append_basic_block()
    )
    plain = made(context, builder)
    assert plain._outer_ref is plain._value

    asked = []

    def read(builder, args):
        asked.extend(args)
        return builder.alloca(plain._value.type.pointee)

    monkeypatch.setattr(context._defns["__array__"], "versions", [((array,), read)])
    monkeypatch.setattr(context, "get_function", lambda name, signature: read)
    other = made(context, builder)
    assert asked == [other._outer_ref]
    assert other._outer_ref is not other._value


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
