"""Sliding-window Thompson sampling (Trovò & al., 2020)."""

from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.window import LONGEST_WINDOW, clear, slide, window_dtype, window_sum
from lastblock.kit import Family, FamilyWord, Layout, Range, Record, argmax, enqueue, policy
from lastblock.policies._posteriors import PriorMean, PriorSigma, Sigma, as_observed, posterior_draw
from lastblock.theory.tunings import garivier_window


@policy(support="family", examples=[{"window": 40}, {"window": 20, "family": "gaussian"}])
class SlidingWindowThompson(NamedTuple):
    """Thompson sampling on the last `window` rewards of all arms together.

    Parameters
    ----------
    window
        τ, in pulls.
    family, prior_mean, prior_sigma, sigma
        As in `Thompson`.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.SlidingWindowThompson.tuned(horizon=10_000, changes=2).window
    429

    References
    ----------
    Trovò, Paladino, Restelli & Gatti. Sliding-window Thompson sampling for non-stationary settings.
    JAIR, 2020.
    """

    window: Annotated[int, Range(1, LONGEST_WINDOW, unit="pulls")]
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
    ) -> "SlidingWindowThompson":
        """Return the policy with the window 2√(T log T / Γ) of Garivier & Moulines (2011)."""
        window = garivier_window(horizon=horizon, changes=changes)
        return cls(window, family, prior_mean, prior_sigma, sigma)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("index", np.float64, (arms,)),
            ("recent", window_dtype(arms, self.window)),
        ]

    def start(self, s: Record) -> None:
        clear(s.recent)
        self.plan(s)

    def plan(self, s: Record) -> None:
        w = s.recent
        for k in range(s.arms):
            s.index[k] = posterior_draw(
                s.stream,
                self.family,
                float(w.pulls[k]),
                window_sum(w, k),
                self.prior_mean,
                self.prior_sigma,
                self.sigma,
            )
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        slide(s.recent, arm, as_observed(s.stream, self.family, reward), self.window)
