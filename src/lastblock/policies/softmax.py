"""Softmax, or Boltzmann exploration: chances that grow exponentially with the means."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.layout import WEIGHT
from lastblock.core.protocol import Held, Layout, Record, Scores
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.policies._chances import draw, newcomer
from lastblock.policies._fading import check_discount, fade_and_add, forget_all


@policy(shift_invariant=True)
class Softmax(NamedTuple):
    """Pull each arm with a chance in proportion to exp(mean / τ_t), where τ_t = τ / t^decay.

    Parameters
    ----------
    temperature
        τ, positive, in the unit of the rewards: arms whose means differ by much less are pulled
        about equally often.
    decay
        By which power of time the temperature falls, from 0 (not at all) to 1.
    discount
        γ, above 0 and at most 1: a reward of i pulls ago weighs γⁱ in its arm's mean. 1 forgets
        nothing.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Dirac(0.0), lb.Dirac(0.5), lb.Dirac(1.0)])
    >>> run = lb.simulate(lb.Softmax(0.25), arms, horizon=1000, replications=100, seed=1)
    >>> bool(850 < run.pulls.mean(axis=0)[2] < 880)  # e⁴ / (1 + e² + e⁴) of them
    True

    References
    ----------
    Sutton & Barto. Reinforcement Learning. MIT Press, 1998.
    Cesa-Bianchi, Gentile, Lugosi & Neu. Boltzmann Exploration Done Right. NeurIPS 2017.
    """

    temperature: float = 0.1
    decay: float = 0.0
    discount: float = 1.0

    @classmethod
    def examples(cls) -> "tuple[Softmax, ...]":
        return cls(), cls(temperature=1.0, decay=0.5, discount=0.95)

    def validate(self) -> None:
        if self.temperature <= 0.0:
            raise ValueError(f"Softmax: temperature={self.temperature} must be positive")
        if not 0.0 <= self.decay <= 1.0:
            raise ValueError(f"Softmax: decay={self.decay} must lie between 0 and 1")
        check_discount("Softmax", self.discount)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("counts", WEIGHT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),  # of the last draw
        ]

    def start(self, s: Record) -> None:
        forget_all(s)
        for k in range(s.chance.shape[0]):
            s.chance[k] = 0.0
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        arm = newcomer(s, s.counts)
        if arm >= 0:
            enqueue(s, arm)
            return
        best = -math.inf
        for k in range(s.arms):
            if s.counts[k] > 0.0:
                best = max(best, s.sums[k] / s.counts[k])
        temperature = self.temperature
        if self.decay > 0.0:
            temperature *= math.exp(-self.decay * math.log(float(s.arms + s.round - 1)))
        for k in range(s.arms):
            s.chance[k] = 0.0
            if s.counts[k] > 0.0:
                # Without the JIT, NumPy scalars would warn of a gap that is infinitely large.
                below = float(s.sums[k] / s.counts[k] - best)
                s.chance[k] = math.exp(below / temperature) if below < 0.0 else 1.0
        enqueue(s, draw(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        fade_and_add(s, arm, reward, self.discount)

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.counts[arm]), float(s.sums[arm]))

    def chosen_by(self, s: Record) -> Scores:
        return Scores("probability", s.chance)
