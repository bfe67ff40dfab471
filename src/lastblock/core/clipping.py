"""Limits between which a detector's rewards are clipped, from a sample: for tails and outliers.

The limits lie four times as far from the median as the sample's first and last decile, each side
by itself, since laws are rarely symmetric. Light tails are hardly clipped: at the limits of the
whole law, three of 10⁷ Gaussian rewards and one of 1250 exponential ones. Where nine of ten rewards
are alike, such as rare clicks, nothing is clipped on the side of the others. Limits move and scale
with the rewards.
"""

import math
from typing import Any

from lastblock.kernels.jit import routine

REACH = 3.0
"""How far beyond the decile a limit lies, in distances of the decile from the median."""


@routine
def limits_of(samples: Any, row: int) -> tuple[float, float]:
    """Return the limits for a row of samples; infinite where a decile is the median.

    A reward's place in the order is counted, without a sorted copy: kernels own no memory.
    """
    x = samples[row]
    size = x.shape[0]
    tenth = size // 10
    low = 0.0
    high = 0.0
    middle = 0.0
    for i in range(size):
        place = 0
        for j in range(size):
            place += x[j] < x[i] or (x[j] == x[i] and j < i)
        if place == tenth:
            low = x[i]
        if place == size - 1 - tenth:
            high = x[i]
        if place in (size // 2 - 1, size // 2):
            middle += 0.5 * x[i]
    return (
        low - REACH * (middle - low) if low < middle else -math.inf,
        high + REACH * (high - middle) if high > middle else math.inf,
    )


@routine
def is_within(samples: Any, row: int, low: float, high: float) -> bool:
    """Return whether all samples of a row lie between the limits."""
    outside = 0
    for i in range(samples.shape[1]):
        outside += samples[row, i] < low or samples[row, i] > high
    return outside == 0
