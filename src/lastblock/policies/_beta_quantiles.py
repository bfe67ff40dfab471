"""Upper quantiles of Beta laws, as kernels.

The probability above x has the continued fraction of the incomplete beta function, which converges
fast where x is above the mean. Halley's iteration solves for x, and bisection keeps it within a
bracket. Everything depends on the law and the probability only: equal arms get equal quantiles, to
the last bit.
"""

import math

from lastblock.kernels.divergences import bernoulli_upper
from lastblock.kit import kernel, log_factorial, routine

ITERATIONS = 100
"""More than Halley's iteration, or the bisection in its place, ever takes."""

TERMS = 10_000
"""More than the fraction ever takes: of the order of √N for N rewards."""

CLOSE = 1e-5
"""Convergence is cubic: after a relatively smaller step only rounding errors remain."""

HIGHEST = 1.0 - 2.0**-53

ABOVE = 1.0 + 1e-6
"""Slopes are this much too large, so that a tangent never lies below the quantiles."""


@kernel
def log_density(a: float, b: float, x: float, log_beta: float) -> float:
    """Return the logarithm of the density of Beta(a, b) at x, which lies between 0 and 1."""
    return (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x) - log_beta


@routine
def fraction(a: float, b: float, x: float) -> float:
    """Return the fraction F with P(Beta(a, b) < x) = x^a (1 − x)^b F / (a B(a, b)).

    By the method of Lentz, for x below the mean or not far above it.
    """
    c = 1.0
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d
    for i in range(1, TERMS):
        m = float(i)
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        value *= c * d
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


@routine
def log_above(a: float, b: float, x: float, log_beta: float) -> float:
    """Return the logarithm of the probability that a Beta(a, b) variate exceeds x."""
    x = float(x)
    y = 1.0 - x
    power = a * math.log(x) + b * math.log1p(-x) - log_beta
    if y * (a + b + 2.0) <= b + 1.0:
        return power + math.log(fraction(b, a, y) / b)
    return math.log1p(-min(math.exp(power) * fraction(a, b, x) / a, 1.0 - 1e-16))


@routine
def beta_quantile_above(a: float, b: float, level: float) -> tuple[float, float]:
    """Return the x that a Beta(a, b) variate exceeds with probability exp(−level), and its slope.

    Parameters
    ----------
    a, b
        At least 1.
    level
        Positive.

    Returns
    -------
    x, slope
        The quantile, and its derivative by `level`, or a little more; it falls as `level` grows.
    """
    log_beta = log_factorial(a - 1.0) + log_factorial(b - 1.0) - log_factorial(a + b - 1.0)
    # Chernoff's bound for a binomial variate of a + b − 1 trials, less what it is too high by where
    # the variate is nearly normal.
    trials = a + b - 1.0
    spare = level - 0.5 * math.log(4.0 * math.pi * level) if level > 1.0 else 0.2 * level
    low, high = 0.0, HIGHEST
    x = min(bernoulli_upper(min((a - 1.0) / trials, 1.0), max(spare, 0.2 * level) / trials), high)
    slope = 0.0
    for _ in range(ITERATIONS):
        value = log_above(a, b, x, log_beta)
        slope = math.exp(value - log_density(a, b, x, log_beta))  # 1 / hazard
        if value + level > 0.0:
            low = x
        else:
            high = x
        # Halley's step; the hazard grows by `bend` times itself.
        bend = 1.0 / slope + (a - 1.0) / x - (b - 1.0) / (1.0 - x)
        newton = (value + level) * slope
        step = newton / (1.0 + max(0.5 * newton * bend, -0.5))
        following = x + step
        if not low <= following <= high:
            following = 0.5 * (low + high)
            step = following - x
        x = following
        slope *= max(1.0 - step * bend, 0.1)
        if abs(step) <= CLOSE * min(x, 1.0 - x):
            break
    return x, slope * ABOVE
