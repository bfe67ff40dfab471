"""EXP3 (Auer, Cesa-Bianchi, Freund & Schapire, 2002).

Rewards lie in [0, 1]. The reward of an arm is divided by the probability with which the arm was
last chosen.
"""

from typing import NamedTuple

import numpy as np

from lastblock.kit import Discount, Layout, Record, enqueue, policy
from lastblock.policies._exponential_weights import (
    draw_arm,
    expect_any,
    forget_weights,
    mix_chances,
    reinforce,
    resize_weights,
)
from lastblock.theory.tunings import exp3_exploration


@policy(support="unit", examples=[{"gamma": 0.1}, {"gamma": 1.0}])
class EXP3(NamedTuple):
    """Exponential weights on importance-weighted rewards, mixed with uniform exploration.

    For rewards in [0, 1] that an adversary may choose.

    Parameters
    ----------
    gamma
        γ, the share of uniform exploration, in (0, 1].

    Examples
    --------
    >>> import lastblock as lb
    >>> round(lb.EXP3.tuned(horizon=10_000, arms=3).gamma, 4)
    0.0138

    References
    ----------
    Auer, Cesa-Bianchi, Freund & Schapire. The nonstochastic multiarmed bandit problem. SIAM Journal
    on Computing, 2002.
    """

    gamma: Discount

    @classmethod
    def tuned(cls, *, horizon: int, arms: int) -> "EXP3":
        """Return the policy with the γ of corollary 3.2, where T bounds the best arm's sum."""
        return cls(exp3_exploration(horizon=horizon, arms=arms))

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("weight", np.float64, (arms,)),
            ("log_weight", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),
            ("chosen_with", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        forget_weights(s)
        expect_any(s)
        self.plan(s)

    def plan(self, s: Record) -> None:
        mix_chances(s, self.gamma)
        enqueue(s, draw_arm(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        reinforce(s, arm, reward, self.gamma)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        resize_weights(s, before, arm)
