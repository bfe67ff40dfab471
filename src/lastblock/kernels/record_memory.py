"""Access to the raw memory of records: copy their first words, zero fields, and prefetch them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.kernels.jit import in_kernels
from lastblock.kernels.numba_on_demand import when_compiling

WORD = 8
CACHE_LINE = 64
FETCHED = 512
"""How many bytes of a record `fetch` prefetches. The small, often used fields come first."""


def copy_beginning(s: Any, target: npt.NDArray[np.uint64], first: int) -> None:
    """Fill `target[first:]` with the first words of the record `s`."""
    target[first:] = np.frombuffer(s, np.uint64, target.size - first)


@when_compiling
def _compile_copy() -> None:
    """Give kernels a `copy_beginning` that is one memcpy."""
    from numba import types  # noqa: PLC0415  # slow to import
    from numba.core import cgutils  # noqa: PLC0415  # slow to import
    from numba.extending import intrinsic  # noqa: PLC0415  # slow to import

    from lastblock.kernels.record_types import address_of  # noqa: PLC0415  # needs numba

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        record, array, start = arguments
        source = address_of(context, builder, signature.args[0], record)
        words = context.make_array(signature.args[1])(context, builder, array)
        n = builder.sub(builder.extract_value(words.shape, 0), start)
        copy_memory: Any = cgutils.raw_memcpy
        copy_memory(builder, builder.gep(words.data, [start]), source, n, WORD)
        return context.get_dummy_value()

    def declare(_typing: Any, s: Any, target: Any, first: Any) -> Any:
        return types.void(s, target, types.intp), generate

    copy_words: Any = intrinsic(declare)

    def copy(s: Any, target: Any, first: Any) -> None:
        copy_words(s, target, first)

    in_kernels(copy_beginning)(lambda s, target, first: copy)


def zeroing(kept: tuple[str, ...]) -> Callable[[Any], None]:
    """Return a function that sets the fields of a record to zero, but those in `kept`.

    Records within the record stay as they are. Kernels call it, too.
    """

    def zero(s: Any) -> None:
        for name in s.dtype.names:
            if name not in kept and s.dtype[name].names is None:
                s[name] = 0

    def compile_zero() -> None:
        from numba import types  # noqa: PLC0415  # slow to import
        from numba.extending import intrinsic  # noqa: PLC0415  # slow to import

        from lastblock.kernels.record_types import zero_fields  # noqa: PLC0415  # needs numba

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            zero_fields(context, builder, signature.args[0], arguments[0], kept)
            return context.get_dummy_value()

        def declare(_typing: Any, s: Any) -> Any:
            return types.void(s), generate

        zero_all: Any = intrinsic(declare)

        def run(s: Any) -> None:
            zero_all(s)

        in_kernels(zero)(lambda s: run)

    when_compiling(compile_zero)
    return zero


def fetch(states: Any, i: int) -> None:
    """Prefetch the first bytes of record `i` into the processor's cache.

    Kernels call it for a record that they will need soon. Without the JIT it does nothing.
    """


@when_compiling
def _compile_fetch() -> None:
    """Give kernels a `fetch` that is one prefetch for each cache line."""
    from llvmlite import ir  # noqa: PLC0415  # slow to import
    from numba import types  # noqa: PLC0415  # slow to import
    from numba.core import cgutils  # noqa: PLC0415  # slow to import
    from numba.extending import intrinsic  # noqa: PLC0415  # slow to import

    from lastblock.kernels.record_types import address_in  # noqa: PLC0415  # needs numba

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = address_in(context, builder, signature.args[0], *arguments)
        flags = cgutils.int32_t
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flags, flags, flags])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        for line in range(0, FETCHED, CACHE_LINE):
            at = builder.gep(place, [arguments[1].type(line)])
            # Prefetch for writing (1), keep in all cache levels (3), data and not code (1).
            builder.call(hint, [at, flags(1), flags(3), flags(1)])
        return context.get_dummy_value()

    def declare(_typing: Any, states: Any, i: Any) -> Any:
        return types.void(states, types.intp), generate

    fetch_lines: Any = intrinsic(declare)

    def hint(states: Any, i: Any) -> None:
        fetch_lines(states, i)

    in_kernels(fetch)(lambda states, i: hint)
