"""MED: minimum empirical divergence, at random (Honda & Takemura, 2010 and 2011)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.kernels.divergences import BOUNDED, Family, Law, LawWord, divergence, inside
from lastblock.kit import COUNT, Layout, Record, Sigma, enqueue, enqueue_all, policy, shuffle
from lastblock.policies._chances import draw, newcomer
from lastblock.policies._empirical_laws import (
    empirical_cost,
    empirical_fields,
    keep_reward,
    no_room,
    start_empirical,
)


@policy(support="family", examples=[{"family": "gaussian", "sigma": 0.5}, {"family": "bounded"}])
class MED(NamedTuple):
    """Pull each arm with a chance in proportion to exp(−N kl(mean, largest mean)).

    The exponent is the evidence against the arm being the best, so that the chance is about the
    probability of what was seen if it were. For Gaussian rewards this is Maillard sampling.

    Parameters
    ----------
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson", "exponential", or "bounded" for any law on [0, 1]: kl is then the divergence
        K_inf of the rewards themselves, as in the paper, and the policy keeps every reward.
    sigma
        The known standard deviation of Gaussian rewards.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Beta(1.2, 2.8), lb.Beta(1.8, 2.2), lb.Beta(2.4, 1.6)])
    >>> run = lb.simulate(lb.MED("bounded"), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 25)
    True

    References
    ----------
    Honda & Takemura. An Asymptotically Optimal Bandit Algorithm for Bounded Support Models. COLT
    2010.
    Honda & Takemura. An Asymptotically Optimal Policy for Finite Support Models in the Multiarmed
    Bandit Problem. Machine Learning, 2011.
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
            ("chance", np.float64, (arms,)),  # of the last draw
            *(empirical_fields(arms, horizon) if self.grows else []),
        ]

    def start(self, s: Record) -> None:
        start_empirical(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        arm = newcomer(s, s.pulls)
        if arm >= 0:
            enqueue(s, arm)
            return
        best = -math.inf
        for k in range(s.arms):
            if s.pulls[k] > 0:
                best = max(best, s.means[k])
        for k in range(s.arms):
            s.chance[k] = 0.0
            if s.pulls[k] > 0:
                distance = 0.0
                if s.means[k] < best:
                    if self.family == BOUNDED:
                        distance = empirical_cost(s, k, best)
                    else:
                        distance = divergence(self.family, s.means[k], best, self.sigma)
                s.chance[k] = math.exp(-distance * (s.pulls[k] + s.out[k]))
        enqueue(s, draw(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
        s.means[arm] = inside(self.family, s.sums[arm] / s.pulls[arm])
        keep_reward(s, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return no_room(s, arm)
