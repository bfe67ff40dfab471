"""SW-UCB: UCB on a sliding window (Garivier & Moulines, 2011)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.core.window import Window, clear, slide, window_dtype, window_sum
from lastblock.kit import Layout, Positive, Record, argmax, policy, unseen
from lastblock.theory.tunings import sigma_window


@policy(
    shift_invariant=True, examples=[{"window": 40}, {"window": 25, "scale": 1.5, "reference": True}]
)
class SWUCB(NamedTuple):
    """Pull the arm with the largest mean + C √(log(min(t, τ)) / N), both over the last τ pulls.

    An arm that was not pulled within the window comes first.

    Parameters
    ----------
    window
        τ, in pulls; at least the number of arms.
    scale
        C; σ√2 for noise of standard deviation σ, so the default belongs to rewards in [0, 1].
    reference
        Use log t in place of log(min(t, τ)), as the authors of LB-SDA do in their experiments.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.SWUCB.tuned(horizon=10_000, changes=3).window
    350
    >>> lb.SWUCB.tuned(horizon=10_000, changes=3, sigma=0.5).window  # of Gaussian rewards
    700

    References
    ----------
    Garivier & Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011.
    """

    window: Window
    scale: Positive = math.sqrt(0.5)
    reference: bool = False

    @classmethod
    def tuned(
        cls, *, horizon: int, changes: int, sigma: float | None = None, reference: bool = False
    ) -> "SWUCB":
        """Return the policy with τ = ⌊2B √(T log T / Γ)⌋ and C = σ√2.

        Without `sigma`, for rewards in [0, 1]: B = 1 and C = √½. With it, for unbounded rewards of
        this standard deviation: B = 1 + 2σ.
        """
        window = sigma_window(horizon=horizon, changes=changes, sigma=sigma)
        scale = math.sqrt(0.5) if sigma is None else sigma * math.sqrt(2.0)
        return cls(window=window, scale=scale, reference=reference)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("log_t", np.float64),
            ("index", np.float64, (arms,)),
            ("recent", window_dtype(arms, self.window)),
        ]

    def start(self, s: Record) -> None:
        clear(s.recent)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        # t counts this pull too, so t > K ≥ 2 and log t > 1: the authors' max(log t, 1) is log t.
        t = s.arms + s.round - 1
        if self.reference:
            s.log_t = math.log(t)
        elif t <= self.window or s.round == 2:
            s.log_t = math.log(min(t, self.window))
        for k in range(s.arms):
            n = s.recent.pulls[k]
            if n > 0:
                bonus = self.scale * math.sqrt(s.log_t / (n + s.out[k]))
                s.index[k] = window_sum(s.recent, k) / n + bonus
            else:
                s.index[k] = unseen(s, k)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        slide(s.recent, arm, reward, self.window)
