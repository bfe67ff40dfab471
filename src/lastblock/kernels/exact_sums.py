"""Sums of floats without rounding errors."""

from lastblock.kernels.jit import kernel

LARGEST_REWARD = 1e290
"""Bound on a reward's absolute value; sums of larger rewards could overflow."""


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return the rounded sum of `a` and `b` and its exact rounding error (Knuth's two-sum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
