"""FEWA: filtering on expanding window averages, for rewards that rot (Seznec et al., 2019)."""

import math
from typing import Any, NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kit import FLAG, Layout, Positive, Record, argmax, kernel, policy, unseen
from lastblock.policies._rotting import (
    LEVELS,
    clear_windows,
    no_room,
    take_in,
    window_fields,
    window_mean,
)

LARGEST = 1 << (LEVELS - 1)
"""The largest window."""


@kernel
def filter_arms(s: Record, size: int, level: int, width: float) -> int:
    """Drop the arms whose last `size` rewards are clearly worse; return how many are left."""
    best = -math.inf
    for k in range(s.arms):
        if s.left[k]:
            s.score[k] = window_mean(s, k, size, level)
            best = max(best, s.score[k])
    count = 0
    for k in range(s.arms):
        if s.left[k]:
            if best - s.score[k] > width / math.sqrt(size):
                s.left[k] = 0
            else:
                count += 1
    return count


@kernel
def shortest(s: Record, below: int) -> Any:
    """Return the arm that is left and has the fewest rewards, fewer than `below`; −1 if none.

    With `below` above the largest window, any arm that is left.
    """
    found = False
    for k in range(s.arms):
        s.score[k] = -math.inf
        if s.left[k] and (s.pulls[k] < below or below > LARGEST):
            s.score[k] = -float(s.pulls[k] + s.out[k])
            found = True
    return argmax(s, s.score) if found else np.int64(-1)


@policy(shift_invariant=True, examples=[{"sigma": 0.1, "alpha": 4.0}, {"all_windows": True}])
class FEWA(NamedTuple):
    """Drop arms that are clearly worse on some window; pull one that the windows cannot tell apart.

    Arms are compared by the means of their last 1, then their last 2 rewards, and so on. Those
    whose mean is more than two widths σ √(2α log t / h) below the largest are dropped. As soon as
    an arm that is left has no more rewards to compare, it is pulled.

    Parameters
    ----------
    sigma
        σ, the standard deviation of the noise; ½ for rewards in [0, 1].
    alpha
        α, for a confidence level of 1/t^α.
    all_windows
        Use windows of all lengths, not only of 1, 2, 4, 8 … rewards. The policy then keeps every
        reward, and a step takes time in proportion to the number of rewards of an arm.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    >>> run = lb.simulate(lb.FEWA(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 60)
    True

    References
    ----------
    Seznec, Locatelli, Carpentier, Lazaric & Valko. Rotting Bandits Are No Harder than Stochastic
    Ones. AISTATS 2019.
    """

    sigma: Positive = 0.5
    alpha: Positive = 0.06
    all_windows: bool = False

    @property
    def grows(self) -> bool:
        """Whether the policy keeps every reward."""
        return self.all_windows

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            *window_fields(arms, horizon, self.all_windows),
            ("left", FLAG, (arms,)),
            ("score", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        clear_windows(s)
        for k in range(s.left.shape[0]):
            s.left[k] = 1
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        first = -math.inf  # of the arms without a reward
        count = 0
        for k in range(s.arms):
            s.left[k] = 1 if s.pulls[k] > 0 else 0
            s.score[k] = -math.inf
            if s.left[k]:
                count += 1
            else:
                s.score[k] = unseen(s, k)
                first = max(first, s.score[k])
        if first > 0.0 or count == 0:
            enqueue(s, argmax(s, s.score))
            return
        # Twice the width of a window of one reward.
        width = 2.0 * self.sigma * math.sqrt(2.0 * self.alpha * math.log(s.arms + s.round - 1))
        size = 1
        level = 0
        arm: Any = np.int64(-1)
        while arm < 0:
            count = filter_arms(s, size, level, width)
            level += 1
            size = size + 1 if self.all_windows else 2 * size
            if count == 1 or size > LARGEST:
                size = LARGEST + 1
            arm = shortest(s, size)
        enqueue(s, arm)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        take_in(s, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return no_room(s, arm)
