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

The same checkpoints serve a policy that needs the sum of an arm's last rewards: see `last_block`.
Such a policy clips what the comparisons see between limits for each arm, so that a far reward
neither raises an alarm nor makes the detector deaf. The clipped rewards have sums of their own,
since blocks are of the rewards as they are.

The unit of the rewards is the first difference between two of them, rounded to a power of two so
that no digit is lost. Squares of very large and very small rewards then neither overflow nor
underflow.
"""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.layout import COUNT
from lastblock.core.parameters import NotNegative
from lastblock.core.protocol import Layout, Record
from lastblock.core.registry import detector
from lastblock.kernels.bits import bit_length
from lastblock.kernels.jit import kernel, routine

SMALLEST = 16
"""The smallest number of rewards on either side of a split."""

SLOTS = 8
"""Checkpoints on a level. A block of 16 · 2ʲ rewards is compared at most an eighth of its length
after it is complete."""

LEVELS = 10

TRUSTED = 24.0
"""ν: from this many rewards with short tails on, the variance of a block counts as it is."""


BLOCK_LEVELS = 21
"""The number of levels of checkpoints from which blocks are read: at steps of 1, 2, 4, …, 2²⁰."""

LONGEST_BLOCK = (SLOTS - 1) << (BLOCK_LEVELS - 1)
"""The largest number of last rewards whose sum can be read."""


def shift_fields(arms: int, *, blocks: bool = False) -> Layout:
    """Return the fields of the record: sums of each arm since its restart, and the last shift.

    With `blocks` there are more checkpoints of the sum of rewards, so that `last_block` can read
    the sum of an arm's last rewards. Row 0 then has those at every reward, and the comparisons
    begin with row 1. They see clipped rewards then: `square`, `squares` and `fourth` are theirs.
    """
    rows, clipping = (BLOCK_LEVELS, arms) if blocks else (LEVELS, 0)
    return [
        ("count", COUNT, (arms,)),
        ("base", np.float64, (arms,)),  # the first reward, subtracted from all to keep sums small
        ("unit", np.float64, (arms,)),  # the factor on the differences; 0 while all are equal
        ("total", np.float64, (arms,)),
        ("square", np.float64, (arms,)),
        ("fourth", np.float64, (arms,)),  # fourth powers of the distance from the mean so far
        ("totals", np.float64, (arms, rows, SLOTS)),
        ("squares", np.float64, (arms, LEVELS, SLOTS)),
        ("size", COUNT),  # number of rewards after the last shift found
        ("old", np.float64),  # mean before it
        ("new", np.float64),  # mean after it
        ("lowest", np.float64, (clipping,)),  # between these limits …
        ("highest", np.float64, (clipping,)),  # … rewards are clipped; these …
        ("seen", np.float64, (clipping,)),  # … are the sums of clipped ones
        ("seen_totals", np.float64, (clipping, LEVELS, SLOTS)),
    ]


@kernel
def has_blocks(d: Record) -> bool:
    """Return whether blocks can be read from the record.

    The comparisons then see clipped rewards, and no sum is multiplied by the unit, so that no
    reward makes it overflow.
    """
    return bool(d.totals.shape[1] > LEVELS)


@kernel
def set_limits(d: Record, arm: int, low: float, high: float) -> None:
    """Let the comparisons see the arm's rewards from now on clipped between these limits."""
    d.lowest[arm] = low
    d.highest[arm] = high


@kernel
def forget_arm(d: Record, arm: int) -> None:
    """Forget all rewards of `arm`, but not its limits."""
    d.count[arm] = 0
    if has_blocks(d):
        d.seen[arm] = 0.0
        d.base[arm] = 0.0
        for j in range(d.totals.shape[1]):
            d.totals[arm, j, 0] = 0.0  # the checkpoint before the first reward
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
def unit_of_sums(d: Record, arm: int) -> float:
    """Return the factor on a sum of rewards that makes it comparable with sums of squares."""
    return float(d.unit[arm]) if has_blocks(d) else 1.0


@kernel
def seen_reward(d: Record, arm: int, reward: float) -> float:
    """Return a reward as the comparisons see it."""
    if has_blocks(d):
        return float(min(d.highest[arm], max(d.lowest[arm], reward)))
    return reward


@kernel
def seen_total(d: Record, arm: int) -> float:
    """Return the sum that the comparisons see, in units if `unit_of_sums` is 1."""
    return float(d.seen[arm]) if has_blocks(d) else float(d.total[arm])


@kernel
def sum_of(d: Record, arm: int) -> float:
    """Return the sum of all rewards of `arm`, from a record with blocks."""
    return float(d.total[arm] + d.base[arm] * d.count[arm])


@kernel
def spread_of(d: Record, arm: int) -> float:
    """Return the standard deviation of the arm's rewards, as the comparisons see them."""
    n = d.count[arm]
    if n == 0 or d.unit[arm] == 0.0:
        return 0.0
    mean = seen_total(d, arm) * unit_of_sums(d, arm) / n
    return math.sqrt(max(0.0, d.square[arm] / n - mean * mean)) / float(d.unit[arm])


@kernel
def level_for(n: int) -> int:
    """Return the lowest level that reaches back n ≥ 1 rewards: n ≤ 7 · 2ʲ."""
    return bit_length((n - 1) // (SLOTS - 1))


@kernel
def begin_block(count: int, n: int) -> int:
    """Return the place of the checkpoint nearest to where the last n of `count` rewards begin.

    1 ≤ n ≤ LONGEST_BLOCK, and n ≤ count. Of two that are as near it is the later one. Blocks of up
    to 7 rewards are exact, and others off by a seventh at most.
    """
    level = level_for(n)
    return ((count - n + ((1 << level) >> 1)) >> level) << level


@kernel
def last_block(d: Record, arm: int, n: int) -> tuple[int, float]:
    """Return the length and the sum of the block of about n rewards with which `arm` ends."""
    count = d.count[arm]
    place = begin_block(count, n)
    level = level_for(n)
    before = d.totals[arm, level, (place >> level) & (SLOTS - 1)]
    return count - place, float(d.total[arm] - before + d.base[arm] * (count - place))


@kernel
def take_in(d: Record, arm: int, reward: float) -> None:
    """Add a reward to the arm's sums."""
    n = d.count[arm]
    seen = seen_reward(d, arm, reward)
    if n == 0:
        d.base[arm] = seen
    away = seen - d.base[arm]
    if away != 0.0 and d.unit[arm] == 0.0:
        d.unit[arm] = unit_of(away)
    x = away * d.unit[arm]
    if n > 0:
        square = (x - seen_total(d, arm) * unit_of_sums(d, arm) / n) ** 2
        d.fourth[arm] += square * square
    d.count[arm] = n + 1
    if has_blocks(d):
        d.total[arm] += reward - d.base[arm]
        d.seen[arm] += away
    else:
        d.total[arm] += x
    d.square[arm] += x * x


@routine
def largest_shift(d: Record, arm: int, reward: float, least: float) -> float:
    """Add a reward, and return the largest z of the comparisons that are now due.

    It returns 0 if no z exceeds `least`, and otherwise leaves the shift in the fields `size`, `old`
    and `new`. If `least` is infinite, it compares nothing.
    """
    take_in(d, arm, reward)
    n = d.count[arm]
    total = d.total[arm]
    seen = seen_total(d, arm)
    square = d.square[arm]
    unit = unit_of_sums(d, arm)
    first = 0  # the row with which comparisons begin
    if has_blocks(d):
        d.totals[arm, 0, n & (SLOTS - 1)] = total
        first = 1
    best = 0.0
    step = SMALLEST // SLOTS
    j = 0
    while j < LEVELS and n & (step - 1) == 0:
        slot = (n // step) & (SLOTS - 1)  # holds the checkpoint of one block ago; see below
        s = step * SLOTS
        m = n - s
        if m >= SMALLEST and least < math.inf:
            head = d.totals[arm, first + j, slot]
            if has_blocks(d):
                head = d.seen_totals[arm, j, slot]
            head_square = d.squares[arm, j, slot]
            new = (seen - head) * unit / s
            old = head * unit / m
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
                    if has_blocks(d):  # users are told of means of the rewards as they are
                        head = d.totals[arm, first + j, slot]
                        d.old = head / m + d.base[arm]
                        d.new = (total - head) / s + d.base[arm]
        d.totals[arm, first + j, slot] = total  # this checkpoint replaces it
        if has_blocks(d):
            d.seen_totals[arm, j, slot] = seen
        d.squares[arm, j, slot] = square
        step *= 2
        j += 1
    while first + j < d.totals.shape[1] and n & (step - 1) == 0:  # for blocks only
        d.totals[arm, first + j, (n // step) & (SLOTS - 1)] = total
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
    mean = seen_total(d, arm) * unit_of_sums(d, arm) / n
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
    ...     0: [lb.Bernoulli(0.9), lb.Bernoulli(0.5), lb.Bernoulli(0.2)],
    ...     5000: [lb.Bernoulli(0.1), lb.Bernoulli(0.5), lb.Bernoulli(0.2)],
    ... })
    >>> policy = lb.Restarting(lb.Thompson(), lb.MeanShift())
    >>> plain, restarted = (
    ...     lb.simulate(p, arms, horizon=10_000, replications=20, seed=1).mean()[-1]
    ...     for p in (lb.Thompson(), policy)
    ... )
    >>> bool(restarted < plain / 2)
    True
    """

    caution: NotNegative = 4.0

    def layout(self, arms: int) -> Layout:
        return shift_fields(arms)

    def reset(self, d: Record) -> None:
        forget_shift(d)
        for k in range(d.count.shape[0]):
            forget_arm(d, k)

    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool:
        least = math.log(1.0 + age) + self.caution
        return bool(largest_shift(d, arm, reward, least) > least)
