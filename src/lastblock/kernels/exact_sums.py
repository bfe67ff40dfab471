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


@kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return the rounded product of `a` and `b` and its exact rounding error (Dekker's method).

    Neither number may be within a factor of 2²⁷ of the largest float.
    """
    product = a * b
    a_high, a_low = split(a)
    b_high, b_low = split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def split(x: float) -> tuple[float, float]:
    """Return two numbers of at most 26 binary digits whose sum is x (Veltkamp's splitting)."""
    scaled = 134_217_729.0 * x  # 2²⁷ + 1
    high = scaled - (scaled - x)
    return high, x - high
