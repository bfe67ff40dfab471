"""Thompson sampling (1933)."""

from typing import NamedTuple

import numpy as np

from lastblock.kit import COUNT, Family, FamilyWord, Layout, Record, argmax, enqueue, policy
from lastblock.policies._posteriors import PriorMean, PriorSigma, Sigma, as_observed, posterior_draw


@policy(
    support="family",
    examples=[
        {"family": "gaussian"},
        {"family": "poisson"},
        {"family": "exponential", "prior_mean": 1.0, "prior_sigma": 2.0},
    ],
)
class Thompson(NamedTuple):
    """Draw a mean from each arm's posterior and pull the arm with the largest.

    Parameters
    ----------
    family
        ``"bernoulli"``: Beta(1, 1) priors, rewards in [0, 1]. A reward strictly between 0 and 1
        becomes 1 with that probability and 0 otherwise.
        ``"gaussian"``: normal priors and rewards of known standard deviation.
        ``"poisson"``: gamma priors, rewards of at least 0.
        ``"exponential"``: inverse gamma priors, rewards of at least 0.
    prior_mean, prior_sigma
        μ₀ and σ₀, mean and standard deviation of the prior of an arm's mean; not for "bernoulli".
        Let it cover the means that you think possible: an arm whose prior lies far below another
        arm's rewards is never pulled.
    sigma
        σ, the standard deviation of a Gaussian reward.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.Thompson(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 25)
    True

    References
    ----------
    Thompson. On the likelihood that one unknown probability exceeds another in view of the evidence
    of two samples. Biometrika, 1933.
    Agrawal & Goyal. Analysis of Thompson sampling for the multi-armed bandit problem. COLT 2012.
    Korda, Kaufmann & Munos. Thompson Sampling for 1-Dimensional Exponential Family Bandits.
    NeurIPS 2013.
    """

    family: Family | FamilyWord = Family.BERNOULLI
    prior_mean: PriorMean = 0.5
    prior_sigma: PriorSigma = 0.5
    sigma: Sigma = 0.5

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        self.plan(s)  # the prior decides from the first pull on

    def plan(self, s: Record) -> None:
        for k in range(s.arms):
            s.index[k] = posterior_draw(
                s.stream,
                self.family,
                float(s.pulls[k]),
                s.sums[k],
                self.prior_mean,
                self.prior_sigma,
                self.sigma,
            )
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.sums[arm] += as_observed(s.stream, self.family, reward)
        s.pulls[arm] += 1
