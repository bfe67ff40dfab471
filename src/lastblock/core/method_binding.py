"""How compiled code finds the kernels of a NamedTuple."""

from collections.abc import Callable
from typing import Any, TypeVar

from lastblock.core import guards
from lastblock.core.checked import is_checked_class, is_own
from lastblock.kernels.jit import INLINE, checked_kernel
from lastblock.kernels.linking import linked
from lastblock.kernels.numba_on_demand import when_compiling

F = TypeVar("F", bound=Callable[..., Any])


# Numba finds the kernels of a NamedTuple here. Each overload must spell out its arguments, and the
# methods must use the same names.


def kernel_method(name: str) -> Callable[[F], F]:
    """Let kernels call the method `name` of a NamedTuple; the decorated function returns it."""

    def register(find: F) -> F:
        def bind() -> None:
            from numba import types  # noqa: PLC0415  # slow to import
            from numba.extending import overload_method  # noqa: PLC0415  # slow to import

            overload: Any = overload_method  # not strict: the annotations of the bodies differ
            overload(types.BaseNamedTuple, name, jit_options=linked(INLINE), strict=False)(find)

        when_compiling(bind)
        return find

    return register


def _bind(self: Any, name: str, record: Any, guard: Callable[[Any], Any]) -> Any:
    """Return the method of a NamedTuple; for a checked record, within its `guard`."""
    cls = self.instance_class
    method = getattr(cls, name, None)
    if method is None or is_own(cls) or "checked" not in getattr(record, "fields", ()):
        return method
    return guard(checked_kernel(method))


@kernel_method("start")
def _start(self: Any, s: Any) -> Any:
    return _bind(self, "start", s, guards.start)


@kernel_method("plan")
def _plan(self: Any, s: Any) -> Any:
    return _bind(self, "plan", s, guards.plan)


@kernel_method("observe")
def _observe(self: Any, s: Any, arm: Any, reward: Any) -> Any:
    return _bind(self, "observe", s, guards.observe)


@kernel_method("full")
def _full(self: Any, s: Any, arm: Any) -> Any:
    return _bind(self, "full", s, guards.full)


@kernel_method("support")
def _support(self: Any) -> Any:
    return getattr(self.instance_class, "support", None)


@kernel_method("reset")
def _reset(self: Any, d: Any) -> Any:
    method = getattr(self.instance_class, "reset", None)
    if method is None or not is_checked_class(self.instance_class):
        return method
    body: Any = checked_kernel(method)

    def reset(self: Any, d: Any) -> None:  # numba takes no compiled function here
        body(self, d)

    return reset


@kernel_method("notice")
def _notice(self: Any, d: Any, arm: Any, reward: Any, age: Any) -> Any:
    method = getattr(self.instance_class, "notice", None)
    if method is None or not is_checked_class(self.instance_class):
        return method
    body: Any = checked_kernel(method)

    def notice(self: Any, d: Any, arm: int, reward: float, age: int) -> Any:
        return body(self, d, arm, reward, age)

    return notice


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
