"""kl-UCB++: optimal both for each problem and in the worst case (Ménard & Garivier, 2017)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.kernels.divergences import Family, FamilyWord
from lastblock.kit import COUNT, Layout, Range, Record, Sigma, enqueue, enqueue_all, policy, shuffle
from lastblock.policies._kl_bounds import bounds_layout, clear_bounds, largest_bound, set_mean


@policy(support="family", optimistic=True, examples=[{"horizon": 200}])
class KLUCBPlusPlus(NamedTuple):
    """Pull the arm with the largest sup {q: N kl(mean, q) ≤ g(N)}.

    g(N) = log₊(x (log₊² x + 1)) for x = T / (K N), where log₊ is the logarithm or 0: an arm that
    has had its share T/K of the pulls gets no bonus any more.

    Parameters
    ----------
    horizon
        T, the number of pulls, at least 1.
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson" or "exponential".
    sigma
        The known standard deviation of Gaussian rewards.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> policy = lb.KLUCBPlusPlus(horizon=1000)
    >>> run = lb.simulate(policy, arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 25)
    True

    References
    ----------
    Ménard & Garivier. A Minimax and Asymptotically Optimal Algorithm for Stochastic Bandits. ALT
    2017.
    """

    horizon: Annotated[int, Range(1)]
    family: Family | FamilyWord = Family.BERNOULLI
    sigma: Sigma = 1.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            *bounds_layout(arms),
        ]

    def start(self, s: Record) -> None:
        clear_bounds(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        share = float(self.horizon) / s.arms
        for k in range(s.arms):
            s.level[k] = -1.0
            if s.pulls[k] > 0:
                n = s.pulls[k] + s.out[k]
                s.level[k] = 0.0
                if n < share:
                    log_x = math.log(share / n)
                    s.level[k] = (log_x + math.log1p(log_x * log_x)) / n
        enqueue(s, largest_bound(s, self.family, self.sigma))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
        set_mean(s, arm, self.family, s.sums[arm] / s.pulls[arm])
