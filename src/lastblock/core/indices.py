"""What index policies share: pull the arm with the largest index."""

import math
from typing import Any

from lastblock.core.layout import INDEX
from lastblock.core.protocol import Record
from lastblock.kernels.jit import kernel
from lastblock.kernels.streams import below

UNSEEN = 1e300
"""The index of an arm without any reward, above all others."""


@kernel
def unseen(s: Record, arm: int) -> float:
    """The index of an arm none of whose rewards has arrived: the fewer are out, the larger.

    Without delay every arm has a reward after its first pull, and this is never needed.
    """
    if tried_enough(s, arm):
        return -UNSEEN
    return float(UNSEEN / (1.0 + s.out[arm] + s.lost[arm]))


@kernel
def tried_enough(s: Record, arm: int) -> bool:
    """Whether an arm that has not answered yet must let others go first.

    It is tried again, but some log₂ r times only (once more when the rounds have doubled, if it has
    not been forgotten): not all decisions may go to a new arm whose rewards are late, or to one
    whose decisions are always forgotten.
    """
    return bool(s.out[arm] + s.lost[arm] > 1.0 + math.log2(s.round))


@kernel
def argmax(s: Record, index: Any) -> Any:
    """The arm with the largest index; ties are broken uniformly at random, by one draw."""
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
    return best
