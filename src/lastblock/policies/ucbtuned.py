"""UCB1-tuned: UCB1 with an upper bound of the variance (Auer, Cesa-Bianchi & Fischer, 2002)."""

import math
from typing import NamedTuple

from lastblock.core.protocol import Held
from lastblock.kit import Layout, Positive, Record, argmax, enqueue, policy, unseen
from lastblock.policies._variances import held_with_variance, spread, take_in, variance_layout


@policy(shift_invariant=True, optimistic=True)
class UCBTuned(NamedTuple):
    """Pull the arm with the largest mean + √(log t / N · min(¼, V + √(2 log t / N))).

    V is the variance of the arm's rewards, the second term is how much larger it may be, and no
    variance of rewards in [0, 1] exceeds ¼.

    Parameters
    ----------
    range
        b, the difference between the largest and the smallest possible reward. Its square
        multiplies ¼ and the second term.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.UCBTuned(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 30)
    True

    References
    ----------
    Auer, Cesa-Bianchi & Fischer. Finite-time Analysis of the Multiarmed Bandit Problem. Machine
    Learning 47, 2002. Section 4.
    """

    range: Positive = 1.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return variance_layout(arms)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        log_t = math.log(s.arms + s.round - 1)
        square = self.range * self.range
        for k in range(s.arms):
            if s.pulls[k] > 0:
                level = log_t / (s.pulls[k] + s.out[k])
                variance = spread(s, k) / s.pulls[k] + square * math.sqrt(2.0 * level)
                s.index[k] = s.origin + s.means[k] + math.sqrt(level * min(0.25 * square, variance))
            else:
                s.index[k] = unseen(s, k)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        take_in(s, arm, reward)

    def held(self, s: Record, arm: int) -> Held:
        return held_with_variance(s, arm)
