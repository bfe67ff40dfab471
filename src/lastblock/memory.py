"""Records as the memory they lie in."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from lastblock.jit import DISABLED, INLINE
from lastblock.protocol import Record

WORD = 8

copy_memory: Any = cgutils.raw_memcpy


def copy_beginning(s: Record, target: npt.NDArray[np.uint64], first: int) -> None:
    """Fill target[first:] with the first words of a record."""
    target[first:] = np.frombuffer(s, np.uint64, target.size - first)


def _copy_intrinsic(_typing: Any, s: Any, target: Any, first: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        record, array, start = arguments
        words = context.make_array(signature.args[1])(context, builder, array)
        n = builder.sub(builder.extract_value(words.shape, 0), start)
        copy_memory(builder, builder.gep(words.data, [start]), record, n, WORD)
        return context.get_dummy_value()

    return types.void(s, target, types.intp), generate


def _copy_beginning(s: Any, target: Any, first: Any) -> Any:
    """For kernels: one copy of memory."""

    def copy(s: Any, target: Any, first: Any) -> None:
        _copy(s, target, first)

    return copy


if not DISABLED:
    _copy: Any = intrinsic(_copy_intrinsic)
    _overload: Any = overload
    _overload(copy_beginning, jit_options=INLINE, strict=False)(_copy_beginning)
