"""What kl-UCB and its variants share: upper bounds by kl divergence, solved only where needed."""

import math
from typing import Any

import numpy as np

from lastblock.kernels.divergences import EXPONENTIAL, GAUSSIAN, POISSON, FamilyCode, inside, upper
from lastblock.kit import Layout, Record, argmax, kernel, unseen

MARGIN = 1e-12
"""More than the relative rounding error of a tangent."""


def bounds_layout(arms: int) -> Layout:
    """Return the fields that the kernels here use."""
    return [
        ("means", np.float64, (arms,)),  # what the bounds belong to
        ("level", np.float64, (arms,)),  # log t / N, now …
        ("solved", np.float64, (arms,)),  # … and when the bound was last solved for
        ("bound", np.float64, (arms,)),  # sup {q: kl(mean, q) ≤ solved}
        ("slope", np.float64, (arms,)),  # by which it grows with the level, at most
        ("index", np.float64, (arms,)),
    ]


@kernel
def clear_bounds(s: Record) -> None:
    """Start with no bound solved."""
    for k in range(s.means.shape[0]):
        s.solved[k] = math.inf


@kernel
def set_mean(s: Record, arm: int, family: FamilyCode, mean: float) -> None:
    """Set the mean of an arm, and note that its bound must be solved again."""
    s.means[arm] = inside(family, mean)
    s.solved[arm] = math.inf


@kernel
def solve(s: Record, arm: int, family: FamilyCode, sigma: float) -> None:
    """Solve for the bound at the arm's level, and for its slope there."""
    p = s.means[arm]
    level = s.level[arm]
    q = upper(family, p, level, sigma)
    s.bound[arm] = q
    s.solved[arm] = level
    # 1 / kl'(p, q). The bound is concave in the level, so that its tangent lies above it; not so
    # for exponential arms, where the logarithm of the bound is: these are solved for every time.
    if family == EXPONENTIAL or q <= p:
        s.slope[arm] = math.inf
    elif family == POISSON:
        s.slope[arm] = q / (q - p)
    else:
        s.slope[arm] = q * (1.0 - q) / (q - p)


@kernel
def might_reach(s: Record, arm: int, height: float) -> bool:
    """Return whether the arm's bound may reach `height`, judged by its tangent without a root."""
    growth = s.level[arm] - s.solved[arm]
    if growth == 0.0:
        return False  # solved for this level already
    if math.isinf(s.slope[arm]):
        return True
    tangent = s.bound[arm] + growth * s.slope[arm]
    return bool(tangent >= height * (1.0 - MARGIN))


@kernel
def largest_bound(s: Record, family: FamilyCode, sigma: float) -> Any:
    """Return the arm with the largest bound, given the levels.

    A negative level means that the arm has no reward. Roots are solved only where they can decide:
    means change one or two at a time and levels grow slowly, so that the tangent at the last root
    rules out most arms.
    """
    height = 0.0
    for k in range(s.arms):
        if s.level[k] < 0.0:
            s.index[k] = unseen(s, k)
            continue
        if family == GAUSSIAN:
            s.index[k] = s.means[k] + sigma * math.sqrt(2.0 * s.level[k])
            continue
        if s.level[k] < s.solved[k]:
            solve(s, k, family, sigma)
        # Bounds grow with the level, so that an older one is a bound from below.
        s.index[k] = s.bound[k]
        height = max(height, s.bound[k])
    if family != GAUSSIAN:
        for k in range(s.arms):
            if s.level[k] >= 0.0 and might_reach(s, k, height):
                solve(s, k, family, sigma)
                s.index[k] = s.bound[k]
    return argmax(s, s.index)
