"""Sums of blocks anywhere in the history, for policies that keep every reward.

The ring must not have wrapped yet, so that reward number i lies where it was written. That is what
a policy with `grows=True` sees to: it is full before its ring wraps.
"""

from lastblock.history import STRETCH
from lastblock.jit import kernel
from lastblock.protocol import Record


@kernel
def span_sum(h: Record, arm: int, first: int, n: int) -> float:
    """The sum of the n ≥ 1 rewards from number `first` on; the oldest one is number 0."""
    last = first + n
    total = h.prefix[arm, last]
    if h.prefix.shape[1] > STRETCH:  # known at compile time
        start = (last - 1) & ~(STRETCH - 1)
        while start > first:
            total += h.prefix[arm, start]
            start -= STRETCH
        if start == first:
            return float(total)
    return float(total - h.prefix[arm, first])


@kernel
def any_span_at_most(h: Record, arm: int, first: int, last: int, n: int, bound: float) -> bool:
    """Whether one of the blocks of n rewards that start at first … last − 1 has a sum ≤ bound."""
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
