"""RAW-UCB: UCB with an adaptive window, for rewards that rot (Seznec et al., 2020)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.indices import argmax, unseen
from lastblock.core.layout import COUNT
from lastblock.core.protocol import Held, Layout, Record, Scores
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.jit import kernel

LEVELS = 40
"""The number of window sizes, 1, 2, 4 … 2³⁹ rewards."""


@kernel
def extend(s: Record, arm: int, reward: float) -> None:
    """Take in a reward of `arm`.

    Where a block of 2ʲ rewards ends, the window of 2ʲ⁺¹ rewards gets a new mean.
    """
    n = s.pulls[arm]
    s.pulls[arm] = n + 1
    s.mean[arm, 0] = reward
    size = 1
    block = reward  # the sum of the block of `size` rewards that has just ended
    for level in range(LEVELS - 1):
        if n + 1 < 2 * size:  # there is no block before this one
            s.block[arm, level] = block
            return
        pair = s.block[arm, level] + block
        s.mean[arm, level + 1] = pair / (2 * size)
        s.block[arm, level] = block
        # Blocks of level j start at multiples of 2ʲ: two of them make one of the next level.
        if (n + 1) % (2 * size) != 0:
            return
        block = pair
        size *= 2


@policy(shift_invariant=True)
class RAWUCB(NamedTuple):
    """Pull the arm with the largest min over windows h of (mean of its last h rewards + width).

    The width is σ √(2α log t / h). A long window is precise and, where rewards only get worse, too
    optimistic; each arm counts with the window that is worst for it.

    Parameters
    ----------
    sigma
        σ, the standard deviation of the noise; ½ for rewards in [0, 1].
    alpha
        α, for a confidence level of 2/t^α.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    >>> run = lb.simulate(lb.RAWUCB(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 40)
    True

    References
    ----------
    Seznec, Ménard, Lazaric & Valko. A Single Algorithm for both Restless and Rested Rotting
    Bandits. AISTATS 2020.
    """

    sigma: float = 0.5
    alpha: float = 1.4

    @classmethod
    def examples(cls) -> "tuple[RAWUCB, ...]":
        return cls(), cls(sigma=0.1, alpha=4.0)

    def validate(self) -> None:
        if self.sigma <= 0.0:
            raise ValueError(f"RAWUCB: sigma={self.sigma} must be positive")
        if self.alpha <= 0.0:
            raise ValueError(f"RAWUCB: alpha={self.alpha} must be positive")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("index", np.float64, (arms,)),
            ("shrink", np.float64, (LEVELS,)),  # 1/√h
            ("block", np.float64, (arms, LEVELS)),  # the newest block of 2ʲ rewards: its sum
            ("mean", np.float64, (arms, LEVELS)),  # of the newest window of 2ʲ rewards
        ]

    def start(self, s: Record) -> None:
        for level in range(LEVELS):
            s.shrink[level] = 1.0 / math.sqrt(2.0**level)
        for k in range(s.pulls.shape[0]):
            s.pulls[k] = 0
            s.index[k] = 0.0
            for level in range(LEVELS):
                s.block[k, level] = 0.0
                s.mean[k, level] = 0.0
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        log_t = math.log(s.arms + s.round - 1)
        width = self.sigma * math.sqrt(2.0 * self.alpha * log_t)
        for k in range(s.arms):
            n = s.pulls[k]
            if n > 0:
                # Rewards that are out narrow the widths as they would narrow those of UCB.
                own = width * math.sqrt(n / (n + s.out[k]))
                lowest = s.mean[k, 0] + own
                level = 1
                while level < LEVELS and n >> level > 0:
                    lowest = min(lowest, s.mean[k, level] + own * s.shrink[level])
                    level += 1
                s.index[k] = lowest
            else:
                s.index[k] = unseen(s, k)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        extend(s, arm, reward)

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.pulls[arm]))

    def chosen_by(self, s: Record) -> Scores:
        return Scores("index", s.index)
