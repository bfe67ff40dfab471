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

from collections.abc import Callable, Collection, Iterable, Sequence
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
    common: bool = False,
    checked: bool = True,
) -> Callable[[type[T]], type[T]]:
    """Register a NamedTuple as an arm family and validate its parameters on construction.

    Parameters
    ----------
    movable
        The mean is the field `mean` and the first parameter, so that `Drifting` can move it.
    common
        Compile the family into the code for every environment. Otherwise an environment with this
        family needs code of its own. For a few families that compile quickly.
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
        declared.common = common
        register_name(FAMILIES, cls)
        return cls

    return register


def is_arm(value: object) -> bool:
    """Return whether a value is an instance of a registered family."""
    return FAMILIES.get(type(value).__name__) is type(value)


def code_of(arm: Arm) -> int:
    """Return the number by which kernels know the family of an arm.

    Raises
    ------
    ValueError
        If `arm` is not an instance of a registered family.
    """
    if not is_arm(arm):
        raise ValueError(f"{arm!r} is not an arm; use one of {', '.join(FAMILIES)}")
    return list(FAMILIES).index(type(arm).__name__)


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
    """The families that kernels can draw from, as an argument of kernels.

    Its *type* stands for the set: compiled code knows of each item of `used` whether it is True or
    None. The first item is about the first registered family, and so on, up to the last one used.
    A set with a user's families is a subclass, and the compile cache knows it by the code of its
    `members`.
    """

    used: tuple[bool | None, ...]

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


def families(codes: Collection[int]) -> Families:
    """Return the families with these codes, and those that are always compiled.

    Code for few families compiles in less time. Most environments have no others than the `common`
    ones, and so share their code.
    """
    registered = list(FAMILIES.values())
    members = {code: cls for code, cls in enumerate(registered) if code in codes or cls.common}
    used = tuple(True if code in members else None for code in range(max(members) + 1))
    return _type_of(tuple(members.values()))(used)


def _type_of(members: tuple[type[Any], ...]) -> type[Families]:
    package = __name__.partition(".")[0]
    if members not in _types:
        own = all(cls.__module__.partition(".")[0] == package for cls in members)
        foreign = {
            "__module__": "foreign",
            "__slots__": (),
            "members": members,
            "_is_checked": any(is_checked_class(cls) for cls in members),
        }
        _types[members] = Families if own else type("Families", (Families,), foreign)
    return _types[members]


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
    from numba.core.types import NoneType  # noqa: PLC0415  # slow to import

    chain: Any = _no_family
    used = zip(self[0].types, FAMILIES.values(), strict=False)
    for code, (kind, cls) in reversed(list(enumerate(used))):
        if not isinstance(kind, NoneType):
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
