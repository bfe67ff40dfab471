"""LUCB and kl-LUCB (Kalyanakrishnan et al., 2012; Kaufmann & Kalyanakrishnan, 2013)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.kernels.divergences import GAUSSIAN, Family, FamilyWord, inside, upper
from lastblock.kit import COUNT, Chance, Layout, Record, Sigma, argmax, enqueue, policy, unseen


@policy(support="family", examples=[{"family": "bernoulli", "practical": True}])
class LUCB(NamedTuple):
    """Find the best arm: pull the leader, and the other arm that could be better, in turns.

    A round pulls the arm with the largest mean and, among the others, the one with the largest
    upper bound sup {q: N d(mean, q) ≤ β}. `Bandit.verdict` says when to stop.

    Parameters
    ----------
    family
        "gaussian", the default, is LUCB: any rewards, with Hoeffding's bound. "bernoulli" (any
        rewards in [0, 1]), "poisson" and "exponential" are kl-LUCB.
    sigma
        σ for "gaussian": the standard deviation of the rewards. ½ is right for all rewards in
        [0, 1].
    confidence
        1 − δ. Bounds are made for an answer at this confidence.
    practical
        Whether β is log((1 + log t) / δ), which the authors of Track-and-Stop take in their
        experiments, instead of the rates of the two papers.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(mean) for mean in (0.1, 0.2, 0.3, 0.6)])
    >>> run = lb.simulate(lb.LUCB(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.pulls[:, 3].mean() > 450)  # nearly each round
    True

    References
    ----------
    Kalyanakrishnan, Tewari, Auer & Stone. PAC Subset Selection in Stochastic Multi-armed Bandits.
    ICML 2012.
    Kaufmann & Kalyanakrishnan. Information Complexity in Bandit Subset Selection. COLT 2013.
    """

    family: Family | FamilyWord = Family.GAUSSIAN
    sigma: Sigma = 0.5
    confidence: Chance = 0.95
    practical: bool = False

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("means", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def plan(self, s: Record) -> None:
        is_new = False
        for k in range(s.arms):
            s.index[k] = s.means[k] if s.pulls[k] > 0 else unseen(s, k)
            is_new = is_new or (s.pulls[k] == 0 and s.index[k] > 0.0)
        leader = argmax(s, s.index)
        enqueue(s, leader)
        if is_new or s.arms == 1:  # an arm without rewards comes first, and alone
            return
        # β of round t = 1, 2, … after the first, in which every arm is pulled.
        t = float(s.round - 1)
        log_arms_over_delta = math.log(s.arms) - math.log(1.0 - self.confidence)
        if self.practical:
            rate = math.log1p(math.log(t)) - math.log(1.0 - self.confidence)
        elif self.family == GAUSSIAN:
            rate = math.log(1.25) + 4.0 * math.log(t) + log_arms_over_delta
        else:
            rate = math.log(405.5) + 1.1 * math.log(t) + log_arms_over_delta
            rate += math.log(rate)
        for k in range(s.arms):
            if s.pulls[k] > 0:
                level = rate / (s.pulls[k] + s.out[k])
                s.index[k] = upper(self.family, s.means[k], level, self.sigma)
        s.index[leader] = -math.inf
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
        s.means[arm] = inside(self.family, s.sums[arm] / s.pulls[arm])
