"""PHE: perturbed-history exploration (Kveton, Szepesvári, Ghavamzadeh & Boutilier, 2019)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.kit import COUNT, Layout, Range, Record, argmax, binomial, enqueue, policy, unseen

FUZZ = 1.0 - 1e-12
"""Subtracted before a n is rounded up, so that ⌈1.1 · 100⌉ is 110 despite rounding errors."""


@policy(support="unit", examples=[{"a": 0.5}, {"a": 1.1}])
class PHE(NamedTuple):
    """Pull the arm with the best mean after fair coins have been added to each arm's rewards.

    An arm with n rewards gets ⌈a n⌉ fresh pseudo-rewards at every step, each 0 or 1 with
    probability ½. Rewards must lie in [0, 1], or the coins would be too small or too large for
    them.

    Parameters
    ----------
    a
        How many pseudo-rewards an arm gets for each reward; positive. The paper proves logarithmic
        regret above 1; smaller ones explore less.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    >>> run = lb.simulate(lb.PHE(a=1.1), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 20)
    True

    References
    ----------
    Kveton, Szepesvári, Ghavamzadeh & Boutilier. Perturbed-History Exploration in Stochastic
    Multi-Armed Bandits. IJCAI 2019.
    """

    a: Annotated[float, Range(above=0.0, most=1e6)] = 2.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def plan(self, s: Record) -> None:
        for k in range(s.arms):
            if s.pulls[k] == 0:
                s.index[k] = unseen(s, k)
            else:
                coins = math.ceil(self.a * s.pulls[k] * FUZZ)
                perturbed = s.sums[k] + binomial(s.stream, coins, 0.5)
                s.index[k] = perturbed / (s.pulls[k] + coins)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
