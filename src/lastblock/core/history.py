"""The reward history: a ring of cumulative sums per arm, the paper's one data structure.

Slot n holds the sum of the first n rewards, so the sum of the last n is two look-ups and a
subtraction: a duel costs O(1) however long its blocks are. Cumulative sums must not drift:

- they are the rounded values of a compensated sum, so rounding errors do not pile up;
- once a lap the ring is *rebased*: the newest sum becomes zero. Its entries then stay as small as
  one ring of rewards, and a block sum is as precise after 10⁹ rewards as after 10³;
- rings too long for that (LB-SDA on long horizons) start again from zero every 2²⁰ rewards, and a
  block that reaches further back adds the totals of the stretches in between.

Sums of whole numbers below 2⁵³ are exact, so that ties are ties. What no sum of floats can do is to
keep small rewards beside a huge one: while a reward 10¹⁶ times larger than the others is in the
ring, the others are lost in its rounding error.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import COUNT, capacity, record, within
from lastblock.core.protocol import Held, Record
from lastblock.kernels.exact_sums import two_sum
from lastblock.kernels.jit import kernel, routine

SMALLEST_RING = 64

LARGEST_RINGS = (1 << 31) - 1
"""The largest size of all rings in bytes, because numpy's records are no larger."""

STRETCH = 1 << 20


def history_dtype(arms: int, rewards: int) -> np.dtype[Any]:
    """Return the type of a field with room for at least the last `rewards` rewards of each arm.

    Raises
    ------
    ValueError
        If the rewards do not fit into a record.
    """
    ring = capacity(rewards + 1, SMALLEST_RING)  # one slot is the sum that a full ring starts from
    if arms * ring * 8 > LARGEST_RINGS:
        raise ValueError(
            f"a history of {rewards} rewards an arm does not fit into a record; "
            "choose a shorter horizon or a policy of bounded memory, such as LBSDAGM"
        )
    return record(
        [
            ("written", COUNT, (arms,)),  # rewards ever appended
            ("kept", within(np.int64, 0, ring - 1), (arms,)),  # of these, those not forgotten
            ("sum", np.float64, (arms,)),  # since the last rebase …
            ("error", np.float64, (arms,)),  # … and what rounding took away from it
            ("prefix", np.float64, (arms, ring)),
        ]
    )


@kernel
def clear(h: Record) -> None:
    """Forget everything."""
    for k in range(h.kept.shape[0]):
        h.written[k] = 0
        h.kept[k] = 0
        h.sum[k] = 0.0
        h.error[k] = 0.0
        h.prefix[k, 0] = 0.0


@kernel
def append(h: Record, arm: int, reward: float) -> None:
    """Add the newest reward of `arm`; a full ring loses its oldest."""
    n = int(h.written[arm])
    ring = h.prefix.shape[1]
    if n & (min(ring, STRETCH) - 1) == 0:
        start_again(h, arm)
    total, error = two_sum(h.sum[arm], reward)
    h.sum[arm] = total
    h.error[arm] += error
    h.prefix[arm, (n + 1) & (ring - 1)] = total + h.error[arm]
    h.written[arm] = n + 1
    if h.kept[arm] < ring - 1:
        h.kept[arm] += 1


@routine
def start_again(h: Record, arm: int) -> None:
    """Count the sums of `arm` from here: rebase its ring, or begin a stretch of a long one."""
    ring = h.prefix.shape[1]
    if ring <= STRETCH:
        newest = h.prefix[arm, 0]
        for i in range(ring):
            h.prefix[arm, i] -= newest
    h.sum[arm] = 0.0
    h.error[arm] = 0.0


@kernel
def block_sum(h: Record, arm: int, n: int) -> float:
    """Return the sum of the last `n` rewards of `arm`, 0 ≤ n ≤ kept."""
    ring = h.prefix.shape[1]
    if ring > STRETCH:
        return stretched_sum(h, arm, n)
    newest = int(h.written[arm])
    oldest = newest - int(n)
    return float(h.prefix[arm, newest & (ring - 1)] - h.prefix[arm, oldest & (ring - 1)])


@routine
def stretched_sum(h: Record, arm: int, n: int) -> float:
    """Return a `block_sum` of a ring that is longer than a stretch."""
    ring = h.prefix.shape[1]
    newest = int(h.written[arm])
    oldest = newest - int(n)
    total = h.prefix[arm, newest & (ring - 1)]
    start = (newest - 1) & ~(STRETCH - 1)
    while start > oldest:
        total += h.prefix[arm, start & (ring - 1)]
        start -= STRETCH
    if start == oldest:
        return float(total)
    return float(total - h.prefix[arm, oldest & (ring - 1)])


@kernel
def block_mean(h: Record, arm: int, n: int) -> float:
    """Return the mean of the last `n` rewards of `arm`, 1 ≤ n ≤ kept."""
    return block_sum(h, arm, n) / n


@kernel
def forget_oldest(h: Record, arm: int) -> None:
    """Forget the oldest reward of `arm`; there must be one."""
    forget_if(h, arm, h.kept[arm] > 0)


@kernel
def forget_if(h: Record, arm: int, due: bool) -> None:
    """Forget the oldest reward of `arm` if `due`, without a branch in the compiled code."""
    h.kept[arm] -= due


@kernel
def is_full(h: Record, arm: int) -> bool:
    """Return whether the next reward of `arm` would push an older one out."""
    return bool(h.kept[arm] == h.prefix.shape[1] - 1)


@kernel
def span_sum(h: Record, arm: int, first: int, n: int) -> float:
    """Return the sum of `n` ≥ 1 rewards of `arm` from number `first` on; the oldest is number 0.

    No reward may have been pushed out yet.
    """
    last = first + n
    total = h.prefix[arm, last]
    if h.prefix.shape[1] > STRETCH:
        start = (last - 1) & ~(STRETCH - 1)
        while start > first:
            total += h.prefix[arm, start]
            start -= STRETCH
        if start == first:
            return float(total)
    return float(total - h.prefix[arm, first])


@kernel
def any_span_at_most(h: Record, arm: int, first: int, last: int, n: int, bound: float) -> bool:
    """Return whether a block of `n` rewards that starts at first … last − 1 has a sum ≤ bound."""
    start = first
    if h.prefix.shape[1] > STRETCH:
        while start < last and span_sum(h, arm, start, n) > bound:
            start += 1
        return bool(start < last)
    # Pieces without an exit inside: the compiler turns them into vector instructions.
    found = 0
    while start < last and found == 0:
        end = min(start + 256, last)
        for i in range(start, end):
            found += h.prefix[arm, i + n] - h.prefix[arm, i] <= bound
        start = end
    return bool(found > 0)


# The rest is plain Python, for those who want to know what a policy holds and why it acted.


def held(h: Record, arm: int, origin: float = 0.0) -> Held:
    """Return the kept rewards of an arm, for a policy's method `held`.

    `origin` is what the policy has taken from every reward before it appended it.
    """
    return Held(float(h.kept[arm]), rewards=lambda: kept_rewards(h, arm) + origin)


def kept_rewards(h: Record, arm: int) -> npt.NDArray[np.float64]:
    """Return the kept rewards of an arm, oldest first: the steps between cumulative sums."""
    ring = h.prefix.shape[1]
    numbers = int(h.written[arm]) - int(h.kept[arm]) + np.arange(h.kept[arm] + 1)
    sums = h.prefix[arm, numbers % ring]
    before = sums[:-1]
    if ring > STRETCH:  # the sums start again there
        before[numbers[:-1] % STRETCH == 0] = 0.0
    rewards: npt.NDArray[np.float64] = sums[1:] - before
    return rewards


def histories_in(s: Record) -> list[Record]:
    """Return the histories among the fields of a record."""
    ours = history_dtype(1, 1).names
    return [s[name] for name in s.dtype.names if s.dtype[name].names == ours]


def forget_overwritten(h: Record, newer: Sequence[int]) -> None:
    """Replace by NaN what later rewards have written over.

    `h` has got back its counters of an earlier time, and so many rewards of each arm came since.
    """
    for k, n in enumerate(newer):
        ring = h.prefix[k]
        ring[(int(h.written[k]) + 1 + np.arange(min(n, ring.size))) % ring.size] = np.nan
