"""The bits of whole numbers, for kernels."""

from typing import Any

from lastblock.kernels.jit import in_kernels
from lastblock.kernels.numba_on_demand import when_compiling


def trailing_zeros(n: int) -> int:
    """Return how many times 2 divides n; for n = 0, return 64."""
    return (int(n) & -int(n)).bit_length() - 1 if n != 0 else 64


def bit_length(n: int) -> int:
    """Return the number of binary digits of n ≥ 0; 0 has none."""
    return int(n).bit_length()


@when_compiling
def _compile_bits() -> None:
    """Give kernels a `trailing_zeros` of one instruction, and a `bit_length` of two."""
    from llvmlite import ir  # noqa: PLC0415  # slow to import
    from numba import types  # noqa: PLC0415  # slow to import
    from numba.extending import intrinsic  # noqa: PLC0415  # slow to import

    def counted(name: str) -> Any:
        """Return a function that counts zeros with this instruction of LLVM."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, name)(arguments[0], ir.Constant(ir.IntType(1), 0))

        def declare(_typing: Any, n: Any) -> Any:
            return types.int64(types.int64), generate

        return intrinsic(declare)

    count_trailing, count_leading = counted("cttz"), counted("ctlz")

    def zeros(n: Any) -> Any:
        return count_trailing(n)

    def digits(n: Any) -> Any:
        return 64 - count_leading(n)

    in_kernels(trailing_zeros)(lambda n: zeros)
    in_kernels(bit_length)(lambda n: digits)
