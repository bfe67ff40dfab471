"""The gradient bandit: stochastic gradient ascent on preferences (Williams, 1992)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.kit import WEIGHT, Discount, Layout, Positive, Record, enqueue, policy, whole
from lastblock.policies._chances import draw

STEEPEST = 200.0
"""The largest change of a preference by one reward, so that none becomes infinite."""


@policy(shift_invariant=True, examples=[{"step": 0.5, "discount": 0.95}])
class GradientBandit(NamedTuple):
    """Pull each arm with a chance in proportion to exp(preference), and let rewards move these.

    A reward above the mean of all rewards so far raises the preference of its arm and lowers the
    others', each by how much its chance responds.

    Parameters
    ----------
    step
        α, positive: the size of a step for rewards that differ by 1.
    discount
        γ, above 0 and at most 1: with each reward preferences shrink by γ, and so does the
        weight of older rewards in their mean. With 1 nothing is forgotten, and a preference that
        has grown for long takes as long to fall.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    >>> run = lb.simulate(lb.GradientBandit(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(20 < run.mean()[-1] < 80)
    True

    References
    ----------
    Williams. Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement
    Learning. Machine Learning, 1992.
    Sutton & Barto. Reinforcement Learning, second edition, section 2.8. MIT Press, 2018.
    """

    step: Positive = 0.1
    discount: Discount = 1.0

    @classmethod
    def tuned(cls, *, horizon: int) -> "GradientBandit":
        """Return the policy with α = 1 and γ = 1 − 1 / (2√T), for rewards whose range is 1."""
        horizon = whole(horizon, "horizon")
        if horizon < 2:
            raise ValueError(f"horizon={horizon} must be at least 2 steps")
        return cls(step=1.0, discount=1.0 - 0.5 / math.sqrt(horizon))

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("weight", WEIGHT),  # of all rewards, discounted as their sum is
            ("total", np.float64),
            ("preference", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),  # of the last draw
        ]

    def start(self, s: Record) -> None:
        self.plan(s)

    def plan(self, s: Record) -> None:
        highest = s.preference[0]
        for k in range(1, s.arms):
            highest = max(highest, s.preference[k])
        for k in range(s.arms):
            s.chance[k] = math.exp(s.preference[k] - highest)
        enqueue(s, draw(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        # The mean of the rewards before this one; the first one is its own.
        usual = s.total / s.weight if s.weight > 0.0 else reward
        move = max(-STEEPEST, min(self.step * (reward - usual), STEEPEST))
        for k in range(s.arms):
            chosen = 1.0 if k == arm else 0.0
            s.preference[k] = self.discount * s.preference[k] + move * (chosen - s.chance[k])
        s.weight = self.discount * s.weight + 1.0
        s.total = self.discount * s.total + reward
