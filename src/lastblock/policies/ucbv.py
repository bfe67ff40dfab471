"""UCB-V: bonuses that know the variance, by Bernstein's inequality (Audibert et al., 2009)."""

import math
from typing import NamedTuple

from lastblock.core.protocol import Held
from lastblock.kit import Layout, Positive, Record, argmax, enqueue, policy, unseen
from lastblock.policies._variances import held_with_variance, spread, take_in, variance_layout


@policy(shift_invariant=True, optimistic=True)
class UCBV(NamedTuple):
    """Pull the arm with the largest mean + √(2 V ζ log t / N) + 3 c b ζ log t / N.

    V is the variance of the arm's rewards. Arms whose rewards vary little are judged soon.

    Parameters
    ----------
    zeta, c
        ζ and c, positive: the paper's theorems have 1.2 and 1. Less of the last term, which only
        counts while N is small, explores less, at a risk.
    range
        b, the difference between the largest and the smallest possible reward.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Dirac(0.5), lb.Dirac(0.4), lb.Dirac(0.3)])
    >>> run = lb.simulate(lb.UCBV(c=0.1), arms, horizon=1000, seed=1)
    >>> bool(run.mean()[-1] < lb.simulate(lb.UCB1(), arms, horizon=1000, seed=1).mean()[-1])
    True

    References
    ----------
    Audibert, Munos & Szepesvári. Exploration–Exploitation Tradeoff Using Variance Estimates in
    Multi-Armed Bandits. Theoretical Computer Science, 2009.
    """

    zeta: Positive = 1.2
    c: Positive = 1.0
    range: Positive = 1.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return variance_layout(arms)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        exploration = self.zeta * math.log(s.arms + s.round - 1)
        for k in range(s.arms):
            if s.pulls[k] > 0:
                level = exploration / (s.pulls[k] + s.out[k])
                variance = spread(s, k) / s.pulls[k]
                bonus = math.sqrt(2.0 * variance * level) + 3.0 * self.c * self.range * level
                s.index[k] = s.origin + s.means[k] + bonus
            else:
                s.index[k] = unseen(s, k)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        take_in(s, arm, reward)

    def held(self, s: Record, arm: int) -> Held:
        return held_with_variance(s, arm)
