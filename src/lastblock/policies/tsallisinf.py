"""Tsallis-INF: the best of both worlds, stochastic and adversarial (Zimmert & Seldin, 2021)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.kit import Layout, Record, clipped, enqueue, kernel, policy
from lastblock.policies._exponential_weights import draw_arm, expect_any

ITERATIONS = 60
"""More than Newton's method ever takes here; about five suffice."""

CLOSE = 1e-7
"""Convergence is quadratic: after a relatively smaller step only rounding errors remain."""


@kernel
def solve_chances(s: Record, rate: float) -> None:
    """Set the chances to the minimiser over the simplex of Σ p L − 4 Σ (√p − p/2) / η.

    These are p_k = 4 / (η (L_k − x))², with the x below every loss for which they sum to 1. Here
    p_k = 1 / (u + d_k)², where d_k = η (L_k − min L) / 2 and u lies between 1 and √K. The sum is
    convex and falls with u, so that Newton's steps from the left never pass the root. They start
    where the last ones ended, and a first step that would end below 1 ends there.
    """
    least = s.loss[0]
    for k in range(1, s.arms):
        least = min(least, s.loss[k])
    for k in range(s.arms):
        s.loss[k] -= least  # which changes nothing, and keeps the numbers small
    u = s.shift
    for _ in range(ITERATIONS):
        excess = -1.0
        slope = 0.0
        for k in range(s.arms):
            root = 1.0 / (u + 0.5 * rate * s.loss[k])
            excess += root * root
            slope += 2.0 * root * root * root
        step = excess / slope
        u = max(1.0, u + step)
        if abs(step) <= CLOSE * u:
            break
    s.shift = u
    for k in range(s.arms):
        root = 1.0 / (u + 0.5 * rate * s.loss[k])
        s.chance[k] = root * root


@policy(support="unit", examples=[{"reduced_variance": False}])
class TsallisINF(NamedTuple):
    """Draw arms by chances that fall with the square of their estimated losses (α = ½).

    For rewards in [0, 1] that chance or an adversary may choose: the regret against the best arm
    is of the order log T in a stochastic world and √(KT) at worst, and the policy need not know
    which world it is in, nor for how long.

    Parameters
    ----------
    reduced_variance
        Estimate losses by their difference from ½ where an arm's chance is large (RV, with
        η_t = 4/√t) rather than from 0 (importance weighting, IW, with η_t = 2/√t). This has about
        half the regret.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    >>> run = lb.simulate(lb.TsallisINF(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 40)
    True

    References
    ----------
    Zimmert & Seldin. Tsallis-INF: An Optimal Algorithm for Stochastic and Adversarial Bandits.
    Journal of Machine Learning Research, 2021.
    """

    reduced_variance: bool = True

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("rate", np.float64),  # η, of the last draw
            ("shift", np.float64),  # u, where Newton's method starts
            ("loss", np.float64, (arms,)),  # estimated, cumulated, from that of the best arm
            ("chance", np.float64, (arms,)),
            ("chosen_with", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        s.shift = 1.0
        expect_any(s)
        self.plan(s)

    def plan(self, s: Record) -> None:
        s.rate = (4.0 if self.reduced_variance else 2.0) / math.sqrt(float(s.round))
        solve_chances(s, s.rate)
        enqueue(s, draw_arm(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        loss = 1.0 - clipped(reward)
        if not self.reduced_variance:
            s.loss[arm] += loss / s.chosen_with[arm]
            return
        # Every arm with p ≥ η² gets the baseline B = ½; the chosen one also (loss − B) / p.
        frequent = s.rate * s.rate
        for k in range(s.arms):
            chance = s.chosen_with[k] if k == arm else s.chance[k]
            baseline = 0.5 if chance >= frequent else 0.0
            s.loss[k] += baseline
            if k == arm:
                s.loss[k] += (loss - baseline) / chance

    def resized(self, s: Record, before: Record, arm: int) -> None:
        if s.arms > before.arms:
            # A chance of 1/K before the others make room; it is pulled with certainty now.
            others = s.loss[:arm].min()
            s.loss[arm] = others + 2.0 * max(0.0, math.sqrt(s.arms) - s.shift) / s.rate
            s.chosen_with[arm] = 1.0
