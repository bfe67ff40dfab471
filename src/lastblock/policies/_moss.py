"""The index of MOSS and its anytime version: the bonus ends at an arm's fair share of pulls."""

import math

import numpy as np

from lastblock.kit import COUNT, Layout, Record, argmax, enqueue, kernel, unseen


def moss_layout(arms: int) -> Layout:
    """Return the fields that the kernels here use."""
    return [
        ("pulls", COUNT, (arms,)),
        ("sums", np.float64, (arms,)),
        ("index", np.float64, (arms,)),
    ]


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
