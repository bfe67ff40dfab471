"""A policy that is told when the arms change, and starts again: a yardstick for simulations.

A live system cannot have it, because nobody knows there when the arms change.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, overload

import numpy as np

from lastblock.core.describing import explain_next, held
from lastblock.core.protocol import Held, Reason
from lastblock.core.wrapping import (
    planned,
    ready_to_observe,
    ready_to_plan,
    ready_to_start,
    share_stream,
    take_next,
)
from lastblock.kit import Layout, Policy, Record, policy, record_of, within
from lastblock.policies._phases import phase_starts, reached
from lastblock.policies.thompson import Thompson


class KnowsChanges(Protocol):
    """An environment that tells when it changes."""

    @property
    def changes(self) -> tuple[int, ...]: ...


# Both policies accept an environment in place of their numbers, and keep numbers only: a value that
# can be compared, described and stored. A NamedTuple cannot have a `__new__` of its own; a subclass
# of one can.


class _Restarts(NamedTuple):
    policy: Policy
    changes: tuple[int, ...]


@policy(
    grows=True,
    oracle=True,
    examples=[{"policy": Thompson(), "changes": (20, 90)}, {"policy": Thompson(), "changes": ()}],
)
class OracleRestart(_Restarts):
    """A policy that starts again whenever the arms change, at times that the environment tells.

    This is for simulations only: it shows what a perfect change detector would give.

    Parameters
    ----------
    policy
        Any policy. It starts again as if new, even in the middle of a round.
    environment
        An environment that changes at known times (``Piecewise``). Or times, as for `changes`.
    changes
        Instead of an environment, the time steps at which it changes. The value keeps the first
        time steps of all phases, 0 among them.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Piecewise({
    ...     0: [lb.Bernoulli(0.9), lb.Bernoulli(0.5), lb.Bernoulli(0.1)],
    ...     500: [lb.Bernoulli(0.1), lb.Bernoulli(0.9), lb.Bernoulli(0.5)],
    ...     1000: [lb.Bernoulli(0.5), lb.Bernoulli(0.1), lb.Bernoulli(0.9)],
    ... })
    >>> policy = lb.OracleRestart(lb.Thompson(), arms)
    >>> policy.changes
    (0, 500, 1000)
    >>> run = lb.simulate(policy, arms, horizon=1500, replications=50, seed=1)
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

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("phase", within(np.int64, 0, len(self.changes) - 1)),
            ("inner", record_of(self.policy, arms, horizon)),
        ]

    def start(self, s: Record) -> None:
        share_stream(s)
        wrapped: Any = self.policy
        wrapped.start(ready_to_start(s))
        take_next(s)

    # One arm at a time, so that a change in the middle of the inner policy's round cuts it short;
    # hence round r is decision r, and happens at time step r − 1.

    def plan(self, s: Record) -> None:
        phase = reached(self.changes, s.round - 1, s.phase)
        if phase != s.phase:
            s.phase = phase
            wrapped: Any = self.policy
            wrapped.start(ready_to_start(s))
        elif s.inner.taken == s.inner.queued:
            self.policy.plan(ready_to_plan(s))
            planned(s)
        take_next(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        self.policy.observe(ready_to_observe(s), arm, reward)

    def support(self) -> tuple[float, float]:
        wrapped: Any = self.policy
        low, high = wrapped.support()
        return low, high

    def full(self, s: Record, arm: int) -> bool:
        wrapped: Any = self.policy
        return bool(wrapped.full(s.inner, arm))

    def held(self, s: Record, arm: int) -> Held | None:
        found = held(self.policy, s.inner, arm)
        return Held(None) if found is None and s.phase > 0 else found

    def explain(self, s: Record) -> Reason:
        return explain_next(self.policy, s.inner)
