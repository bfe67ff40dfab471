"""Bayes-UCB: upper quantiles of the posteriors (Kaufmann, Cappé & Garivier, 2012)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.samplers import normal_quantile
from lastblock.kit import COUNT, Family, FamilyWord, Layout, Record, argmax, kernel, policy, unseen
from lastblock.policies._beta_quantiles import beta_quantile_above
from lastblock.policies._kl_bounds import bounds_layout, clear_bounds, might_reach
from lastblock.policies._posteriors import PriorMean, PriorSigma, Sigma, as_observed


@kernel
def solve_quantile(s: Record, arm: int) -> None:
    """Solve for the quantile of the arm's Beta posterior at its level, and for its slope there.

    Decisions that are out count as rewards equal to the mean.
    """
    mean = (1.0 + s.sums[arm]) / (2.0 + s.pulls[arm])
    a = 1.0 + s.sums[arm] + s.out[arm] * mean
    b = 1.0 + (s.pulls[arm] - s.sums[arm]) + s.out[arm] * (1.0 - mean)
    s.bound[arm], s.slope[arm] = beta_quantile_above(a, b, s.level[arm])
    s.solved[arm] = s.level[arm]
    s.waiting[arm] = s.out[arm]


@kernel
def compare_beta(s: Record, log_t: float) -> None:
    """Set the indices to the quantiles that a Beta posterior exceeds with probability 1/t.

    As for kl-UCB, they are solved for where they can decide: they grow with log t, and less and
    less, so that the tangent at the last solution rules out most arms.
    """
    height = 0.0
    for k in range(s.arms):
        s.level[k] = log_t
        if s.pulls[k] == 0:
            s.index[k] = unseen(s, k)
            continue
        if log_t < s.solved[k] or s.waiting[k] != s.out[k]:
            solve_quantile(s, k)
        s.index[k] = s.bound[k]
        height = max(height, s.bound[k])
    for k in range(s.arms):
        if s.pulls[k] > 0 and might_reach(s, k, height):
            solve_quantile(s, k)
            s.index[k] = s.bound[k]


@kernel
def compare_normal(
    s: Record, z: float, prior_mean: float, prior_sigma: float, sigma: float
) -> None:
    """Set the indices to the means of normal posteriors plus z standard deviations."""
    prior_pulls = (sigma / prior_sigma) * (sigma / prior_sigma)
    for k in range(s.arms):
        if s.pulls[k] > 0:
            centre = (prior_pulls * prior_mean + s.sums[k]) / (prior_pulls + s.pulls[k])
            spread = sigma / math.sqrt(prior_pulls + s.pulls[k] + s.out[k])
            s.index[k] = centre + z * spread
        else:
            s.index[k] = unseen(s, k)


@policy(support="family", optimistic=True, examples=[{"family": "gaussian"}])
class BayesUCB(NamedTuple):
    """Pull the arm whose posterior has the largest quantile of order 1 − 1/t.

    Parameters
    ----------
    family
        ``"bernoulli"``: Beta(1, 1) priors, rewards in [0, 1]. A reward strictly between 0 and 1
        becomes 1 with that probability and 0 otherwise.
        ``"gaussian"``: normal priors and rewards of known standard deviation.
    prior_mean, prior_sigma
        Mean and standard deviation of the prior of an arm's mean; for "gaussian" only.
    sigma
        The standard deviation of a Gaussian reward.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.BayesUCB(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 30)
    True

    References
    ----------
    Kaufmann, Cappé & Garivier. On Bayesian Upper Confidence Bounds for Bandit Problems. AISTATS
    2012.
    """

    family: Family | FamilyWord = Family.BERNOULLI
    prior_mean: PriorMean = 0.5
    prior_sigma: PriorSigma = 0.5
    sigma: Sigma = 0.5

    def validate(self) -> None:
        if self.family not in (Family.BERNOULLI, Family.GAUSSIAN):
            raise ValueError(
                f"BayesUCB: family={self.family!r} has no quantiles here; "
                "use 'bernoulli' or 'gaussian', or Thompson"
            )

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("waiting", COUNT, (arms,)),  # decisions that were out when the bound was solved
            *bounds_layout(arms),
        ]

    def start(self, s: Record) -> None:
        clear_bounds(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        t = float(s.arms + s.round - 1)
        if self.family == Family.GAUSSIAN:
            z = -normal_quantile(1.0 / t)
            compare_normal(s, z, self.prior_mean, self.prior_sigma, self.sigma)
        else:
            compare_beta(s, math.log(t))
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.sums[arm] += as_observed(s.stream, self.family, reward)
        s.pulls[arm] += 1
        s.solved[arm] = math.inf
