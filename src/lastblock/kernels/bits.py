"""The bits of whole numbers, for kernels."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from lastblock.kernels.jit import DISABLED, INLINE


def trailing_zeros(n: int) -> int:
    """Return how many times 2 divides n; for n = 0, return 64."""
    return (int(n) & -int(n)).bit_length() - 1 if n != 0 else 64


def bit_length(n: int) -> int:
    """Return the number of binary digits of n ≥ 0; 0 has none."""
    return int(n).bit_length()


def _count(typing_context: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


def _count_leading(typing_context: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


def _trailing_zeros(n: Any) -> Any:
    """Return the `trailing_zeros` of kernels, which takes one instruction."""

    def count(n: Any) -> Any:
        return _count_trailing_zeros(n)

    return count


def _bit_length(n: Any) -> Any:
    """Return the `bit_length` of kernels, which takes two instructions."""

    def count(n: Any) -> Any:
        return 64 - _count_leading_zeros(n)

    return count


if not DISABLED:
    _intrinsic: Any = intrinsic
    _overload: Any = overload
    _count_trailing_zeros: Any = _intrinsic(_count)
    _count_leading_zeros: Any = _intrinsic(_count_leading)
    _overload(trailing_zeros, jit_options=INLINE, strict=False)(_trailing_zeros)
    _overload(bit_length, jit_options=INLINE, strict=False)(_bit_length)
