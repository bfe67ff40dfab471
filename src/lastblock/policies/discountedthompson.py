"""Discounted Thompson sampling (Raj & Kalyani, 2017)."""

from typing import NamedTuple

import numpy as np

from lastblock.kernels.divergences import Family, FamilyWord
from lastblock.kit import WEIGHT, Discount, Layout, Record, argmax, enqueue, policy
from lastblock.policies._posteriors import PriorMean, PriorSigma, Sigma, as_observed, posterior_draw
from lastblock.theory.tunings import garivier_discount

FADED = 1e-200
"""A discounted count below this is set to 0, because denormal numbers would be slow."""


@policy(support="family", examples=[{"discount": 0.95}, {"discount": 0.9, "family": "gaussian"}])
class DiscountedThompson(NamedTuple):
    """Thompson sampling whose evidence fades: each pull multiplies all counts and sums by γ.

    Parameters
    ----------
    discount
        γ, in (0, 1]; 1 forgets nothing.
    family, prior_mean, prior_sigma, sigma
        As in `Thompson`. The prior does not fade.

    Examples
    --------
    >>> import lastblock as lb
    >>> round(lb.DiscountedThompson.tuned(horizon=10_000, changes=2).discount, 4)
    0.9965

    References
    ----------
    Raj & Kalyani. Taming non-stationary bandits: a Bayesian approach. 2017.
    """

    discount: Discount
    family: Family | FamilyWord = Family.BERNOULLI
    prior_mean: PriorMean = 0.5
    prior_sigma: PriorSigma = 0.5
    sigma: Sigma = 0.5

    @classmethod
    def tuned(
        cls,
        *,
        horizon: int,
        changes: int,
        family: Family | FamilyWord = Family.BERNOULLI,
        prior_mean: PriorMean = 0.5,
        prior_sigma: PriorSigma = 0.5,
        sigma: Sigma = 0.5,
    ) -> "DiscountedThompson":
        """Return the policy with the discount 1 − ¼√(Γ/T) of Garivier & Moulines (2011)."""
        discount = garivier_discount(horizon=horizon, changes=changes)
        return cls(discount, family, prior_mean, prior_sigma, sigma)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", WEIGHT, (arms,)),  # discounted, as are the sums
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        self.plan(s)

    def plan(self, s: Record) -> None:
        for k in range(s.arms):
            s.index[k] = posterior_draw(
                s.stream,
                self.family,
                s.pulls[k],
                s.sums[k],
                self.prior_mean,
                self.prior_sigma,
                self.sigma,
            )
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        for k in range(s.arms):
            kept = self.discount if s.pulls[k] > FADED else 0.0
            s.pulls[k] *= kept
            s.sums[k] *= kept
        # Rounding is monotone, so with rewards 0 and 1 the sum never passes the count.
        s.sums[arm] += as_observed(s.stream, self.family, reward)
        s.pulls[arm] += 1.0
