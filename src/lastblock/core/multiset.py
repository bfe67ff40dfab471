"""Every reward of an arm as a multiset: those equal to 0 or 1 are counted, the others are kept.

A policy that resamples all rewards needs O(1) steps instead of O(N) for those that are counted, and
the law of its samples is the same. Of Bernoulli rewards all are counted.
"""

from typing import Any

import numpy as np

from lastblock.core.layout import capacity, record, within
from lastblock.core.protocol import Held, Record
from lastblock.kernels.jit import kernel

SMALLEST_ROOM = 64
MOST_COUNTED = 1 << 52
"""The largest number of zeros, or of ones, of an arm in a sound record. Samplers compute with
floats, which are exact up to here."""


def atoms_dtype(arms: int, rewards: int) -> np.dtype[Any]:
    """Return the type of a field with room for at least `rewards` rewards of each arm.

    Zeros and ones take no room.
    """
    room = capacity(rewards, SMALLEST_ROOM)
    return record(
        [
            ("zeros", within(np.int64, 0, MOST_COUNTED), (arms,)),
            ("ones", within(np.int64, 0, MOST_COUNTED), (arms,)),
            ("others", within(np.int64, 0, room), (arms,)),
            ("value", np.float64, (arms, room)),
        ]
    )


@kernel
def clear(h: Record) -> None:
    """Forget everything."""
    for k in range(h.zeros.shape[0]):
        h.zeros[k] = 0
        h.ones[k] = 0
        h.others[k] = 0


@kernel
def append(h: Record, arm: int, reward: float) -> None:
    """Add a reward of `arm`; there must be room, see `is_full`."""
    if reward == 0.0:
        h.zeros[arm] += 1
    elif reward == 1.0:
        h.ones[arm] += 1
    else:
        h.value[arm, h.others[arm]] = reward
        h.others[arm] += 1


@kernel
def size(h: Record, arm: int) -> int:
    """Return the number of rewards of `arm`."""
    return int(h.zeros[arm] + h.ones[arm] + h.others[arm])


@kernel
def is_full(h: Record, arm: int) -> bool:
    """Return whether one more reward of `arm` might not fit."""
    return bool(h.others[arm] == h.value.shape[1])


def held(h: Record, arm: int) -> Held:
    """Return every reward of an arm, for a policy's method `held`. Plain Python."""
    zeros, ones, others = int(h.zeros[arm]), int(h.ones[arm]), int(h.others[arm])
    return Held(
        float(zeros + ones + others),
        rewards=lambda: np.concatenate((np.zeros(zeros), np.ones(ones), h.value[arm, :others])),
    )
