"""How an arm family is declared, and how kernels sample from any of them.

A family is a `NamedTuple` decorated with `@family()`:

    mean                                  a field or a property
    parameters(self)                      up to four numbers for the kernel
    table(self)                           optional: an array of any length for the kernel
    support(self)                         optional: the smallest and the largest reward; an arm
                                          without it may give anything, so only policies that take
                                          any number play it
    draw(a, b, c, d, table, at, word, scratch)   static kernel: one reward from one 64-bit word

The arm's numbers start at `table[at]`.

`draw` gets exactly one random word a step, whichever arm is pulled, so that policies that are
compared see common random numbers. A sampler that needs more expands the word into the `scratch`
stream.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from lastblock.core.checked import RewardError, is_checked_class
from lastblock.core.declarations import FAMILY_METHODS, check_methods, check_named_tuple
from lastblock.core.declarations import without_parentheses as missing_parentheses
from lastblock.core.method_binding import kernel_method
from lastblock.core.registry import register_name, validated
from lastblock.core.support import Scale, Support, hull
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import checked_kernel, in_kernels, kernel
from lastblock.kernels.streams import Stream
from lastblock.support.checks import flag

T = TypeVar("T")

PARAMETERS = 4
FAMILIES: dict[str, type[Any]] = {}
"""Every arm family, by name. Filled by `@family`; nothing to edit."""


class Arm(Protocol):
    """What an environment needs of an arm."""

    @property
    def mean(self) -> float: ...
    def parameters(self) -> tuple[float, ...]: ...
    def _asdict(self) -> dict[str, Any]: ...


def family(
    without_parentheses: None = None,
    /,
    *,
    movable: bool = False,
    checked: bool = True,
) -> Callable[[type[T]], type[T]]:
    """Register a NamedTuple as an arm family and validate its parameters on construction.

    Parameters
    ----------
    movable
        The mean is the field `mean` and the first parameter, so that `Drifting` can move it.
    checked
        Check every index and every reward of a family from outside the package, as for `policy`.
    """
    if without_parentheses is not None:
        raise missing_parentheses("family", without_parentheses)

    def register(cls: type[T]) -> type[T]:
        check_named_tuple(cls, "family")
        declared: Any = validated(cls)
        check_methods(cls, FAMILY_METHODS, {})
        declared._is_checked = flag(checked, "checked")
        declared.movable = movable
        register_name(FAMILIES, cls)
        return cls

    return register


def code_of(arm: Arm) -> int:
    """Return the number by which kernels know the family of an arm.

    Raises
    ------
    ValueError
        If `arm` is not an instance of a registered family.
    """
    name = type(arm).__name__
    if FAMILIES.get(name) is not type(arm):
        raise ValueError(f"{arm!r} is not an arm; use one of {', '.join(FAMILIES)}")
    return list(FAMILIES).index(name)


def table_of(arm: Arm) -> npt.NDArray[np.float64]:
    """Return the table of an arm: the numbers beyond its four parameters, often none."""
    table = getattr(arm, "table", None)
    return np.empty(0) if table is None else np.asarray(table(), dtype=np.float64)


def arm_support(arm: Arm) -> Support | None:
    """Return the support of the rewards of an arm, or None if its family has no `support`."""
    declared = getattr(arm, "support", None)
    return None if declared is None else Support(*map(float, declared()))


def undeclared(arms: Iterable[Arm]) -> str | None:
    """Return the name of the first family among the arms that has no `support`, or None."""
    return next((type(arm).__name__ for arm in arms if arm_support(arm) is None), None)


def hull_of(arms: Sequence[Arm]) -> Support | None:
    """Return the support of all rewards of some arms, or None if one has no `support`."""
    supports = [arm_support(arm) for arm in arms]
    known = [support for support in supports if support is not None]
    return hull(known) if len(known) == len(supports) else None


def scale_of(arms: Sequence[Arm]) -> Scale | None:
    """Return where the rewards of some arms lie, or None if one has no standard deviation `std`."""
    stds = [getattr(arm, "std", None) for arm in arms]
    known = [float(std) for std in stds if std is not None]
    if len(known) < len(stds):
        return None
    means = [float(arm.mean) for arm in arms]
    low, high, sigma = min(means), max(means), max(known)
    return Scale((low + high) / 2.0, max(high - low, sigma), sigma)


class Families(NamedTuple):
    """All registered families, as an argument of kernels. Its *type* stands for the set.

    When a user registers a family, `families` makes a new type. Kernels are compiled anew for it,
    and the compile cache knows them by the code of its `members`.
    """

    size: int

    def draw(
        self,
        family: int,
        a: float,
        b: float,
        c: float,
        d: float,
        table: npt.NDArray[np.float64],
        at: int,
        word: np.uint64,
        scratch: Stream,
    ) -> float:
        cls: Any = list(FAMILIES.values())[family]
        return float(cls.draw(a, b, c, d, table, at, word, scratch))


_types: dict[tuple[type[Any], ...], type[Families]] = {}


def families() -> Families:
    """Return the families that are registered now."""
    registered = tuple(FAMILIES.values())
    package = __name__.partition(".")[0]
    if registered not in _types:
        own = all(cls.__module__.partition(".")[0] == package for cls in registered)
        foreign = {
            "__module__": "foreign",
            "__slots__": (),
            "members": registered,
            "_is_checked": any(is_checked_class(cls) for cls in registered),
        }
        _types[registered] = Families if own else type("Families", (Families,), foreign)
    return _types[registered](len(registered))


def check_drawn(policy: Any, environment: Any, reward: float) -> None:
    """Raise a RewardError for a reward that the policy does not take, or that is not finite.

    The families of this package give what they declare. This checks those from outside, and does
    nothing if there are none.
    """
    if is_checked_class(type(environment.families)):
        low, high = policy.support()
        if not (-LARGEST_REWARD < reward < LARGEST_REWARD and low <= reward <= high):
            raise RewardError(reward)


@in_kernels(check_drawn)
def _check_drawn(policy: Any, environment: Any, reward: Any) -> Any:
    """Return the `check_drawn` of kernels: code that does nothing without such a family."""
    parts = [getattr(part, "instance_class", None) for part in getattr(environment, "types", ())]
    if not any(part is not None and is_checked_class(part) for part in parts):
        return lambda policy, environment, reward: None

    def check(policy: Any, environment: Any, reward: Any) -> None:
        low, high = policy.support()
        if not (-LARGEST_REWARD < reward < LARGEST_REWARD and low <= reward <= high):
            raise RewardError

    return check


def _link(code: int, draw: Any, others: Any) -> Callable[..., float]:
    """Return one link of an if-else chain over the families, which the compiler flattens."""

    @kernel
    def link(
        family: int,
        a: float,
        b: float,
        c: float,
        d: float,
        table: Any,
        at: Any,
        word: Any,
        scratch: Any,
    ) -> Any:
        if family == code:
            return draw(a, b, c, d, table, at, word, scratch)
        return others(family, a, b, c, d, table, at, word, scratch)

    return link


@kernel
def _no_family(
    family: int,
    a: float,
    b: float,
    c: float,
    d: float,
    table: Any,
    at: Any,
    word: Any,
    scratch: Any,
) -> float:
    return np.nan


@kernel_method("draw")
def _draw(
    self: Any,
    family: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
    table: Any,
    at: Any,
    word: Any,
    scratch: Any,
) -> Any:
    if not issubclass(self.instance_class, Families):
        return None
    chain: Any = _no_family
    for code, cls in reversed(list(enumerate(FAMILIES.values()))):
        compiled = checked_kernel if is_checked_class(cls) else kernel
        chain = _link(code, compiled(cls.draw), chain)

    def draw(
        self: Any,
        family: int,
        a: float,
        b: float,
        c: float,
        d: float,
        table: Any,
        at: int,
        word: Any,
        scratch: Any,
    ) -> Any:
        return chain(family, a, b, c, d, table, at, word, scratch)

    return draw
