"""Kullback–Leibler divergences of the one-parameter families and their inverses, as kernels.

p and q are means of two members of a family. With h(p, q) = p log(p / q) − p + q,

    Bernoulli      kl(p, q) = h(p, q) + h(1 − p, 1 − q)
    Poisson        kl(p, q) = h(p, q)
    exponential    kl(p, q) = h(q, p) / q
    Gaussian       kl(p, q) = (q − p)² / 2σ²

where no term is negative. The kernels compute h by a series when p and q are close and by a
logarithm otherwise, so that no digits are lost near p = q or near an end of the family. The
inverses depend on the mean and the level only: equal arms get equal bounds, to the last bit.
"""

import math
from enum import IntEnum
from typing import Literal, TypeAlias

from lastblock.kernels.jit import kernel, routine


class Family(IntEnum):
    """A one-parameter exponential family; written as a word, ``family="gaussian"``."""

    BERNOULLI = 0
    GAUSSIAN = 1
    POISSON = 2
    EXPONENTIAL = 3

    def __repr__(self) -> str:
        return repr(self.name.lower())


class Law(IntEnum):
    """A `Family`, or any law of rewards in [0, 1]: ``family="bounded"``."""

    BERNOULLI = 0
    GAUSSIAN = 1
    POISSON = 2
    EXPONENTIAL = 3
    BOUNDED = 4

    def __repr__(self) -> str:
        return repr(self.name.lower())


LawWord: TypeAlias = Literal["bernoulli", "gaussian", "poisson", "exponential", "bounded"]
"""The names of the laws. A policy's field has the type ``Law | Family | LawWord``."""

FamilyWord: TypeAlias = Literal["bernoulli", "gaussian", "poisson", "exponential"]
"""The names of the families. A policy's field has the type ``Family | FamilyWord``: a user may
write either, and the policy turns it into a `Family` when it is made."""

FamilyCode: TypeAlias = int | LawWord
"""The type of a family in a kernel, where it is always a number. The type includes the names,
because a type checker cannot know that a policy has turned them into a `Family`."""

BERNOULLI = int(Family.BERNOULLI)

GAUSSIAN = int(Family.GAUSSIAN)

POISSON = int(Family.POISSON)

EXPONENTIAL = int(Family.EXPONENTIAL)

BOUNDED = int(Law.BOUNDED)

_LARGEST_EXPONENT = 700.0

_AT_ONE = 30.0  # bounds above 1 − exp(−30) become 1: rounding would decide their order

_NEGLIGIBLE = 1e-18

_NOTHING = 1e-150  # means up to this count as 0; its square does not underflow

_ALMOST_ONE = 1.0 - 2.0**-52

_ITERATIONS = 60

_CLOSE_BELOW = -2.0 / 11.0  # bounds on (q − p) / p, between which |q − p| ≤ 0.1 (p + q)

_CLOSE_ABOVE = 2.0 / 9.0

_SMALLEST_QUOTIENT = 1e-300

_LARGEST_QUOTIENT = 1e300


@kernel
def family_support(family: FamilyCode) -> tuple[float, float]:
    """Return the smallest and the largest reward that the family allows."""
    if family == GAUSSIAN:
        return -math.inf, math.inf
    if family == BOUNDED:
        return 0.0, 1.0
    return 0.0, 1.0 if family == BERNOULLI else math.inf


@kernel
def inside(family: FamilyCode, mean: float) -> float:
    """Return the mean nearest to `mean` that the family allows.

    A sample mean can lie outside, when the rewards do not follow the family that the policy names.
    """
    if family == GAUSSIAN:
        return mean
    mean = max(mean, 0.0)
    if family == BOUNDED:
        return min(mean, 1.0)
    return min(mean, 1.0) if family == BERNOULLI else mean


@kernel
def gap(x: float) -> float:
    """Return x − log(1 + x) for −2/11 ≤ x ≤ 2/9, with full relative precision."""
    # log(1 + x) = 2 artanh r and x = 2r / (1 − r), with |r| ≤ 0.1; the series below starts after
    # the leading terms, which cancel.
    r = x / (2.0 + x)
    r2 = r * r
    tail = 1.0 / 15.0 + r2 / 17.0
    tail = 1.0 / 11.0 + r2 * (1.0 / 13.0 + r2 * tail)
    tail = 1.0 / 7.0 + r2 * (1.0 / 9.0 + r2 * tail)
    tail = 1.0 / 3.0 + r2 * (1.0 / 5.0 + r2 * tail)
    return r * (x - 2.0 * r2 * tail)


@kernel
def log_quotient(p: float, q: float) -> float:
    """Return log(p / q) for positive p and q, even if p / q overflows or underflows."""
    quotient = p / q
    if _SMALLEST_QUOTIENT < quotient < _LARGEST_QUOTIENT:
        return math.log(quotient)
    return math.log(p) - math.log(q)


@kernel
def relative(p: float, q: float, delta: float) -> float:
    """Return h(p, q) for positive p and q; `delta` is q − p, which the caller may know better."""
    x = delta / p
    if _CLOSE_BELOW <= x <= _CLOSE_ABOVE:
        return p * gap(x)
    return delta - p * log_quotient(q, p)


@kernel
def divergence(family: FamilyCode, p: float, q: float, sigma: float) -> float:
    """Return kl(p, q) of the members of the family with means p and q; it may be infinite."""
    if p == q:
        return 0.0
    p, q = float(p), float(q)  # without the JIT they may be NumPy scalars, which warn of overflow
    if family == GAUSSIAN:
        z = (q - p) / sigma
        return 0.5 * z * z
    if family == BERNOULLI:
        if q <= 0.0 or q >= 1.0:
            return math.inf
        if p <= 0.0:
            return -math.log1p(-q)
        if p >= 1.0:
            return -math.log(q)
        return relative(p, q, q - p) + relative(1.0 - p, 1.0 - q, p - q)
    if family == POISSON:
        if q <= 0.0:
            return math.inf
        return q if p <= 0.0 else relative(p, q, q - p)
    if p <= 0.0 or q <= 0.0:
        return math.inf
    x = (p - q) / q
    return gap(x) if _CLOSE_BELOW <= x <= _CLOSE_ABOVE else x - log_quotient(p, q)


@routine
def upper(family: FamilyCode, p: float, level: float, sigma: float) -> float:
    """Return the largest q with kl(p, q) ≤ level."""
    p, level = float(p), float(level)
    if level <= 0.0:
        return p
    if family == GAUSSIAN:
        return p + sigma * math.sqrt(2.0 * level)
    if family == BERNOULLI:
        return bernoulli_upper(p, level)
    if family == POISSON:
        if p <= level * _NEGLIGIBLE:
            return level
        return p * math.exp(log_ratio(level / p, 1.0))
    if p <= 0.0:
        return 0.0
    stretch = -log_ratio(level, -1.0)
    return p * math.exp(stretch) if stretch <= _LARGEST_EXPONENT else math.inf


@routine
def lower(family: FamilyCode, p: float, level: float, sigma: float) -> float:
    """Return the smallest q with kl(p, q) ≤ level."""
    p, level = float(p), float(level)
    if level <= 0.0:
        return p
    if family == GAUSSIAN:
        return p - sigma * math.sqrt(2.0 * level)
    if family == BERNOULLI:
        return 1.0 - bernoulli_upper(1.0 - p, level)
    if p <= 0.0 or math.isinf(level):
        return 0.0
    if family == POISSON:
        if p <= level * _NEGLIGIBLE:
            return 0.0
        return p * math.exp(log_ratio(level / p, -1.0))
    shrink = log_ratio(level, 1.0)
    return p * math.exp(-shrink)


@kernel
def bernoulli_upper(p: float, level: float) -> float:
    """Return the largest q with kl(p, q) ≤ level for Bernoulli laws.

    Halley's iteration finds δ = q − p; bisection keeps it within a bracket. It stops when a step
    is relatively small: convergence is cubic, so that after the last step only rounding errors
    remain. The first guess is so good that one to three steps suffice.
    """
    if level <= 0.0 or p >= 1.0:
        return p
    if p <= _NOTHING:
        return max(p, -math.expm1(-level)) if level < _AT_ONE else 1.0
    rest = 1.0 - p
    # kl(p, q) ≥ δ² / 2q and kl(p, q) ≥ 2δ² bound the root …
    low = 0.0
    high = min(level + math.sqrt(level * (level + 2.0 * p)), math.sqrt(0.5 * level))
    if high > 0.5 * rest:
        # … and close to 1 so does kl(p, q) ≥ −(1 − p) log(1 − q) − entropy(p).
        exponent = (level - p * math.log(p)) / rest - math.log(rest)
        if exponent >= _AT_ONE:
            return 1.0
        high = min(high, rest - math.exp(-exponent), rest * _ALMOST_ONE)
    delta = high
    variance = p * rest
    if level < 0.2 * variance:  # here the series of δ around level 0 is accurate
        series = math.sqrt(2.0 * level * variance) + 2.0 / 3.0 * level * (1.0 - 2.0 * p)
        delta = min(high, series)
    for _ in range(_ITERATIONS):
        q = p + delta
        spare = rest - delta
        excess = relative(p, q, delta) + relative(rest, spare, -delta) - level
        if excess > 0.0:
            high = delta
        else:
            low = delta
        slope = delta / (q * spare)
        bend = p / (q * q) + rest / (spare * spare)
        newton = excess / slope
        step = newton / (1.0 - min(0.5 * newton * bend / slope, 0.5))
        following = delta - step
        if not low <= following <= high:
            following = 0.5 * (low + high)
            step = delta - following
        delta = following
        if abs(step) <= max(1e-5 * min(delta, rest - delta), 1e-16):
            break
    return min(p + delta, 1.0)


@kernel
def log_ratio(y: float, side: float) -> float:
    """Return the v with exp(v) − 1 − v = y ≥ 0 that has the sign of `side`.

    The two signs are the two branches of Lambert's W.
    """
    if y <= 0.0:
        return 0.0
    # First guess: the series at 0, or the solution for the larger of exp(v) and −v alone.
    root = math.sqrt(2.0 * y)
    if side > 0.0:
        v = root - root * root / 6.0 if root < 1.5 else math.log1p(y + math.log1p(y))
    elif root < 1.5:
        v = -root - root * root / 6.0
    else:
        v = -(y + 1.0) + math.exp(-(y + 1.0))
    for _ in range(_ITERATIONS):
        slope = math.expm1(v)
        newton = (slope - v - y) / slope
        step = newton / (1.0 - min(0.5 * newton * (slope + 1.0) / slope, 0.5))
        v -= step
        if abs(step) <= 1e-5 * abs(v):
            break
    return v
