"""Means and variances of the arms' rewards, for the policies that use them.

Sums are taken of the rewards' differences from the first reward of all: no digits are lost where
rewards are large beside what they vary, and arms with the same rewards in another order have
the same mean and variance, to the last bit, where the sums are exact.
"""

import numpy as np

from lastblock.core.protocol import Held
from lastblock.kit import COUNT, FLAG, WEIGHT, Layout, Record, kernel

FARTHEST = 1e150
"""Larger differences count as this one, because their squares would overflow."""


def variance_layout(arms: int) -> Layout:
    """Return the fields that the kernels here use."""
    return [
        ("begun", FLAG),
        ("origin", np.float64),  # the first reward of all
        ("pulls", COUNT, (arms,)),
        ("sums", np.float64, (arms,)),  # of differences from it …
        ("squares", WEIGHT, (arms,)),  # … and of their squares
        ("means", np.float64, (arms,)),  # of differences from it
        ("index", np.float64, (arms,)),
    ]


@kernel
def take_in(s: Record, arm: int, reward: float) -> None:
    """Add a reward."""
    if s.begun == 0:
        s.begun = 1
        s.origin = reward
    away = max(-FARTHEST, min(reward - s.origin, FARTHEST))
    s.pulls[arm] += 1
    s.sums[arm] += away
    s.squares[arm] += away * away
    s.means[arm] = s.sums[arm] / s.pulls[arm]


@kernel
def spread(s: Record, arm: int) -> float:
    """Return the sum of the squared distances of an arm's rewards from their mean."""
    return float(max(0.0, s.squares[arm] - s.sums[arm] * s.means[arm]))


def held_with_variance(s: Record, arm: int) -> Held:
    """Return what `held` of these policies returns."""
    return Held(float(s.pulls[arm]), float(s.sums[arm] + s.pulls[arm] * s.origin))
