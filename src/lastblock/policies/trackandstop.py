"""Track-and-Stop with D-tracking (Garivier & Kaufmann, 2016)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.protocol import Scores
from lastblock.kernels.divergences import Family, FamilyWord, inside
from lastblock.kernels.proportions import best_proportions
from lastblock.kit import COUNT, Layout, Record, Sigma, argmax, enqueue, policy, unseen


@policy(support="family", examples=[{"family": "gaussian", "sigma": 0.5}])
class TrackAndStop(NamedTuple):
    """Find the best arm: pull the arms in the proportions that tell it from the others soonest.

    The policy chooses the pulls, and `Bandit.verdict` says when to stop. It is not made to earn
    rewards meanwhile.

    Parameters
    ----------
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson" or "exponential".
    sigma
        The known standard deviation of Gaussian rewards.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(mean) for mean in (0.1, 0.2, 0.3, 0.6)])
    >>> run = lb.simulate(lb.TrackAndStop(), arms, horizon=1000, replications=100, seed=1)
    >>> run.pulls.mean(axis=0).round(-1).tolist()
    [80.0, 150.0, 370.0, 400.0]

    References
    ----------
    Garivier & Kaufmann. Optimal Best Arm Identification with Fixed Confidence. COLT 2016.
    """

    family: Family | FamilyWord = Family.BERNOULLI
    sigma: Sigma = 1.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("means", np.float64, (arms,)),
            ("shares", np.float64, (arms,)),  # w*, the best proportions of pulls
            ("owed", np.float64, (arms,)),  # by how much the pulls fall behind them
        ]

    def plan(self, s: Record) -> None:
        # Decisions that are out count as pulls.
        t = 0.0
        fewest = math.inf
        is_new = False
        for k in range(s.arms):
            n = float(s.pulls[k] + s.out[k])
            t += n
            s.owed[k] = -n
            if s.pulls[k] == 0:
                s.owed[k] = unseen(s, k)
                is_new = is_new or s.owed[k] > 0.0
            else:
                fewest = min(fewest, n)
        # An arm without rewards comes first; then one that has fewer than √t − K/2 pulls …
        is_forced = fewest < math.sqrt(t) - 0.5 * s.arms
        if not is_new and not is_forced and fewest < math.inf:
            # … and else the one that falls behind the best proportions most.
            for k in range(s.arms):
                if s.pulls[k] == 0:  # its rewards do not come: leave it out
                    s.means[k] = -math.inf
            best_proportions(s.means, s.shares, s.arms, self.family, self.sigma)
            for k in range(s.arms):
                if s.pulls[k] > 0:
                    s.owed[k] += t * s.shares[k]
        enqueue(s, argmax(s, s.owed))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
        s.means[arm] = inside(self.family, s.sums[arm] / s.pulls[arm])

    def explain(self, s: Record) -> Scores:
        return Scores("pulls owed", s.owed)
