"""Statistics of the rewards of each arm of a live bandit."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.kernels.jit import kernel

COLUMNS = 5
"""The numbers that are noted for each arm: those of `Told`."""


class Told(NamedTuple):
    """Statistics of rewards."""

    pulls: int
    """How many they are."""
    mean: float
    spread: float
    """The sum of squared distances from the mean."""
    low: float = math.nan
    """The smallest one; NaN if it is not known."""
    high: float = math.nan
    """The largest one; NaN as for `low`."""


@kernel
def note_reward(told: npt.NDArray[np.float64], arm: int, reward: float) -> None:
    """Update the statistics of `arm` by a reward (mean and spread by Welford's method)."""
    told[arm, 0] += 1.0
    distance = reward - told[arm, 1]
    told[arm, 1] += distance / told[arm, 0]
    told[arm, 2] += distance * (reward - told[arm, 1])
    if told[arm, 0] == 1.0:
        told[arm, 3] = reward
        told[arm, 4] = reward
    elif reward < told[arm, 3]:  # false if it is not known, and so it stays unknown
        told[arm, 3] = reward
    elif reward > told[arm, 4]:
        told[arm, 4] = reward
