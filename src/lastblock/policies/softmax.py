"""Softmax, or Boltzmann exploration: chances that grow exponentially with the means."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.kit import WEIGHT, Discount, Layout, Positive, Record, Share, enqueue, policy
from lastblock.policies._chances import draw, newcomer
from lastblock.policies._fading import fade_and_add


@policy(shift_invariant=True, examples=[{"temperature": 1.0, "decay": 0.5, "discount": 0.95}])
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

    temperature: Positive = 0.1
    decay: Share = 0.0
    discount: Discount = 1.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", WEIGHT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),  # of the last draw
        ]

    def plan(self, s: Record) -> None:
        arm = newcomer(s, s.pulls)
        if arm >= 0:
            enqueue(s, arm)
            return
        best = -math.inf
        for k in range(s.arms):
            if s.pulls[k] > 0.0:
                best = max(best, s.sums[k] / s.pulls[k])
        temperature = self.temperature
        if self.decay > 0.0:
            temperature *= math.exp(-self.decay * math.log(float(s.arms + s.round - 1)))
        for k in range(s.arms):
            s.chance[k] = 0.0
            if s.pulls[k] > 0.0:
                # Without the JIT, NumPy scalars would warn of a gap that is infinitely large.
                below = float(s.sums[k] / s.pulls[k] - best)
                s.chance[k] = math.exp(below / temperature) if below < 0.0 else 1.0
        enqueue(s, draw(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        fade_and_add(s, arm, reward, self.discount)
