"""The rewards of each arm of a live bandit, summed up: how many, their mean and spread."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.kernels.jit import kernel

NORMAL_95 = 1.959964
"""The 97.5 % quantile of the standard normal law."""


class Told(NamedTuple):
    """Statistics of rewards: how many, their mean, and the sum of squared distances from it."""

    pulls: int
    mean: float
    spread: float

    @property
    def half_width(self) -> float:
        """Half the width of a 95 % interval for the mean, by the normal law; infinite below 2."""
        if self.pulls < 2:
            return math.inf
        return NORMAL_95 * math.sqrt(self.spread / (self.pulls - 1) / self.pulls)


@kernel
def note_reward(told: npt.NDArray[np.float64], arm: int, reward: float) -> None:
    """Update the count, mean and spread of `arm` by a reward (Welford's method)."""
    told[arm, 0] += 1.0
    distance = reward - told[arm, 1]
    told[arm, 1] += distance / told[arm, 0]
    told[arm, 2] += distance * (reward - told[arm, 1])
