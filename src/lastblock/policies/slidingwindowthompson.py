"""Sliding-window Thompson sampling (Trovò & al., 2020)."""

from typing import NamedTuple

import numpy as np

from lastblock.core.indices import argmax
from lastblock.core.protocol import Held, Layout, Record, Scores
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue
from lastblock.core.window import check_window, clear, held, slide, window_dtype, window_sum
from lastblock.kernels.divergences import Family, FamilyWord
from lastblock.policies._posteriors import (
    as_observed,
    check_posterior,
    posterior_draw,
)
from lastblock.theory.tunings import garivier_window


@policy(support="family")
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

    window: int
    family: Family | FamilyWord = Family.BERNOULLI
    prior_mean: float = 0.5
    prior_sigma: float = 0.5
    sigma: float = 0.5

    @classmethod
    def tuned(
        cls,
        *,
        horizon: int,
        changes: int,
        family: Family | FamilyWord = Family.BERNOULLI,
        prior_mean: float = 0.5,
        prior_sigma: float = 0.5,
        sigma: float = 0.5,
    ) -> "SlidingWindowThompson":
        """Return the policy with the window 2√(T log T / Γ) of Garivier & Moulines (2011)."""
        window = garivier_window(horizon=horizon, changes=changes)
        return cls(window, family, prior_mean, prior_sigma, sigma)

    @classmethod
    def examples(cls) -> "tuple[SlidingWindowThompson, ...]":
        return cls(window=40), cls(window=20, family=Family.GAUSSIAN)

    def validate(self) -> None:
        check_window("SlidingWindowThompson", self.window, least=1)
        check_posterior(self)

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

    def held(self, s: Record, arm: int) -> Held:
        return held(s.recent, arm, self.window)

    def chosen_by(self, s: Record) -> Scores:
        return Scores("index", s.index)
