"""Access to the raw memory of records: copy their first words, and prefetch them."""

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from lastblock.kernels.jit import DISABLED, INLINE

WORD = 8
CACHE_LINE = 64
FETCHED = 512
"""How many bytes of a record `fetch` prefetches. The small, often used fields come first."""

copy_memory: Any = cgutils.raw_memcpy


def copy_beginning(s: Any, target: npt.NDArray[np.uint64], first: int) -> None:
    """Fill `target[first:]` with the first words of the record `s`."""
    target[first:] = np.frombuffer(s, np.uint64, target.size - first)


def _copy_intrinsic(_typing: Any, s: Any, target: Any, first: Any) -> Any:
    """Generate the machine code of `copy_beginning`: one memcpy."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        record, array, start = arguments
        words = context.make_array(signature.args[1])(context, builder, array)
        n = builder.sub(builder.extract_value(words.shape, 0), start)
        copy_memory(builder, builder.gep(words.data, [start]), record, n, WORD)
        return context.get_dummy_value()

    return types.void(s, target, types.intp), generate


def _copy_beginning(s: Any, target: Any, first: Any) -> Any:
    """Return the implementation of `copy_beginning` for kernels."""

    def copy(s: Any, target: Any, first: Any) -> None:
        _copy(s, target, first)

    return copy


def fetch(states: npt.NDArray[Any], i: int) -> None:
    """Prefetch the first bytes of record `i` into the processor's cache.

    Kernels call it for a record that they will need soon. Without the JIT it does nothing.
    """


def _fetch_intrinsic(_typing: Any, states: Any, i: Any) -> Any:
    """Generate the machine code of `fetch`: one prefetch for each cache line."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), cgutils.voidptr_t)
        flags = cgutils.int32_t
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flags, flags, flags])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        for line in range(0, FETCHED, CACHE_LINE):
            at = builder.gep(place, [arguments[1].type(line)])
            # Prefetch for writing (1), keep in all cache levels (3), data and not code (1).
            builder.call(hint, [at, flags(1), flags(3), flags(1)])
        return context.get_dummy_value()

    return types.void(states, types.intp), generate


def _fetch(states: Any, i: Any) -> Any:
    """Return the implementation of `fetch` for kernels."""

    def hint(states: Any, i: Any) -> None:
        _fetch_lines(states, i)

    return hint


if not DISABLED:
    _copy: Any = intrinsic(_copy_intrinsic)
    _fetch_lines: Any = intrinsic(_fetch_intrinsic)
    _overload: Any = overload
    _overload(fetch, jit_options=INLINE, strict=False)(_fetch)
    _overload(copy_beginning, jit_options=INLINE, strict=False)(_copy_beginning)
