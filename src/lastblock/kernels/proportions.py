"""The proportions of pulls that tell the best arm from the others soonest.

Theorem 5 of Garivier & Kaufmann (2016). Let μ₁ be the largest mean. If arm a is pulled x times for
each pull of the best one, these pulls speak against μₐ ≥ μ₁ with

    g(x) = d(μ₁, m) + x d(μₐ, m),    m = (μ₁ + x μₐ) / (1 + x).

With the best proportions this is the same number for all rivals, and the quotients
R = d(μ₁, m) / d(μₐ, m) add up to 1. Both g and R grow with x.
"""

import math
from typing import Any

from lastblock.kernels.divergences import (
    EXPONENTIAL,
    GAUSSIAN,
    POISSON,
    FamilyCode,
    divergence,
)
from lastblock.kernels.jit import kernel, routine

LEVEL = 1e-12
"""Means whose distance is at most this share of them count as equal: it may be rounding."""

LEAST_CASE = 1e-30
"""Means count as equal, too, if even infinitely many pulls of one would say less than this."""

_PRECISION = 1e-11
_STEPS = 80
_FARTHEST = 8.0  # of log x: quotients of 1 / (K − 1) to 1 lie within this for any number of arms
_LEAST = 1e-12  # of the largest mean: exponential rewards are positive
_SMALLEST = 1e-100  # the square of a mean must not vanish
_GRAIN = 2.0**30


@kernel
def variance(family: FamilyCode, mean: float, sigma: float) -> float:
    """Return the variance of the member of the family with this mean."""
    if family == GAUSSIAN:
        return sigma * sigma
    if family == POISSON:
        return mean
    if family == EXPONENTIAL:
        return mean * mean
    return mean * (1.0 - mean)


@kernel
def between(top: float, mean: float, x: float) -> float:
    """Return m, the mean of `top` with weight 1 and `mean` with weight x."""
    return top - (top - mean) * (x / (1.0 + x))


@kernel
def slope_of_quotient(
    family: FamilyCode, top: float, mean: float, x: float, d1: float, da: float, sigma: float
) -> float:
    """Return the derivative of R by x, with d1 and da the two divergences from m."""
    middle = between(top, mean, x)
    gap = (top - mean) / (1.0 + x)
    spread = variance(family, middle, sigma)
    return gap * gap / (1.0 + x) * (d1 + x * da) / (spread * da * da)


@routine
def matching(
    family: FamilyCode, top: float, mean: float, case: float, most: float, sigma: float
) -> float:
    """Return the x with g(x) = `case`, between 0 and `most`.

    Newton's iteration in z = x / (1 + x), by which g is linear for Gaussian arms, within a bracket.
    """
    low = 0.0
    high = most / (1.0 + most)
    limit = divergence(family, top, mean, sigma)
    z = case / limit if case < limit < math.inf else high
    z = 0.5 * high if not 0.0 < z < high else z
    for _ in range(_STEPS):
        x = z / (1.0 - z)
        middle = between(top, mean, x)
        slope = divergence(family, mean, middle, sigma)
        excess = divergence(family, top, middle, sigma) + x * slope - case
        if excess > 0.0:
            high = z
        else:
            low = z
        following = z
        if slope > 0.0:
            following = z - excess / slope * (1.0 - z) * (1.0 - z)
        if not low < following < high:
            following = 0.5 * (low + high)
        step = following - z
        z = following
        if abs(step) <= _PRECISION * z:
            break
    return z / (1.0 - z)


@kernel
def share_level(means: Any, shares: Any, arms: int, least: float) -> None:
    """Let the arms with a mean of at least `least` share the pulls."""
    level = 0
    for k in range(arms):
        level += 1 if means[k] >= least else 0
    for k in range(arms):
        shares[k] = 1.0 / level if means[k] >= least else 0.0


@kernel
def normalise(shares: Any, arms: int) -> float:
    """Make the sum of the shares 1, and each a multiple of 2⁻³⁰; return the sum as it was."""
    total = 0.0
    for k in range(arms):
        total += shares[k]
    for k in range(arms):
        shares[k] = math.floor(shares[k] / total * _GRAIN + 0.5) / _GRAIN
    return total


@routine
def best_proportions(means: Any, shares: Any, arms: int, family: FamilyCode, sigma: float) -> float:
    """Fill `shares` with the best proportions of pulls; return the case that a pull makes.

    Arms with a mean of −∞ are left out. The inverse of what is returned is the characteristic time
    T*. If several arms have the largest mean there is no case to make: they share the pulls, and 0
    is returned. Shares are multiples of 2⁻³⁰, so that arms which should be level are level,
    whatever the rounding errors.
    """
    best, second = 0, -1
    for k in range(1, arms):
        if means[k] > means[best]:
            best = k
    for k in range(arms):
        if k != best and means[k] > -math.inf and (second < 0 or means[k] > means[second]):
            second = k
    top = float(means[best])
    least = top * _LEAST if family == EXPONENTIAL else -math.inf
    hardest = top if second < 0 else max(float(means[second]), least)
    near = top - LEVEL * abs(top)
    is_tiny = family != GAUSSIAN and top < _SMALLEST
    if is_tiny or hardest >= near or divergence(family, top, hardest, sigma) < LEAST_CASE:
        share_level(means, shares, arms, 0.0 if is_tiny else min(near, hardest))
        return 0.0
    # Newton's iteration on log ΣR by u = log x, of the second-best arm: linear for Gaussian arms.
    low, high = -_FARTHEST, _FARTHEST
    u, case = 0.0, 0.0
    for _ in range(_STEPS):
        x = math.exp(u)
        middle = between(top, hardest, x)
        d1 = divergence(family, top, middle, sigma)
        da = divergence(family, hardest, middle, sigma)
        case = d1 + x * da
        quotients, slope = math.inf, 0.0
        if da > 0.0:  # otherwise x is so large that m is the rival's mean
            quotients = 0.0
            for k in range(arms):
                shares[k] = 0.0
                if k == best or means[k] == -math.inf:
                    continue
                mean = max(float(means[k]), least)
                xk, d1k, dak = x, d1, da
                if mean != hardest:
                    xk = matching(family, top, mean, case, x, sigma)
                    middle = between(top, mean, xk)
                    d1k = divergence(family, top, middle, sigma)
                    dak = divergence(family, mean, middle, sigma)
                shares[k] = xk
                quotients += d1k / dak
                slope += slope_of_quotient(family, top, mean, xk, d1k, dak, sigma) * da / dak
        if quotients > 1.0:
            high = u
        else:
            low = u
        following = u
        if slope > 0.0 and quotients > 0.0:
            following = u - math.log(quotients) * quotients / (slope * x)
        if not low < following < high:
            following = 0.5 * (low + high)
        step = following - u
        u = following
        if abs(step) <= _PRECISION:
            break
    shares[best] = 1.0
    return case / normalise(shares, arms)
