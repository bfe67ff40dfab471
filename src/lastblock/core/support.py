"""The rewards that a policy takes and that an environment gives, and what to do if they differ.

A policy and a change detector say which rewards they take by their kernel ``support(self)``, the
smallest and the largest one; `@policy(support="unit")` writes it for them. Code that hands rewards
to a policy asks `support_of` and refuses all other rewards. To clip them instead would mislead the
policy without a warning.
"""

import math
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy
from lastblock.kernels.divergences import family_support

SupportWord: TypeAlias = Literal["any", "non-negative", "unit", "family"]
"""What `@policy(support=…)` and `@detector(support=…)` accept; "family": as the parameter `family`
says."""


class Support(NamedTuple):
    """The numbers from `low` to `high`, as the rewards that a policy takes or an arm gives."""

    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        if self == Support():
            return "any number"
        if math.isinf(self.high):
            return f"numbers of at least {self.low:g}"
        if math.isinf(self.low):
            return f"numbers of at most {self.high:g}"
        return f"numbers in [{self.low:g}, {self.high:g}]"

    def covers(self, other: "Support") -> bool:
        """Return whether `other` lies within this support."""
        return self.low <= other.low and other.high <= self.high


class Scale(NamedTuple):
    """Where rewards of some arms lie: what a policy with a Gaussian family has to be told.

    The fields are named as the parameters of such policies.
    """

    prior_mean: float
    """The middle of the arms' means."""
    prior_sigma: float
    """The distance of their smallest and largest mean, or `sigma` if that is more."""
    sigma: float
    """The largest standard deviation of an arm."""


def hull(supports: "list[Support]") -> Support:
    """Return the smallest support that covers all of `supports`."""
    return Support(min(each.low for each in supports), max(each.high for each in supports))


# The kernels that the words stand for. Their names and arguments are those of the methods.


def _any(self: Any) -> tuple[float, float]:
    return -math.inf, math.inf


def _non_negative(self: Any) -> tuple[float, float]:
    return 0.0, math.inf


def _unit(self: Any) -> tuple[float, float]:
    return 0.0, 1.0


def _family(self: Any) -> tuple[float, float]:
    return family_support(self.family)


_KERNELS = {"any": _any, "non-negative": _non_negative, "unit": _unit, "family": _family}


def declare_support(cls: type[Any], word: SupportWord | None) -> None:
    """Give a class the kernel `support` that `word` stands for.

    Without a word, the class keeps its own method `support`, or takes any number.

    Raises
    ------
    ValueError
        If the word is not known, if the class has both a word and a method, or if the word is
        "family" and the class has no parameter `family`.
    """
    if word is None:
        if not hasattr(cls, "support"):
            cls.support = _any
        return
    name = cls.__name__
    if word not in _KERNELS:
        known = ", ".join(map(repr, _KERNELS))
        raise ValueError(f"{name}: support={word!r} must be one of {known}, or a method `support`")
    if "support" in vars(cls):
        raise ValueError(f"{name}: give support={word!r} or a method `support`, not both")
    if word == "family" and "family" not in cls._fields:
        raise ValueError(f"{name}: support='family' needs a parameter `family`")
    cls.support = _KERNELS[word]


def support_of(policy: Policy) -> Support:
    """Return the rewards that a policy takes.

    >>> import lastblock as lb
    >>> print(support_of(lb.Thompson()))
    numbers in [0, 1]
    >>> print(support_of(lb.Thompson(family="gaussian")))
    any number
    """
    declared: Any = policy
    return Support(*map(float, declared.support()))


def first_outside(rewards: npt.NDArray[np.float64], support: Support) -> int | None:
    """Return the index of the first reward outside `support`, or None if all lie within."""
    if rewards.size == 0 or (rewards.min() >= support.low and rewards.max() <= support.high):
        return None
    return int(np.argmax((rewards < support.low) | (rewards > support.high)))


def remedy(policy: Policy, scale: Scale | None = None) -> str:
    """Return advice on what to do about a reward that the policy does not take.

    `scale` says where the rewards lie, if that is known.
    """
    own: str | None = getattr(policy, "remedy", None)
    if own is not None:
        return own
    name = type(policy).__name__
    ways = []
    if not any(map(math.isinf, support_of(policy))):
        ways.append(
            f"wrap it, Binarized({name}(…), low, high), with the bounds of your rewards (clip=True "
            "there counts rewards beyond them as the nearer bound)"
        )
    families = _with_family(policy)
    if families:
        # With another scale than that of the rewards it would learn nothing: with a normal prior
        # far from them an arm that was never pulled is never pulled.
        scales = [name for name in Scale._fields if any(name in part._fields for part in families)]
        if scale is None:
            suited = f" (set {', '.join(scales)} to suit your rewards)" if scales else ""
        else:
            values = (f"{name}={getattr(scale, name):.3g}" for name in scales)
            suited = f" (here with {', '.join(values)})" if scales else ""
        ways.append(f'choose family="gaussian", which takes any number{suited}')
    ways.append("use a policy that takes any number, such as LBSDAGM()")
    return ", or ".join(ways[:2])


def _with_family(policy: Any) -> list[Any]:
    """Return a policy and the parts that it wraps, as far as they have a parameter `family`."""
    parts = [getattr(policy, name) for name in ("policy", "detector") if hasattr(policy, name)]
    own = [policy] if "family" in getattr(policy, "_fields", ()) else []
    return own + [found for part in parts for found in _with_family(part)]


def refusal(policy: Policy, what: str, scale: Scale | None = None) -> ValueError:
    """Return the error for rewards that a policy does not take; `what` says which they are."""
    name = type(policy).__name__
    return ValueError(f"{what}, but {name} takes {support_of(policy)}; {remedy(policy, scale)}")


def check_fit(policy: Policy, environment: Any) -> None:
    """Raise a ValueError if an environment gives rewards that a policy does not take.

    An environment without `support`, or with an arm whose family has none, may give any reward.
    """
    takes = support_of(policy)
    if takes == Support():
        return
    gives = getattr(environment, "support", None)
    if gives is None:
        raise ValueError(
            f"{type(policy).__name__} takes {takes}, but {_undeclared(environment)}; add it: the "
            "smallest and the largest reward"
        )
    if not takes.covers(gives):
        scale = getattr(environment, "reward_scale", None)
        raise refusal(
            policy, f"the environment gives {gives}", scale if isinstance(scale, Scale) else None
        )


def _undeclared(environment: Any) -> str:
    family = getattr(environment, "undeclared", None)
    if family is None:
        return f"{type(environment).__name__} has no attribute `support`"
    return f"the arm family {family} has no method `support`"
