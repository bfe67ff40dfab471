"""What policies share that draw an arm by chances: softmax, gradient bandits and MED."""

import math
from typing import Any

import numpy as np

from lastblock.kit import INDEX, Record, argmax, kernel, uniform, unseen


@kernel
def draw(s: Record) -> Any:
    """Draw an arm with probabilities in proportion to `chance`, and leave these there."""
    total = 0.0
    for k in range(s.arms):
        total += s.chance[k]
    for k in range(s.arms):
        s.chance[k] /= total
    left = uniform(s.stream)
    arm: Any = INDEX(0)
    while arm + 1 < s.arms and left >= s.chance[arm]:
        left -= s.chance[arm]
        arm = INDEX(arm + 1)
    return arm


@kernel
def newcomer(s: Record, counts: Any) -> Any:
    """Return the arm to pull because none of its rewards has arrived, or −1 if rewards decide.

    Its chance is then 1. `counts` has the number of each arm's rewards.
    """
    first = -math.inf
    seen = False
    for k in range(s.arms):
        if counts[k] > 0:
            seen = True
            s.chance[k] = -math.inf
        else:
            s.chance[k] = unseen(s, k)
            first = max(first, s.chance[k])
    if seen and first <= 0.0:
        return np.int64(-1)
    arm = argmax(s, s.chance)
    for k in range(s.arms):
        s.chance[k] = 1.0 if k == arm else 0.0
    return arm
