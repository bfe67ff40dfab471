"""A detector of changes of an arm's mean that needs to know nothing about the rewards.

For each arm it stores the sum of the rewards and the sum of their squares at checkpoints: level j
holds the last 8 checkpoints at multiples of 2ʲ⁺¹ rewards. Every 2ʲ⁺¹ rewards level j compares the
mean of the last 16 · 2ʲ rewards with the mean of all earlier ones. That is one comparison a reward
on average, and ten at most. A shift that only more than 8192 rewards can show is too small to
matter.

For a block of s rewards with mean a and variance w, and one of m rewards with mean b and variance
v, the comparison is z = (a − b)² / 2(w/s + v/m). The variance of few rewards is unreliable: a block
that happens to vary little would raise false alarms. So the variance of a block of n rewards counts
as at least ν/n times the other block's (or equal to it if n < ν). ν is `TRUSTED`, and more where
the tails are long, because the variance of a sample variance grows with the kurtosis.

The unit of the rewards is the first difference between two of them, rounded to a power of two so
that no digit is lost. Squares of very large and very small rewards then neither overflow nor
underflow.
"""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.layout import COUNT
from lastblock.core.protocol import Layout, Record
from lastblock.core.registry import detector
from lastblock.kernels.jit import kernel, routine

SMALLEST = 16
"""The smallest number of rewards on either side of a split."""

SLOTS = 8
"""Checkpoints on a level. A block of 16 · 2ʲ rewards is compared at most an eighth of its length
after it is complete."""

LEVELS = 10

TRUSTED = 24.0
"""ν: from this many rewards with short tails on, the variance of a block counts as it is."""


def shift_fields(arms: int) -> Layout:
    """Return the fields of the record: sums of each arm since its restart, and the last shift."""
    return [
        ("count", COUNT, (arms,)),
        ("base", np.float64, (arms,)),  # the first reward, subtracted from all to keep sums small
        ("unit", np.float64, (arms,)),  # the factor on the differences; 0 while all are equal
        ("total", np.float64, (arms,)),
        ("square", np.float64, (arms,)),
        ("fourth", np.float64, (arms,)),  # fourth powers of the distance from the mean so far
        ("totals", np.float64, (arms, LEVELS, SLOTS)),
        ("squares", np.float64, (arms, LEVELS, SLOTS)),
        ("size", COUNT),  # number of rewards after the last shift found
        ("old", np.float64),  # mean before it
        ("new", np.float64),  # mean after it
    ]


@kernel
def forget_arm(d: Record, arm: int) -> None:
    """Forget all rewards of `arm`."""
    d.count[arm] = 0
    d.unit[arm] = 0.0
    d.total[arm] = 0.0
    d.square[arm] = 0.0
    d.fourth[arm] = 0.0


@kernel
def forget_shift(d: Record) -> None:
    """Forget the last shift found."""
    d.size = 0
    d.old = 0.0
    d.new = 0.0


@kernel
def unit_of(x: float) -> float:
    """Return a power of two about as large as 1/|x|, within the range of floats."""
    _, exponent = math.frexp(x)
    return math.ldexp(1.0, min(1000, max(-1000, -exponent)))


@kernel
def sum_of(d: Record, arm: int) -> float:
    """Return the sum of (reward − first reward) over the rewards of `arm`."""
    return float(d.total[arm] / d.unit[arm]) if d.unit[arm] > 0.0 else 0.0


@routine
def largest_shift(d: Record, arm: int, reward: float, least: float) -> float:
    """Add a reward, and return the largest z of the comparisons that are now due.

    It returns 0 if no z exceeds `least`, and otherwise leaves the shift in the fields `size`, `old`
    and `new`. If `least` is infinite, it compares nothing.
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
        slot = (n // step) & (SLOTS - 1)  # holds the checkpoint of one block ago; see below
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
        d.totals[arm, j, slot] = total  # this checkpoint replaces it
        d.squares[arm, j, slot] = square
        step *= 2
        j += 1
    return best


@kernel
def pooled(v_new: float, v_old: float, s: int, m: int, trusted: float) -> float:
    """Return 2 (w/s + v/m), where no variance is below its share of the other one."""
    w_new = max(v_new, v_old * min(1.0, trusted / s))
    w_old = max(v_old, v_new * min(1.0, trusted / m))
    return 2.0 * (w_new / s + w_old / m)


@kernel
def tails(d: Record, arm: int) -> float:
    """Return max(1, √(2(κ − 1))) for the kurtosis κ of the arm's rewards.

    That is 2 for Gaussian rewards and 4 for exponential ones.
    """
    n = d.count[arm]
    mean = d.total[arm] / n
    variance = d.square[arm] / n - mean * mean
    if variance <= 0.0:
        return 1.0
    kurtosis = d.fourth[arm] / (n * variance * variance)
    return math.sqrt(max(1.0, 2.0 * (kurtosis - 1.0)))


@detector()
class MeanShift(NamedTuple):
    """A detector of mean shifts that needs neither the rewards' law nor their range or variance.

    It raises an alarm when z > log(1 + age) + caution, where `age` counts the decisions since the
    last restart. Adding a constant to all rewards, or scaling them, changes no alarm.

    Parameters
    ----------
    caution
        The evidence required beyond log(1 + age). The frequency of false alarms is about
        proportional to e^−caution.

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
