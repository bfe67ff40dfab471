"""EXP3.S (Auer, Cesa-Bianchi, Freund & Schapire, 2002)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.kit import Discount, Layout, Range, Record, clipped, enqueue, plain, policy
from lastblock.policies._exponential_weights import draw_arm, enter, expect_any, mix_chances
from lastblock.theory.tunings import exp3s_exploration, exp3s_sharing

LARGE = 2.0**300
"""The weights are scaled when the largest of them is above this, or below its inverse."""

STEEPEST = 200.0
"""The largest change of the logarithm of a weight; with rewards in [0, 1] it is at most 1."""

SMALLEST_ALPHA = 1e-100
"""The smallest α. No weight falls below eα/K of the total, so none underflows to 0."""


@policy(examples=[{"gamma": 0.1, "alpha": 0.01}, {"gamma": 0.2, "alpha": 0.001, "reference": True}])
class EXP3S(NamedTuple):
    """EXP3 in which each weight gets a small share of the total, so that no arm is lost for good.

    Parameters
    ----------
    gamma
        γ, the share of uniform exploration, in (0, 1].
    alpha
        α, how much is shared, in (0, 1]; without sharing it is `EXP3`.
    reference
        As in the authors' code of the LB-SDA experiments: choose one step late, by the weights
        before the last reward, divide a reward by the probability for the next step, and take
        rewards outside [0, 1] as they are.
    as_is
        Take rewards outside [0, 1] too, as they are, without any guarantee: what the authors of
        LB-SDA do with Gaussian rewards.

    Examples
    --------
    >>> import lastblock as lb
    >>> round(lb.EXP3S.tuned(horizon=10_000, changes=2, arms=3).gamma, 4)
    0.0766

    References
    ----------
    Auer, Cesa-Bianchi, Freund & Schapire. The nonstochastic multiarmed bandit problem. SIAM Journal
    on Computing, 2002.
    """

    gamma: Discount
    alpha: Annotated[float, Range(SMALLEST_ALPHA, 1.0, hint="to share nothing, use EXP3")]
    reference: bool = False
    as_is: bool = False

    @classmethod
    def tuned(
        cls,
        *,
        horizon: int,
        changes: int,
        arms: int,
        reference: bool = False,
        as_is: bool = False,
    ) -> "EXP3S":
        """Return the policy with α = 1/T and the γ of corollary 8.3; Γ changes are Γ + 1 phases."""
        gamma = exp3s_exploration(horizon=horizon, changes=changes, arms=arms)
        return cls(gamma, exp3s_sharing(horizon=horizon), reference, as_is)

    def support(self) -> tuple[float, float]:
        if self.reference or self.as_is:
            return -math.inf, math.inf
        return 0.0, 1.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("weight", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),
            ("chosen_with", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.weight.shape[0]):
            s.weight[k] = 1.0
        mix_chances(s, self.gamma)
        expect_any(s)
        enqueue(s, draw_arm(s))

    def plan(self, s: Record) -> None:
        if not self.reference:
            mix_chances(s, self.gamma)
        enqueue(s, draw_arm(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        if self.reference:
            mix_chances(s, self.gamma)
            estimate = reward / s.chance[arm]
        else:
            estimate = (reward if self.as_is else clipped(reward)) / s.chosen_with[arm]
        total = 0.0
        for k in range(s.arms):
            total += s.weight[k]
        # w_k ← w_k exp(γ x̂ / K) + (e α / K) Σ w
        growth = self.gamma * estimate / s.arms
        s.weight[arm] *= math.exp(max(-STEEPEST, min(growth, STEEPEST)))
        gift = math.e * self.alpha / s.arms * total
        largest = 0.0
        for k in range(s.arms):
            s.weight[k] += gift
            largest = max(largest, s.weight[k])
        if largest > LARGE or largest < 1.0 / LARGE:
            # By a power of two, which rounds nothing.
            _, exponent = math.frexp(largest)
            for k in range(s.arms):
                s.weight[k] = math.ldexp(s.weight[k], -exponent)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        if s.arms > before.arms:
            enter(s, arm)
        elif self.reference:  # chances are computed when a reward comes, so they are still old
            plain(mix_chances)(s, self.gamma)
