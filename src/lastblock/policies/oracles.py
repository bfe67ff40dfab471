"""Two policies that know the environment, as yardsticks in simulations and plots.

Nothing like them can be built for a live system, where nobody knows when the arms change.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from lastblock.jit import kernel
from lastblock.nested import (
    planned,
    ready_to_observe,
    ready_to_plan,
    ready_to_start,
    share_stream,
    take_next,
)
from lastblock.policies.thompson import Thompson
from lastblock.protocol import Layout, Policy, Record, check_arms, check_policy, policy, whole
from lastblock.state import enqueue, record_of


@kernel
def reached(starts: Any, t: int, phase: int) -> int:
    """The phase that holds time step t, given one at or before it."""
    while phase + 1 < len(starts) and t >= starts[phase + 1]:
        phase += 1
    return phase


def whole_numbers(values: Any, name: str) -> list[int]:
    """A list of whole numbers, or a ValueError that names the argument."""
    try:
        items = list(values)
    except TypeError:
        raise ValueError(f"{name}={values!r} must be an environment or whole numbers") from None
    return [whole(item, name) for item in items]


def phase_starts(times: Any, name: str) -> tuple[int, ...]:
    """The first time step of every phase: 0 and the changes."""
    changes = whole_numbers(times, name)
    if changes[:1] == [0]:
        del changes[0]
    if any(t < 1 for t in changes) or changes != sorted(set(changes)):
        raise ValueError(f"{name}={changes} must increase, from at least 1")
    return 0, *changes


class KnowsChanges(Protocol):
    """An environment that says when it changes."""

    @property
    def changes(self) -> tuple[int, ...]: ...


class KnowsMeans(Protocol):
    """An environment that says the means of its arms at any time."""

    def means(self, t: int) -> npt.NDArray[np.float64]: ...


# Both policies accept an environment in place of their numbers, and keep numbers only: a value that
# can be compared, described and stored. A NamedTuple cannot have a `__new__` of its own; a subclass
# of one can.


class _Restarts(NamedTuple):
    policy: Policy
    changes: tuple[int, ...]


@policy(grows=True, oracle=True)
class OracleRestart(_Restarts):
    """A policy that starts again whenever the arms change, told by the environment itself.

    For simulations only: it is what a perfect change detector would give.

    Parameters
    ----------
    policy
        Any policy. It starts again as if new, even in the middle of a round.
    changes
        An environment that changes at known times (``Piecewise``), or those times. The value keeps
        the first time steps of all phases, 0 among them.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Piecewise({
    ...     0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1)],
    ...     500: [lb.Bernoulli(0.1), lb.Bernoulli(0.9)],
    ... })
    >>> lb.OracleRestart(lb.LBSDA(), arms)
    OracleRestart(policy=LBSDA(reference=False), changes=(0, 500))
    >>> run = lb.simulate(_, arms, horizon=1000, replications=50, seed=1)
    >>> bool(run.mean()[-1] < 30)
    True
    """

    __slots__ = ()

    @overload
    def __new__(
        cls, policy: Policy, environment: KnowsChanges | Iterable[int]
    ) -> "OracleRestart": ...
    @overload
    def __new__(cls, policy: Policy, *, changes: Iterable[int]) -> "OracleRestart": ...
    def __new__(
        cls,
        policy: Policy,
        environment: KnowsChanges | Iterable[int] | None = None,
        *,
        changes: Iterable[int] | None = None,
    ) -> "OracleRestart":
        known = changes if environment is None else environment
        if known is None:
            raise ValueError("OracleRestart: give an environment, or the times at which it changes")
        times = getattr(known, "changes", known)
        return super().__new__(cls, policy, phase_starts(times, "OracleRestart: changes"))

    @classmethod
    def examples(cls) -> "tuple[OracleRestart, ...]":
        return cls(Thompson(), (20, 90)), cls(Thompson(), ())

    def validate(self) -> None:
        check_policy(self.policy)

    def check(self, arms: int) -> None:
        check_arms(self.policy, arms)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [("phase", np.int64), ("inner", record_of(self.policy, arms, horizon))]

    def start(self, s: Record) -> None:
        s.phase = 0
        share_stream(s)
        self.policy.start(ready_to_start(s))
        take_next(s)

    # One arm at a time, so that a change in the middle of the inner policy's round cuts it short;
    # hence round r is decision r, and happens at time step r − 1.

    def plan(self, s: Record) -> None:
        phase = reached(self.changes, s.round - 1, s.phase)
        if phase != s.phase:
            s.phase = phase
            self.policy.start(ready_to_start(s))
        elif s.inner.taken == s.inner.queued:
            self.policy.plan(ready_to_plan(s))
            planned(s)
        take_next(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        self.policy.observe(ready_to_observe(s), arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        wrapped: Any = self.policy
        return bool(wrapped.full(s.inner, arm))


class _BestArms(NamedTuple):
    starts: tuple[int, ...]
    arms: tuple[int, ...]


@policy(oracle=True)
class BestArm(_BestArms):
    """Always the arm with the largest mean, told by the environment itself: regret 0.

    For simulations only. Of arms that are equally good it pulls the first.

    Parameters
    ----------
    starts
        An environment; or the first time steps of phases, 0 first.
    arms
        The best arm of each phase; an environment says it itself.
    horizon
        How many time steps to look ahead, needed for an environment that moves all the time
        (``Drifting``). Not kept.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Piecewise({
    ...     0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1)],
    ...     500: [lb.Bernoulli(0.1), lb.Bernoulli(0.9)],
    ... })
    >>> lb.BestArm(arms)
    BestArm(starts=(0, 500), arms=(0, 1))
    >>> float(lb.simulate(_, arms, horizon=1000).mean()[-1])
    0.0
    """

    __slots__ = ()

    @overload
    def __new__(cls, environment: KnowsMeans, *, horizon: int | None = None) -> "BestArm": ...
    @overload
    def __new__(cls, environment: Iterable[int], arms: Iterable[int]) -> "BestArm": ...
    @overload
    def __new__(cls, *, starts: Iterable[int], arms: Iterable[int]) -> "BestArm": ...
    def __new__(
        cls,
        environment: KnowsMeans | Iterable[int] | None = None,
        arms: Iterable[int] | None = None,
        *,
        starts: Iterable[int] | None = None,
        horizon: int | None = None,
    ) -> "BestArm":
        known: Any = starts if environment is None else environment
        if known is None:
            raise ValueError(
                "BestArm: give an environment, or the starts and best arms of its phases"
            )
        if hasattr(known, "means"):
            known, arms = best_arms(known, horizon)
        elif arms is None:
            raise ValueError("BestArm: give the best arm of each phase, or an environment")
        return super().__new__(
            cls, phase_starts(known, "BestArm: starts"), tuple(whole_numbers(arms, "BestArm: arms"))
        )

    @classmethod
    def examples(cls) -> "tuple[BestArm, ...]":
        return (cls((0, 50), (1, 0)),)

    def validate(self) -> None:
        if len(self.starts) != len(self.arms):
            raise ValueError(f"BestArm: {len(self.arms)} arms for {len(self.starts)} phases")
        if min(self.arms) < 0:
            raise ValueError(f"BestArm: arms={self.arms} must not be negative")

    def check(self, arms: int) -> None:
        if max(self.arms) >= arms:
            raise ValueError(f"BestArm: arm {max(self.arms)} is not one of {arms} arms")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [("phase", np.int64)]

    def start(self, s: Record) -> None:
        s.phase = 0
        enqueue(s, self.arms[0])

    def plan(self, s: Record) -> None:
        s.phase = reached(self.starts, s.round - 1, s.phase)
        enqueue(s, self.arms[s.phase])

    def observe(self, s: Record, arm: int, reward: float) -> None:
        pass


def best_arms(environment: Any, horizon: int | None) -> tuple[list[int], list[int]]:
    """When the best arm changes, and what it is."""
    times: Iterable[int]
    if hasattr(environment, "starts"):
        times = environment.starts  # nothing moves in between
    elif horizon is None:
        raise ValueError(f"BestArm: {type(environment).__name__} moves all the time; give horizon=")
    else:
        times = range(whole(horizon, "BestArm: horizon"))
    starts: list[int] = []
    arms: list[int] = []
    for t in times:
        best = int(np.argmax(environment.means(t)))
        if len(arms) == 0 or best != arms[-1]:
            starts.append(t)
            arms.append(best)
    return starts, arms
