"""D-kl-UCB: kl-UCB with discounted rewards (Garivier & Moulines, 2011, with kl-UCB's index)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.divergences import Family, FamilyWord
from lastblock.kit import WEIGHT, Discount, Layout, NotNegative, Record, Sigma, policy
from lastblock.policies._kl_bounds import bounds_layout, clear_bounds, largest_bound, set_mean
from lastblock.theory.tunings import garivier_discount

SMALLEST_COUNT = 1e-9
"""Where discounted counts stop falling; the arm's index is the largest long before."""


@policy(
    support="family",
    examples=[
        {"discount": 0.98},
        {"discount": 0.9, "family": "gaussian", "sigma": 0.5},
        {"discount": 0.95, "family": "poisson", "c": 0.5, "reference": True},
    ],
)
class DKLUCB(NamedTuple):
    """kl-UCB on rewards that weigh γ times less at every step: sup {q: N kl(mean, q) ≤ c log n}.

    N is the sum of the weights of the arm's rewards, the newest of all weighing 1, and n that of
    all arms' rewards.

    Parameters
    ----------
    discount
        γ, above 0 and at most 1.
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson" or "exponential".
    sigma
        The known standard deviation of Gaussian rewards.
    c
        The factor of the logarithm.
    reference
        Use log t in place of log n, as the authors of LB-SDA do in their experiments.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.DKLUCB.tuned(horizon=10_000, changes=4).discount
    0.995

    References
    ----------
    Garivier & Moulines. On Upper-Confidence Bound Policies for Switching Bandit Problems. ALT 2011.
    Cappé, Garivier, Maillard, Munos & Stoltz. Kullback–Leibler Upper Confidence Bounds for Optimal
    Sequential Allocation. Annals of Statistics, 2013.
    """

    discount: Discount
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
    ) -> "DKLUCB":
        """Return the policy with the discount 1 − ¼√(Γ / T) of Garivier & Moulines (2011)."""
        discount = garivier_discount(horizon=horizon, changes=changes)
        return cls(discount, family, sigma, c, reference)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", WEIGHT, (arms,)),
            ("sums", np.float64, (arms,)),
            *bounds_layout(arms),
        ]

    def start(self, s: Record) -> None:
        clear_bounds(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        if self.reference:
            # Pull t is being chosen: K of them in round 1, one in every later round.
            n = float(s.round + s.arms - 1)
        else:
            n = 0.0
            for k in range(s.arms):
                n += s.pulls[k]
        exploration = self.c * math.log(max(n, 1.0))  # the last reward alone weighs 1
        for k in range(s.arms):
            if s.pulls[k] > 0.0:
                s.level[k] = exploration / max(s.pulls[k] + s.out[k], SMALLEST_COUNT)
            else:
                s.level[k] = -1.0
        enqueue(s, largest_bound(s, self.family, self.sigma))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        # Discounting does not change the means of the other arms.
        for k in range(s.arms):
            s.pulls[k] *= self.discount
            s.sums[k] *= self.discount
        s.pulls[arm] += 1.0
        s.sums[arm] += reward
        set_mean(s, arm, self.family, s.sums[arm] / s.pulls[arm])
