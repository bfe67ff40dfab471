"""What index policies share: they pull the arm with the largest index."""

import math
from typing import Any

import numpy as np

from lastblock.core.checked import check_index
from lastblock.core.layout import HEADER, INDEX
from lastblock.core.protocol import Record
from lastblock.kernels.jit import kernel_of
from lastblock.kernels.streams import below

UNSEEN = 1e300
"""The index of an arm without any reward, above all others."""


@kernel_of(HEADER)
def unseen(s: Record, arm: int) -> float:
    """Return the index of an arm none of whose rewards has arrived.

    The fewer of its decisions are out, the larger it is. Where rewards come at once, every arm has
    one after its first pull and this is never needed.
    """
    if tried_enough(s, arm):
        return -UNSEEN
    return float(UNSEEN / (1.0 + s.out[arm] + s.lost[arm]))


@kernel_of(HEADER)
def tried_enough(s: Record, arm: int) -> bool:
    """Return whether an arm none of whose rewards has arrived must let other arms go first.

    Such an arm is tried about log₂ r times in r rounds. Otherwise all decisions would go to a new
    arm whose rewards are late, or to one whose decisions are always forgotten.
    """
    return bool(s.out[arm] + s.lost[arm] > 1.0 + math.log2(s.round))


@kernel_of(HEADER)
def argmax(s: Record, index: Any) -> Any:
    """Return the arm with the largest index; one draw breaks ties uniformly at random."""
    check_index(s, index)
    best: Any = INDEX(0)
    ties = 1
    for k in range(1, s.arms):
        if index[k] > index[best]:
            best = INDEX(k)
            ties = 1
        elif index[k] == index[best]:
            ties += 1
    if ties > 1:
        skip = below(s.stream, ties)
        chosen = best
        for k in range(s.arms):
            if index[k] == index[best]:
                if skip == 0:
                    chosen = INDEX(k)
                skip -= 1
        best = chosen
    return np.int64(best)
