"""What kl-UCB and its variants share: bounds by kl divergence, solved for where they can decide."""

import math
from typing import Any

import numpy as np

from lastblock.core.indices import argmax, unseen
from lastblock.core.protocol import Layout, Record
from lastblock.kernels.divergences import (
    EXPONENTIAL,
    GAUSSIAN,
    POISSON,
    Family,
    FamilyCode,
    FamilyWord,
    inside,
    upper,
)
from lastblock.kernels.jit import kernel

MARGIN = 1e-12
"""Rounding of a tangent, with room to spare."""


def bounds_layout(arms: int) -> Layout:
    """The fields of the kernels below."""
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
    """Nothing is solved yet."""
    for k in range(s.means.shape[0]):
        s.means[k] = 0.0
        s.level[k] = 0.0
        s.solved[k] = math.inf
        s.bound[k] = 0.0
        s.slope[k] = 0.0
        s.index[k] = 0.0


@kernel
def set_mean(s: Record, arm: int, family: FamilyCode, mean: float) -> None:
    """The arm's mean has changed: its bound must be solved for again."""
    s.means[arm] = inside(family, mean)
    s.solved[arm] = math.inf


@kernel
def solve(s: Record, arm: int, family: FamilyCode, sigma: float) -> None:
    """The bound at the arm's level, and its slope there."""
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
    """Whether the arm's bound may be as high as this, by its tangent, which costs no root."""
    growth = s.level[arm] - s.solved[arm]
    if growth == 0.0:
        return False  # solved for this level already
    if math.isinf(s.slope[arm]):
        return True
    tangent = s.bound[arm] + growth * s.slope[arm]
    return bool(tangent >= height * (1.0 - MARGIN))


@kernel
def largest_bound(s: Record, family: FamilyCode, sigma: float) -> Any:
    """The arm with the largest bound, given the levels (negative: none of its rewards is there).

    Roots are solved for only where they can decide: means move one or two at a time and levels
    grow slowly, so that most arms are ruled out by the tangent at their last root.
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


def validate_family(name: str, family: Family | FamilyWord, sigma: float, c: float) -> None:
    """The parameters that all kl-UCB policies share."""
    if sigma <= 0.0:
        raise ValueError(f"{name}: sigma={sigma} must be positive")
    if family != Family.GAUSSIAN and sigma != 1.0:
        raise ValueError(f"{name}: sigma={sigma} is for family='gaussian' only; leave it out")
    if c < 0.0:
        raise ValueError(f"{name}: c={c} must not be negative")
