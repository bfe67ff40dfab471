"""ε-greedy that forgets: means of discounted rewards, for a world that changes."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.indices import argmax, unseen
from lastblock.core.layout import WEIGHT
from lastblock.core.protocol import Held, Layout, Record, Scores
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.streams import below, uniform
from lastblock.policies._fading import check_discount, fade_and_add, forget_all
from lastblock.support.checks import whole


@policy(scale_invariant=True)
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

    discount: float = 0.99
    epsilon: float = 0.05

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

    @classmethod
    def examples(cls) -> "tuple[DiscountedEpsilonGreedy, ...]":
        return cls(), cls(discount=0.5, epsilon=0.2)

    def validate(self) -> None:
        check_discount("DiscountedEpsilonGreedy", self.discount)
        if not 0.0 <= self.epsilon <= 1.0:
            raise ValueError(
                f"DiscountedEpsilonGreedy: epsilon={self.epsilon} must lie between 0 and 1"
            )

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("counts", WEIGHT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        forget_all(s)
        for k in range(s.index.shape[0]):
            s.index[k] = 0.0
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        if uniform(s.stream) < self.epsilon:
            enqueue(s, below(s.stream, s.arms))
        else:
            for k in range(s.arms):
                count = s.counts[k]
                s.index[k] = s.sums[k] / count if count > 0.0 else unseen(s, k)
            enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        fade_and_add(s, arm, reward, self.discount)

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.counts[arm]), float(s.sums[arm]))

    def chosen_by(self, s: Record) -> Scores:
        return Scores("index", s.index)
