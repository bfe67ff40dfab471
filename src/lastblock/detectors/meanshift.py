"""A change of an arm's mean, found without knowing anything about its rewards.

Of each arm the sums of its rewards and of their squares are kept at checkpoints: on level j the
last 8 multiples of 2ʲ⁺¹ rewards. Every 2ʲ⁺¹ rewards level j compares the mean of the last 16 · 2ʲ
rewards with that of all before, one comparison a reward on average and ten at most. A shift that
needs more than 8192 rewards to be seen is too small to matter.

Two means are compared by how far they are apart, in squared deviations: z = (a − b)² / 2(w/s + v/m)
for blocks of s and m rewards. A variance taken from few rewards is not to be trusted: a block that
happens to be calm would raise alarms. So each block's variance is at least a share ν/n of the other
one's, where ν is the number of rewards that make a variance trustworthy: `TRUSTED`, more where the
tails are long (the variance of a sample variance grows with the kurtosis).

Rewards are taken in units of the first distance between two of them, rounded to a power of two so
that no digit is lost: squares of very large or very small ones stay within the floats.
"""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.layout import COUNT
from lastblock.core.protocol import Layout, Record
from lastblock.core.registry import detector
from lastblock.kernels.jit import kernel, routine

SMALLEST = 16
"""Rewards on either side of a split, at least."""

SLOTS = 8
"""Checkpoints on a level; a block of 16 · 2ʲ rewards ends at most an eighth of it too late."""

LEVELS = 10

TRUSTED = 24.0
"""ν: a variance of so many rewards of short tails stands on its own."""


def shift_fields(arms: int) -> Layout:
    """What is kept of every arm since its origin, and the last shift found."""
    return [
        ("count", COUNT, (arms,)),
        ("base", np.float64, (arms,)),  # the first reward, taken from all: sums stay small
        ("unit", np.float64, (arms,)),  # what they are multiplied with; 0 while all are equal
        ("total", np.float64, (arms,)),
        ("square", np.float64, (arms,)),
        ("fourth", np.float64, (arms,)),  # powers of the distance from the mean so far
        ("totals", np.float64, (arms, LEVELS, SLOTS)),
        ("squares", np.float64, (arms, LEVELS, SLOTS)),
        ("size", COUNT),  # rewards since the split …
        ("old", np.float64),  # … the mean before it …
        ("new", np.float64),  # … and since
    ]


@kernel
def forget_arm(d: Record, arm: int) -> None:
    """Begin again with an arm."""
    d.count[arm] = 0
    d.unit[arm] = 0.0
    d.total[arm] = 0.0
    d.square[arm] = 0.0
    d.fourth[arm] = 0.0


@kernel
def forget_shift(d: Record) -> None:
    """No shift has been found."""
    d.size = 0
    d.old = 0.0
    d.new = 0.0


@kernel
def unit_of(x: float) -> float:
    """A power of two about as large as 1/x, as far as floats go."""
    _, exponent = math.frexp(x)
    return math.ldexp(1.0, min(1000, max(-1000, -exponent)))


@kernel
def sum_of(d: Record, arm: int) -> float:
    """What an arm's rewards exceed its first one by, in all."""
    return float(d.total[arm] / d.unit[arm]) if d.unit[arm] > 0.0 else 0.0


@routine
def largest_shift(d: Record, arm: int, reward: float, least: float) -> float:
    """Take in a reward; the largest z of the comparisons that are due, 0 if none is above `least`.

    The shift itself is left in `size`, `old` and `new`. With an infinite `least` nothing is
    compared.
    """
    n = d.count[arm]
    if n == 0:
        d.base[arm] = reward
    x = reward - d.base[arm]
    if x != 0.0:
        if d.unit[arm] == 0.0:
            d.unit[arm] = unit_of(x)
        x *= d.unit[arm]
    if n > 0:
        away = x - d.total[arm] / n
        away *= away
        d.fourth[arm] += away * away
    n += 1
    d.count[arm] = n
    total = d.total[arm] + x
    square = d.square[arm] + x * x
    d.total[arm] = total
    d.square[arm] = square
    best = 0.0
    step = SMALLEST // SLOTS
    j = 0
    while j < LEVELS and n & (step - 1) == 0:
        slot = (n // step) & (SLOTS - 1)  # of this checkpoint, and of the one a block ago
        s = step * SLOTS
        m = n - s
        if m >= SMALLEST and least < math.inf:
            head = d.totals[arm, j, slot]
            head_square = d.squares[arm, j, slot]
            new = (total - head) / s
            old = head / m
            v_new = max(0.0, (square - head_square) / s - new * new)
            v_old = max(0.0, head_square / m - old * old)
            gap = (new - old) * (new - old)
            spread = pooled(v_new, v_old, s, m, TRUSTED)
            if gap > least * spread and gap > best * spread:
                spread = pooled(v_new, v_old, s, m, TRUSTED * tails(d, arm))
                if gap > least * spread and gap > best * spread:
                    best = gap / spread if spread > 0.0 else math.inf
                    d.size = s
                    d.old = old / d.unit[arm] + d.base[arm]
                    d.new = new / d.unit[arm] + d.base[arm]
        d.totals[arm, j, slot] = total
        d.squares[arm, j, slot] = square
        step *= 2
        j += 1
    return best


@kernel
def pooled(v_new: float, v_old: float, s: int, m: int, trusted: float) -> float:
    """2 (w/s + v/m), where neither variance is below its share of the other one."""
    w_new = max(v_new, v_old * min(1.0, trusted / s))
    w_old = max(v_old, v_new * min(1.0, trusted / m))
    return 2.0 * (w_new / s + w_old / m)


@kernel
def tails(d: Record, arm: int) -> float:
    """√2(κ − 1) for a kurtosis of κ, at least 1: 2 for Gaussian rewards, 4 for exponential ones."""
    n = d.count[arm]
    mean = d.total[arm] / n
    variance = d.square[arm] / n - mean * mean
    if variance <= 0.0:
        return 1.0
    kurtosis = d.fourth[arm] / (n * variance * variance)
    return math.sqrt(max(1.0, 2.0 * (kurtosis - 1.0)))


@detector()
class MeanShift(NamedTuple):
    """A detector that knows neither the law of the rewards, nor their range or spread.

    The alarm is raised when z > log(1 + age) + caution, where the age counts decisions since the
    last restart. It does not change when rewards are shifted or scaled.

    Parameters
    ----------
    caution
        How much evidence is asked for beyond log(1 + age): false alarms are about e^−caution as
        frequent.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Piecewise({
    ...     0: [lb.Bernoulli(0.9), lb.Bernoulli(0.5)],
    ...     5000: [lb.Bernoulli(0.1), lb.Bernoulli(0.5)],
    ... })
    >>> policy = lb.Restarting(lb.UCB1(), lb.MeanShift())
    >>> plain, restarted = (
    ...     lb.simulate(p, arms, horizon=10_000, replications=20, seed=1).mean()[-1]
    ...     for p in (lb.UCB1(), policy)
    ... )
    >>> bool(restarted < plain / 2)
    True
    """

    caution: float = 4.0

    def validate(self) -> None:
        if self.caution < 0.0:
            raise ValueError(f"MeanShift: caution={self.caution} must not be negative")

    def layout(self, arms: int) -> Layout:
        return shift_fields(arms)

    def reset(self, d: Record) -> None:
        forget_shift(d)
        for k in range(d.count.shape[0]):
            forget_arm(d, k)

    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool:
        least = math.log(1.0 + age) + self.caution
        return bool(largest_shift(d, arm, reward, least) > least)
