"""ε-greedy that forgets: means of discounted rewards, for a world that changes."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.kernels.streams import below, uniform
from lastblock.kit import WEIGHT, Discount, Layout, Record, Share, argmax, enqueue, policy, unseen
from lastblock.policies._fading import fade_and_add
from lastblock.support.checks import whole


@policy(scale_invariant=True, examples=[{"discount": 0.5, "epsilon": 0.2}])
class DiscountedEpsilonGreedy(NamedTuple):
    """Pull any arm with probability ε, else the one with the best mean; each pull fades the past.

    A reward of i pulls ago weighs γⁱ, whichever arm was pulled since. So an arm that was left alone
    for long is judged by its newest rewards, and one that has become the best is found after a
    few looks.

    Parameters
    ----------
    discount
        γ, above 0 and at most 1.
    epsilon
        ε, from 0 to 1.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.DiscountedEpsilonGreedy.tuned(horizon=10_000, arms=3).discount
    0.99
    >>> round(lb.DiscountedEpsilonGreedy.tuned(horizon=10_000, arms=3).epsilon, 4)
    0.0526

    References
    ----------
    Sutton & Barto. Reinforcement Learning, second edition, sections 2.2 and 2.5. MIT Press, 2018.
    """

    discount: Discount = 0.99
    epsilon: Share = 0.05

    @classmethod
    def tuned(cls, *, horizon: int, arms: int) -> "DiscountedEpsilonGreedy":
        """Return the policy with γ = 1 − 1/√T and ε = √(K log T / T), which knows no Γ."""
        horizon, arms = whole(horizon, "horizon"), whole(arms, "arms")
        if horizon < 2:
            raise ValueError(f"horizon={horizon} must be at least 2 steps")
        if arms < 2:
            raise ValueError(f"arms={arms} must be at least 2")
        epsilon = math.sqrt(arms * math.log(horizon) / horizon)
        return cls(1.0 - 1.0 / math.sqrt(horizon), min(1.0, epsilon))

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", WEIGHT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def plan(self, s: Record) -> None:
        if uniform(s.stream) < self.epsilon:
            enqueue(s, below(s.stream, s.arms))
        else:
            for k in range(s.arms):
                count = s.pulls[k]
                s.index[k] = s.sums[k] / count if count > 0.0 else unseen(s, k)
            enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        fade_and_add(s, arm, reward, self.discount)
