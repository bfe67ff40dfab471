"""Sums of floats that lose nothing to rounding."""

from lastblock.kernels.jit import kernel

LARGEST_REWARD = 1e290
"""Sums of larger ones could overflow."""


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Knuth's two-sum: a + b as rounded, and what rounding took away, exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
