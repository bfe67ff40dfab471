"""SW-kl-UCB: kl-UCB on a sliding window (Garivier & Moulines, 2011, with kl-UCB's index)."""

import math
from typing import Any, NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.core.window import Window, clear, slide, window_dtype, window_sum
from lastblock.kernels.divergences import Family, FamilyWord
from lastblock.kit import INDEX, NOBODY, Layout, NotNegative, Record, Sigma, policy
from lastblock.policies._kl_bounds import bounds_layout, clear_bounds, largest_bound, set_mean
from lastblock.theory.tunings import garivier_window


@policy(
    support="family",
    examples=[
        {"window": 50},
        {"window": 20, "family": "gaussian", "sigma": 0.5},
        {"window": 60, "family": "poisson", "c": 0.5, "reference": True},
    ],
)
class SWKLUCB(NamedTuple):
    """kl-UCB on the last `window` rewards: sup {q: N kl(mean, q) ≤ c log min(t, τ)}.

    N and the mean are those of the window; an arm that it does not hold is pulled at once.

    Parameters
    ----------
    window
        τ, in pulls of any arm; at least the number of arms.
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson" or "exponential".
    sigma
        The known standard deviation of Gaussian rewards.
    c
        The factor of the logarithm.
    reference
        Use log t in place of log min(t, τ), as the authors of LB-SDA do in their experiments.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.SWKLUCB.tuned(horizon=10_000, changes=2)
    SWKLUCB(window=429, family='bernoulli', sigma=1.0, c=1.0, reference=False)

    References
    ----------
    Garivier & Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011.
    Cappé, Garivier, Maillard, Munos & Stoltz. Kullback–Leibler Upper Confidence Bounds for Optimal
    Sequential Allocation. Annals of Statistics, 2013.
    """

    window: Window
    family: Family | FamilyWord = Family.BERNOULLI
    sigma: Sigma = 1.0
    c: NotNegative = 1.0
    reference: bool = False

    @classmethod
    def tuned(
        cls,
        *,
        horizon: int,
        changes: int,
        family: Family | FamilyWord = Family.BERNOULLI,
        sigma: float = 1.0,
        c: float = 1.0,
        reference: bool = False,
    ) -> "SWKLUCB":
        """Return the policy with the window 2√(T log T / Γ) of Garivier & Moulines (2011)."""
        window = garivier_window(horizon=horizon, changes=changes)
        return cls(window, family, sigma, c, reference)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [("recent", window_dtype(arms, self.window)), *bounds_layout(arms)]

    def start(self, s: Record) -> None:
        clear(s.recent)
        clear_bounds(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        t = s.round + s.arms - 1
        exploration = self.c * math.log(t if self.reference else min(t, self.window))
        for k in range(s.arms):
            if s.recent.pulls[k] > 0:
                s.level[k] = exploration / (s.recent.pulls[k] + s.out[k])
            else:
                s.level[k] = -1.0
        enqueue(s, largest_bound(s, self.family, self.sigma))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        recent = s.recent
        leaver: Any = INDEX(arm)  # the arm whose oldest reward falls out
        if recent.written >= self.window:
            leaver = recent.arm[(recent.written - self.window) & (recent.arm.shape[0] - 1)]
        slide(recent, arm, reward, self.window)
        set_mean(s, arm, self.family, window_sum(recent, arm) / np.float64(recent.pulls[arm]))
        if leaver != NOBODY:
            if leaver != arm and recent.pulls[leaver] > 0:
                mean = window_sum(recent, leaver) / np.float64(recent.pulls[leaver])
                set_mean(s, leaver, self.family, mean)
