"""Every reward of an arm as a multiset: those equal to 0 or 1 are counted, the others are kept.

Policies that resample the whole history need O(1) instead of O(N) for the counted part, with the
same law: for Bernoulli rewards that is all of it.
"""

from typing import Any

import numpy as np

from lastblock.core.layout import capacity, record, within
from lastblock.core.protocol import Held, Record
from lastblock.kernels.jit import kernel

SMALLEST_ROOM = 64
MOST_COUNTED = 1 << 52
"""Zeros, or ones, of an arm in a sound record: samplers work with floats."""


def atoms_dtype(arms: int, rewards: int) -> np.dtype[Any]:
    """Room for any number of zeros and ones and at least `rewards` others of each arm."""
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
    """Add a reward."""
    if reward == 0.0:
        h.zeros[arm] += 1
    elif reward == 1.0:
        h.ones[arm] += 1
    else:
        h.value[arm, h.others[arm]] = reward
        h.others[arm] += 1


@kernel
def size(h: Record, arm: int) -> int:
    """How many rewards the arm has had."""
    return int(h.zeros[arm] + h.ones[arm] + h.others[arm])


@kernel
def is_full(h: Record, arm: int) -> bool:
    """Whether one more reward might not fit."""
    return bool(h.others[arm] == h.value.shape[1])


def held(h: Record, arm: int) -> Held:
    """Return every reward of an arm, for a policy's method `held`. Plain Python."""
    zeros, ones, others = int(h.zeros[arm]), int(h.ones[arm]), int(h.others[arm])
    return Held(
        float(zeros + ones + others),
        rewards=lambda: np.concatenate((np.zeros(zeros), np.ones(ones), h.value[arm, :others])),
    )
