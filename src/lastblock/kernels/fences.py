"""The order in which a kernel writes, for whoever finds the memory of a process that was killed."""

from typing import Any

from lastblock.kernels.jit import in_kernels
from lastblock.kernels.numba_on_demand import when_compiling


def fence() -> None:
    """Make a kernel write what comes before this line before it writes what comes after it.

    The compiler may otherwise swap two writes, or leave out one that a later one covers. It costs
    no instruction: a process that is killed leaves memory as its own instructions had left it.
    """


@when_compiling
def _compile_fence() -> None:
    """Give kernels a `fence` that does something."""
    from numba import types  # noqa: PLC0415  # slow to import
    from numba.extending import intrinsic  # noqa: PLC0415  # slow to import

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst", targetscope="singlethread")
        return context.get_dummy_value()

    def declare(_typing: Any) -> Any:
        return types.void(), generate

    order_writes: Any = intrinsic(declare)

    def order() -> None:
        order_writes()

    in_kernels(fence)(lambda: order)
