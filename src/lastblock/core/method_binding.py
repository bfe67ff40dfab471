"""How compiled code finds the kernels of a NamedTuple."""

from collections.abc import Callable
from typing import Any, TypeVar

from lastblock.kernels.jit import INLINE
from lastblock.kernels.linking import linked
from lastblock.kernels.numba_on_demand import when_compiling

F = TypeVar("F", bound=Callable[..., Any])


# Numba finds the kernels of a NamedTuple here. Each overload must spell out its arguments, and the
# methods must use the same names.


def kernel_method(name: str) -> Callable[[F], F]:
    """Let kernels call the method `name` of a NamedTuple; the decorated function returns it."""

    def register(find: F) -> F:
        def bind() -> None:
            from numba import types  # noqa: PLC0415
            from numba.extending import overload_method  # noqa: PLC0415

            overload: Any = overload_method  # not strict: the annotations of the bodies differ
            overload(types.BaseNamedTuple, name, jit_options=linked(INLINE), strict=False)(find)

        when_compiling(bind)
        return find

    return register


@kernel_method("start")
def _start(self: Any, s: Any) -> Any:
    return getattr(self.instance_class, "start", None)


@kernel_method("plan")
def _plan(self: Any, s: Any) -> Any:
    return getattr(self.instance_class, "plan", None)


@kernel_method("observe")
def _observe(self: Any, s: Any, arm: Any, reward: Any) -> Any:
    return getattr(self.instance_class, "observe", None)


@kernel_method("full")
def _full(self: Any, s: Any, arm: Any) -> Any:
    return getattr(self.instance_class, "full", None)


@kernel_method("support")
def _support(self: Any) -> Any:
    return getattr(self.instance_class, "support", None)


@kernel_method("reset")
def _reset(self: Any, d: Any) -> Any:
    return getattr(self.instance_class, "reset", None)


@kernel_method("notice")
def _notice(self: Any, d: Any, arm: Any, reward: Any, age: Any) -> Any:
    return getattr(self.instance_class, "notice", None)


@kernel_method("seek")
def _seek(self: Any, t: Any, cursor: Any) -> Any:
    return getattr(self.instance_class, "seek", None)


@kernel_method("phase")
def _phase(self: Any, cursor: Any) -> Any:
    return getattr(self.instance_class, "phase", None)


@kernel_method("mean")
def _mean(self: Any, cursor: Any, arm: Any) -> Any:
    return getattr(self.instance_class, "mean", None)


@kernel_method("best")
def _best(self: Any, cursor: Any) -> Any:
    return getattr(self.instance_class, "best", None)


@kernel_method("sample")
def _sample(self: Any, cursor: Any, arm: Any, draw: Any, scratch: Any) -> Any:
    return getattr(self.instance_class, "sample", None)
