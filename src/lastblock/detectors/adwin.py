"""ADWIN: a window of rewards that is cut where the means of its two parts differ too much.

The window is kept as an exponential histogram: sums of 1, 2, 4, 8 … rewards, at most five of each
length, which double as they age. Every border between two sums is a place where it may be cut.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.layout import COUNT, within
from lastblock.core.parameters import Chance, Range
from lastblock.core.protocol import Layout, Record
from lastblock.core.registry import detector
from lastblock.kernels.jit import kernel, routine

BUCKETS = 5
"""The most sums of one length."""

LEVELS = 34
"""Sums of 1, 2, 4, … 2³³ rewards: room for 8 · 10¹⁰ rewards of an arm between two restarts."""

LEAST = 5
"""The smallest number of rewards on either side of a cut."""

GRACE = 10
"""No cut is looked for as long as an arm has at most so many rewards."""


@kernel
def insert(d: Record, arm: int, reward: float) -> None:
    """Add the newest reward; where there are six sums of a length, the two oldest become one."""
    d.count[arm] += 1
    away = reward - d.mean[arm]
    d.mean[arm] += away / d.count[arm]
    d.squares[arm] += away * (reward - d.mean[arm])
    total = reward
    level = 0
    while True:
        filled = d.filled[arm, level]
        if filled < BUCKETS:
            d.sums[arm, level, filled] = total
            d.filled[arm, level] = filled + 1
            return
        merged = d.sums[arm, level, 0] + d.sums[arm, level, 1]
        for i in range(BUCKETS - 2):
            d.sums[arm, level, i] = d.sums[arm, level, i + 2]
        d.sums[arm, level, BUCKETS - 2] = total
        d.filled[arm, level] = BUCKETS - 1
        level += 1
        if level == LEVELS:  # the oldest are forgotten
            return
        total = merged


@routine
def find_cut(d: Record, arm: int, delta: float) -> bool:
    """Return whether the window can be cut, and leave the first such cut in `size`, `old`, `new`.

    Borders are tried from the oldest on.
    """
    width = 0
    whole = 0.0
    for level in range(LEVELS):
        for i in range(d.filled[arm, level]):
            width += 1 << level
            whole += d.sums[arm, level, i]
    variance = d.squares[arm] / d.count[arm]
    logarithm = math.log(2.0 * math.log(width) / delta)
    n = 0
    total = 0.0
    for j in range(LEVELS):
        level = LEVELS - 1 - j
        for i in range(d.filled[arm, level]):
            n += 1 << level
            total += d.sums[arm, level, i]
            rest = width - n
            if n >= LEAST and rest >= LEAST:
                inverse = 1.0 / (n - LEAST + 1) + 1.0 / (rest - LEAST + 1)
                bound = math.sqrt(2.0 * inverse * variance * logarithm)
                bound += 2.0 / 3.0 * logarithm * inverse
                old = total / n
                new = (whole - total) / rest
                if abs(old - new) > bound:
                    d.size = rest
                    d.old = old
                    d.new = new
                    return True
    return False


@detector()
class ADWIN(NamedTuple):
    """The adaptive window of Bifet & Gavaldà, which needs no size of a change and no time scale.

    It is made for rewards in [0, 1]. `Restarting(policy, ADWIN(), alertness=0.0)` is the ADR-bandit
    of Komiyama, Fouché & Honda, which relies on changes of all arms at once.

    Parameters
    ----------
    delta
        δ, between 0 and 1: the smaller, the fewer false alarms.
    clock
        Look for a cut at every `clock`-th reward of an arm.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.Restarting(lb.Thompson(), lb.ADWIN(), alertness=0.0).detector
    ADWIN(delta=0.002, clock=1)

    References
    ----------
    Bifet & Gavaldà. Learning from Time-Changing Data with Adaptive Windowing. SDM 2007. In bandits:
    Komiyama, Fouché & Honda. Finite-time Analysis of Globally Nonstationary Multi-Armed Bandits.
    JMLR 25, 2024.
    """

    delta: Chance = 0.002
    clock: Annotated[int, Range(1, 1_000_000, unit="rewards")] = 1

    def layout(self, arms: int) -> Layout:
        return [
            ("count", COUNT, (arms,)),
            ("mean", np.float64, (arms,)),
            ("squares", np.float64, (arms,)),  # of the distances from the mean
            ("filled", within(np.int64, 0, BUCKETS), (arms, LEVELS)),
            ("sums", np.float64, (arms, LEVELS, BUCKETS)),  # of each length, the oldest first
            ("size", COUNT),  # number of rewards after the last cut found
            ("old", np.float64),  # mean before it
            ("new", np.float64),  # mean after it
        ]

    def reset(self, d: Record) -> None:
        d.size = 0
        d.old = 0.0
        d.new = 0.0
        for k in range(d.count.shape[0]):
            d.count[k] = 0
            d.mean[k] = 0.0
            d.squares[k] = 0.0
            for level in range(LEVELS):
                d.filled[k, level] = 0

    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool:
        insert(d, arm, reward)
        n = d.count[arm]
        if n <= GRACE or n % self.clock != 0:
            return False
        return find_cut(d, arm, self.delta)
