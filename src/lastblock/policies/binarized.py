"""The binarisation trick: bounded rewards for policies that know only 0 and 1."""

import math
from typing import Any, NamedTuple

from lastblock.core.describing import held
from lastblock.core.protocol import Held, Layout, Policy, Record, resized
from lastblock.core.wrapping import (
    planned,
    ready_to_observe,
    ready_to_plan,
    ready_to_start,
    share_stream,
)
from lastblock.kit import Support, check_round, coin, enqueue, kernel, policy, record_of, support_of
from lastblock.policies.thompson import Thompson


@kernel
def take_round(s: Record) -> None:
    """Hand out all arms of the inner policy's round."""
    check_round(s.inner)
    for i in range(s.inner.queued):
        enqueue(s, s.inner.queue[i])


@policy(
    grows=True,
    remedy="move low and high, or give clip=True to count it as the nearer bound",
    examples=[
        {"policy": Thompson()},
        {"policy": Thompson(), "low": -2.0, "high": 3.0, "clip": True},
    ],
)
class Binarized(NamedTuple):
    """A policy for Bernoulli rewards, on rewards in [low, high].

    A reward x becomes 1 with probability (x − low) / (high − low), else 0. The means keep
    their order, so a guarantee for Bernoulli arms holds for bounded ones. Rewards that are 0 or 1
    already pass untouched: then every decision is that of the policy itself.

    Parameters
    ----------
    policy
        Any policy. The state grows with time only if this policy's does.
    low, high
        The bounds of the rewards. Others are refused.
    clip
        Take rewards beyond the bounds too, as the nearer bound. The means may then change their
        order: the best arm is the one with the best clipped rewards.

    Examples
    --------
    >>> import lastblock as lb
    >>> ratings = [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> likely = [0.3, 0.3, 0.2, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2, 0.2], [0.1, 0.1, 0.2, 0.3, 0.3]
    >>> arms = lb.Stationary([lb.Discrete(ratings, chances) for chances in likely])
    >>> policy = lb.Binarized(lb.Thompson())
    >>> run = lb.simulate(policy, arms, horizon=1000, replications=50, seed=1)
    >>> bool(run.pulls[:, 2].mean() > 800)
    True

    References
    ----------
    Agrawal & Goyal. Further optimal regret bounds for Thompson sampling. AISTATS 2013.
    """

    policy: Policy
    low: float = 0.0
    high: float = 1.0
    clip: bool = False

    def validate(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"Binarized: low={self.low} must be below high={self.high}")
        if not math.isfinite(self.high - self.low):
            raise ValueError(f"Binarized: low={self.low} and high={self.high} are too far apart")
        inner = support_of(self.policy)
        if not inner.covers(Support(0.0, 1.0)):
            raise ValueError(
                f"Binarized: the wrapped policy gets rewards 0 and 1, but {self.policy} takes "
                f"{inner}; wrap another policy"
            )

    def support(self) -> tuple[float, float]:
        if self.clip:
            return -math.inf, math.inf
        return self.low, self.high

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [("inner", record_of(self.policy, arms, horizon))]

    def start(self, s: Record) -> None:
        share_stream(s)
        wrapped: Any = self.policy
        wrapped.start(ready_to_start(s))
        take_round(s)

    def plan(self, s: Record) -> None:
        self.policy.plan(ready_to_plan(s))
        planned(s)
        take_round(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        # A share below 0 or above 1, of a clipped reward, is a coin that always falls the same way.
        share = (reward - self.low) / (self.high - self.low)
        inner = ready_to_observe(s)
        inner.taken = s.taken  # its whole round is ours; a policy may count decisions by it
        self.policy.observe(inner, arm, coin(s.stream, share))

    def full(self, s: Record, arm: int) -> bool:
        wrapped: Any = self.policy
        return bool(wrapped.full(s.inner, arm))

    def resized(self, s: Record, before: Record, arm: int) -> None:
        resized(self.policy, s.inner, before.inner, arm)

    def held(self, s: Record, arm: int) -> Held | None:
        inside = held(self.policy, s.inner, arm)
        return None if inside is None else inside.scaled(self.low, self.high)
