"""IMED: indexed minimum empirical divergence (Honda & Takemura, 2015)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.divergences import BOUNDED, Family, Law, LawWord, divergence, inside
from lastblock.kit import COUNT, Layout, Record, Sigma, argmax, policy, unseen
from lastblock.policies._empirical_laws import (
    empirical_costs,
    empirical_fields,
    keep_reward,
    no_room,
    start_empirical,
)


@policy(
    support="family",
    examples=[{"family": "gaussian", "sigma": 0.5}, {"family": "poisson"}, {"family": "bounded"}],
)
class IMED(NamedTuple):
    """Pull the arm with the smallest N kl(mean, largest mean) + log N.

    The first term is the evidence against the arm being the best, and the second makes arms with
    few rewards more attractive. The policy needs no logarithm of time and solves no equation.

    Parameters
    ----------
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson", "exponential", or "bounded" for any law on [0, 1]: kl is then the divergence
        K_inf of the rewards themselves, as in the paper. It explores less where rewards vary less
        than coins, and keeps every reward.
    sigma
        The known standard deviation of Gaussian rewards.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.IMED(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(5 < run.mean()[-1] < 25)
    True

    References
    ----------
    Honda & Takemura. Non-Asymptotic Analysis of a New Bandit Algorithm for Semi-Bounded Rewards.
    JMLR, 2015.
    """

    family: Law | Family | LawWord = Law.BERNOULLI
    sigma: Sigma = 1.0

    @property
    def grows(self) -> bool:
        """Whether the policy keeps every reward."""
        return self.family == Law.BOUNDED

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("means", np.float64, (arms,)),
            ("logs", np.float64, (arms,)),  # log N of what has arrived
            ("index", np.float64, (arms,)),
            *(empirical_fields(arms, horizon) if self.grows else []),
        ]

    def start(self, s: Record) -> None:
        start_empirical(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        best = -math.inf
        for k in range(s.arms):
            if s.pulls[k] > 0:
                best = max(best, s.means[k])
        if self.family == BOUNDED:
            empirical_costs(s, best)
        else:
            for k in range(s.arms):
                if s.pulls[k] == 0:
                    s.index[k] = unseen(s, k)
                    continue
                n = s.pulls[k] + s.out[k]
                cost = s.logs[k] if s.out[k] == 0 else math.log(n)
                if s.means[k] < best:
                    cost += n * divergence(self.family, s.means[k], best, self.sigma)
                s.index[k] = -cost
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
        s.means[arm] = inside(self.family, s.sums[arm] / s.pulls[arm])
        s.logs[arm] = math.log(s.pulls[arm])
        keep_reward(s, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return no_room(s, arm)
