"""The order in which a kernel writes, for whoever finds the memory of a process that was killed."""

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from lastblock.kernels.jit import DISABLED, INLINE


def fence() -> None:
    """Make a kernel write what comes before this line before it writes what comes after it.

    The compiler may otherwise swap two writes, or leave out one that a later one covers. It costs
    no instruction: a process that is killed leaves memory as its own instructions had left it.
    """


def _fence_intrinsic(_typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst", targetscope="singlethread")
        return context.get_dummy_value()

    return types.void(), generate


def _fence() -> Any:
    """Return the `fence` of kernels; outside of kernels, `fence` does nothing."""

    def order() -> None:
        _order_writes()

    return order


if not DISABLED:
    _order_writes: Any = intrinsic(_fence_intrinsic)
    _overload: Any = overload
    _overload(fence, jit_options=INLINE, strict=False)(_fence)
