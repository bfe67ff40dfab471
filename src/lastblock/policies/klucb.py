"""kl-UCB (Garivier & Cappé, 2011; Cappé et al., 2013)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.divergences import BOUNDED, Family, Law, LawWord
from lastblock.kit import COUNT, Layout, NotNegative, Record, Sigma, policy
from lastblock.policies._empirical_bounds import (
    empirical_bound_fields,
    keep_for_bounds,
    largest_empirical_bound,
    no_room_for_bounds,
    start_bounds,
)
from lastblock.policies._kl_bounds import bounds_layout, clear_bounds, largest_bound, set_mean


@policy(
    support="family",
    optimistic=True,
    examples=[
        {"family": "gaussian", "sigma": 0.5},
        {"family": "poisson", "c": 0.5},
        {"family": "bounded"},
    ],
)
class KLUCB(NamedTuple):
    """Pull the arm whose mean could be largest: sup {q: N kl(mean, q) ≤ c log t}.

    Parameters
    ----------
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson", "exponential", or "bounded" for any law on [0, 1]: this is the empirical kl-UCB,
        whose divergence is that of the rewards themselves. It explores less where rewards vary less
        than coins, and keeps every reward.
    sigma
        The known standard deviation of Gaussian rewards.
    c
        The factor of log t.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.KLUCB(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(10 < run.mean()[-1] < 25)
    True

    References
    ----------
    Garivier & Cappé. The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond. COLT 2011.
    Cappé, Garivier, Maillard, Munos & Stoltz. Kullback–Leibler Upper Confidence Bounds for Optimal
    Sequential Allocation. Annals of Statistics, 2013.
    """

    family: Law | Family | LawWord = Law.BERNOULLI
    sigma: Sigma = 1.0
    c: NotNegative = 1.0

    @property
    def grows(self) -> bool:
        """Whether the policy keeps every reward."""
        return self.family == Law.BOUNDED

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            *bounds_layout(arms),
            *(empirical_bound_fields(arms, horizon) if self.grows else []),
        ]

    def start(self, s: Record) -> None:
        clear_bounds(s)
        start_bounds(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        exploration = self.c * math.log(s.round + s.arms - 1)
        for k in range(s.arms):
            if s.pulls[k] > 0:
                s.level[k] = exploration / (s.pulls[k] + s.out[k])
            else:
                s.level[k] = -1.0
        if self.family == BOUNDED:
            enqueue(s, largest_empirical_bound(s))
        else:
            enqueue(s, largest_bound(s, self.family, self.sigma))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
        set_mean(s, arm, self.family, s.sums[arm] / s.pulls[arm])
        keep_for_bounds(s, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return no_room_for_bounds(s, arm)
