"""D-UCB: UCB on discounted rewards (Kocsis & Szepesvári, 2006; Garivier & Moulines, 2011)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue
from lastblock.kit import WEIGHT, Discount, Layout, Positive, Record, argmax, policy, unseen
from lastblock.policies._fading import fade_and_add
from lastblock.theory.tunings import sigma_discount


@policy(
    shift_invariant=True,
    examples=[{"discount": 0.95}, {"discount": 0.5, "scale": 2.0}, {"discount": 1.0}],
)
class DUCB(NamedTuple):
    """Pull the arm with the largest mean + C √(log n / N); a reward of i pulls ago weighs γⁱ.

    Mean and N are the discounted ones, n is the discounted number of all pulls.

    Parameters
    ----------
    discount
        γ, above 0 and at most 1.
    scale
        C, which is 2B√ξ in the paper; σ√2 for noise of standard deviation σ, so the default
        belongs to rewards in [0, 1].

    Examples
    --------
    >>> import lastblock as lb
    >>> round(lb.DUCB.tuned(horizon=10_000, changes=3).discount, 6)
    0.99567
    >>> round(lb.DUCB.tuned(horizon=10_000, changes=3, sigma=0.5).discount, 6)  # Gaussian rewards
    0.997835

    References
    ----------
    Garivier & Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011.
    """

    discount: Discount
    scale: Positive = math.sqrt(0.5)

    @classmethod
    def tuned(cls, *, horizon: int, changes: int, sigma: float | None = None) -> "DUCB":
        """Return the policy with γ = 1 − √(Γ/T) / (4B) and C = σ√2.

        Without `sigma`, for rewards in [0, 1]: B = 1 and C = √½. With it, for unbounded rewards of
        this standard deviation: B = 1 + 2σ.
        """
        discount = sigma_discount(horizon=horizon, changes=changes, sigma=sigma)
        scale = math.sqrt(0.5) if sigma is None else sigma * math.sqrt(2.0)
        return cls(discount=discount, scale=scale)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", WEIGHT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def plan(self, s: Record) -> None:
        n = 0.0
        for k in range(s.arms):
            n += s.pulls[k]
        log_n = math.log(max(n, 1.0))  # the last reward alone weighs 1
        for k in range(s.arms):
            count = s.pulls[k]
            if count > 0.0:
                bonus = self.scale * math.sqrt(log_n / (count + s.out[k]))
                s.index[k] = s.sums[k] / count + bonus
            else:
                s.index[k] = unseen(s, k)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        fade_and_add(s, arm, reward, self.discount)
