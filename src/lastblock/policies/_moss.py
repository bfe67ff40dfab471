"""The index of MOSS and its anytime version: the bonus ends at an arm's fair share of pulls."""

import math

import numpy as np

from lastblock.core.indices import argmax, unseen
from lastblock.core.layout import COUNT
from lastblock.core.protocol import Layout, Record
from lastblock.core.rounds import enqueue
from lastblock.kernels.jit import kernel


def moss_layout(arms: int) -> Layout:
    """Return the fields that the kernels here use."""
    return [
        ("pulls", COUNT, (arms,)),
        ("sums", np.float64, (arms,)),
        ("index", np.float64, (arms,)),
    ]


@kernel
def clear_moss(s: Record) -> None:
    """Start without rewards."""
    for k in range(s.pulls.shape[0]):
        s.pulls[k] = 0
        s.sums[k] = 0.0
        s.index[k] = 0.0


@kernel
def pull_by_moss(s: Record, steps: float, scale: float) -> None:
    """Queue the arm with the largest mean + C √(max(0, log(steps / (K N))) / N)."""
    share = steps / s.arms
    for k in range(s.arms):
        if s.pulls[k] > 0:
            n = s.pulls[k] + s.out[k]
            s.index[k] = s.sums[k] / s.pulls[k]
            if n < share:
                s.index[k] += scale * math.sqrt(math.log(share / n) / n)
        else:
            s.index[k] = unseen(s, k)
    enqueue(s, argmax(s, s.index))
