"""MOSS-anytime: MOSS without a horizon (Degenne & Perchet, 2016)."""

import math
from typing import NamedTuple

from lastblock.kit import Layout, Positive, Record, policy
from lastblock.policies._moss import moss_layout, pull_by_moss


@policy(shift_invariant=True, optimistic=True)
class AnytimeMOSS(NamedTuple):
    """Pull the arm with the largest mean + 2σ √((1 + α)/2 · max(0, log(t / (K N))) / N).

    Parameters
    ----------
    alpha
        α, positive; the paper's experiments have 1.35, and its bound holds for it.
    sigma
        σ, the standard deviation of the noise; ½ for rewards in [0, 1], which is the paper's case.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.AnytimeMOSS(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 40)
    True

    References
    ----------
    Degenne & Perchet. Anytime Optimal Algorithms in Stochastic Multi-Armed Bandits. ICML 2016.
    """

    alpha: Positive = 1.35
    sigma: Positive = 0.5

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return moss_layout(arms)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        scale = 2.0 * self.sigma * math.sqrt(0.5 * (1.0 + self.alpha))
        pull_by_moss(s, float(s.arms + s.round - 1), scale)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
