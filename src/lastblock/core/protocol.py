"""The protocol between policies, environments and the engine.

A policy is an immutable value: a `NamedTuple` of parameters, decorated with `@policy`. Its state is
one fixed-size record. Its methods `start`, `plan` and `observe` are kernels: plain Python methods
that numba resolves on the type of the NamedTuple, so that one engine, written once, is compiled for
each policy; with the JIT off the very same methods run as they are.

    layout(self, arms, horizon)          the fields of the state (Python, once)
    start(self, s)                       optional: the first round, if it is not every arm once in
                                         random order; and fields that do not begin with zero
    plan(self, s)                        queue the arms of round `s.round`
    observe(self, s, arm, reward)        one reward of an earlier decision
    full(self, s, arm)                   optional: no room for one more reward of this arm
    support(self)                        optional: the smallest and the largest reward it takes, or
                                         a word, `@policy(support="unit")`; any number if left out

The other methods are plain Python, and optional:

    validate(self)                       raise a ValueError for parameters that do not go together
    resized(self, s, before, arm)        arms came or went, see `resized` below
    replanned(self, s, planned, kept)    it decided without some arms, see below
    held(self, s, arm)                   the rewards it still uses, see `core.describing`
    explain(self, s)                     why the last round was what it was, likewise

A change detector is a value of the same sort, decorated with `@detector`; wrappers keep its record:

    layout(self, arms)                   the fields of its record, `old` and `new` among them
    reset(self, d)                       forget everything
    notice(self, d, arm, reward, age)    take in a reward; has the arm changed? If so, `d.old` and
                                         `d.new` are the means before and after
    support(self)                        optional: as a policy's

An environment is a NamedTuple of arrays with the kernels

    seek(self, t, cursor)                where time t lies, given where t − 1 lay
    phase(self, cursor)                  the number of the phase, from 0 to `phases` − 1
    mean(self, cursor, arm), best(self, cursor)
    sample(self, cursor, arm, draw, scratch)
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.kernels.streams import Stream

Record: TypeAlias = Any  # a numpy record: its fields read as attributes

States: TypeAlias = npt.NDArray[Any]  # of records

Layout: TypeAlias = list[tuple[str, Any] | tuple[str, Any, tuple[int, ...]]]


class Policy(Protocol):
    """The methods that every policy has. Policies need not inherit from this class."""

    def layout(self, arms: int, horizon: int | None) -> Layout: ...
    def plan(self, s: Record) -> None: ...
    def observe(self, s: Record, arm: int, reward: float) -> None: ...
    def _asdict(self) -> dict[str, Any]: ...


CHANGE_FIELDS = ("size", "old", "new")
"""The fields where a detector writes what it has noticed: the number of the arm's rewards since the
change, and the arm's means before and since."""


class Detector(Protocol):
    """The methods that every change detector has.

    `layout` names the fields of its record, those in `CHANGE_FIELDS` among them; `notice` takes a
    reward and says whether the arm has changed; `reset` forgets everything.
    """

    def layout(self, arms: int) -> Layout: ...
    def reset(self, d: Record) -> None: ...
    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool: ...
    def _asdict(self) -> dict[str, Any]: ...


class EnvironmentTable(Protocol):
    """The methods that every compiled environment has."""

    def seek(self, t: int, cursor: int) -> int: ...
    def phase(self, cursor: int) -> int: ...
    def mean(self, cursor: int, arm: int) -> float: ...
    def best(self, cursor: int) -> float: ...
    def sample(self, cursor: int, arm: int, draw: np.uint64, scratch: Stream) -> float: ...


def check_arms(policy: Policy, arms: int) -> None:
    """Raise a ValueError if the policy cannot play this many arms."""
    if arms < 2:
        raise ValueError(f"a bandit needs at least 2 arms, not {arms}; add arms")
    for name, rule in getattr(policy, "rules_for_arms", ()):
        rule.check(policy, name, arms)
    for part in policies_in(policy):
        check_arms(part, arms)


def require_environment(environment: object) -> None:
    """Raise a ValueError unless `environment` is an instance that compiles to a table."""
    if isinstance(environment, type) or not hasattr(environment, "compile"):
        raise ValueError(
            f"environment={environment!r} is not an environment; "
            "give one such as Stationary([Bernoulli(0.4), Bernoulli(0.6)])"
        )


def policies_in(wrapper: Any) -> list[Policy]:
    """Return the policies among the parameters of a wrapper; none of any other policy."""
    return [part for part in wrapper if hasattr(part, "plan")]


def wrapped_in(policy: Policy, s: Record) -> tuple[Policy, Record] | None:
    """Return the policy whose rounds a wrapper hands out, and its record; None without one.

    The policy is a parameter of the wrapper, and its record is the field `inner`.
    """
    wrapped = next(iter(policies_in(policy)), None)
    return None if wrapped is None or "inner" not in s.dtype.names else (wrapped, s["inner"])


def resized(policy: Policy, s: Record, before: Record, arm: int) -> None:
    """Let a policy update what it derives from the number of arms, after an arm came or went.

    Either a new arm has entered as number `arm`, the last one of `s`, with the fields of a policy
    that has just started, and is in the queue. Or arm number `arm` of `before` has left, the arms
    after it have moved up, and fields that held it hold NOBODY. The method is plain Python, and it
    may not draw random numbers.
    """
    method = getattr(policy, "resized", None)
    if method is not None:
        method(s, before, arm)


def replanned(policy: Policy, s: Record, planned: Record, kept: npt.NDArray[np.int64]) -> None:
    """Let a policy correct its record after a decision that was taken without some of its arms.

    The decision was taken in another record, `planned`, from which those arms had been removed: arm
    k there is arm `kept[k]` of `s`. All that the decision changed has been copied to `s`, entry by
    entry. The method is for what means something else among all arms, such as a place in a circle,
    and for what a policy that begins again forgets of the other arms. It is plain Python, and it
    may not draw random numbers. A wrapper need not pass it on.
    """
    method = getattr(policy, "replanned", None)
    if method is not None:
        method(s, planned, kept)
    wrapped = wrapped_in(policy, s)
    if wrapped is not None:
        replanned(*wrapped, planned["inner"], kept)


def innermost(policy: Policy, s: Record) -> tuple[Policy, Record]:
    """Return the policy inside all wrappers, and its record."""
    wrapped = wrapped_in(policy, s)
    return (policy, s) if wrapped is None else innermost(*wrapped)


class Held(NamedTuple):
    """The rewards of one arm that a policy still uses, as the policy's method `held` returns them.

    A policy gives their number, and then `rewards` or `total` if it has one of them. `low` and
    `width` are for wrappers that change rewards, see `scaled`.
    """

    size: float | None
    """How many; discounted where the policy discounts. None if the policy has forgotten some and
    does not count the others."""
    total: float | None = None
    """Their sum, or None if the policy does not keep it."""
    rewards: Callable[[], npt.NDArray[np.float64]] | None = None
    """Returns the rewards themselves, or None if the policy does not keep each of them."""
    low: float = 0.0
    width: float = 1.0
    """A number x that the policy was told stands for the reward low + width · x."""

    def scaled(self, low: float, high: float) -> "Held":
        """Return the same for a wrapper that maps rewards from [low, high] to [0, 1]."""
        width = high - low
        return self._replace(low=low + width * self.low, width=width * self.width)


NOTHING_HELD = Held(0.0)
"""For a policy that has forgotten everything."""


class Scores(NamedTuple):
    """The numbers by which a policy has chosen an arm, as its method `explain` may return them."""

    name: str
    """What to call them: "index", "probability"."""
    values: npt.NDArray[np.float64]
    """One for each arm; there may be room for more arms."""


class Aside(NamedTuple):
    """Why a wrapper pulls an arm, if the wrapped policy has not compared the arms just now."""

    reason: str
    """`LOOKED`, `BEGUN` or `QUEUED` of `lastblock.core.verdicts`."""
    policy: Policy
    """The policy that was not asked."""
    round: int = 0
    """The policy's round, for `QUEUED` …"""
    number: int = 0
    """… the arm's place in it, from 1 …"""
    arms: int = 0
    """… and the number of arms that the round pulls."""


Reason: TypeAlias = Sequence[Any] | Scores | Aside | None
"""Why a policy pulls the arms of a round, as its method `explain` returns it: a `Verdict` for each
challenger, the numbers by which it chose, or, for a wrapper, an `Aside`."""
