"""Samplers of counts: binomial variates, and comparisons of a hypergeometric count with x."""

import math

import numpy as np

from lastblock.kernels.jit import kernel, routine
from lastblock.kernels.streams import Stream, next_word, to_open_unit, uniform

_TABLE = 16
_STIRLING_ERRORS = np.array(
    [0.0]
    + [
        math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2.0 * math.pi)
        for k in range(1, _TABLE)
    ]
)
_TWO_PI = 2.0 * math.pi
_ROOT_2 = math.sqrt(2.0)


@kernel
def stirling_error(k: float) -> float:
    """Return log k! − log(√(2πk) (k/e)^k), the error of Stirling's formula; 0 for k = 0."""
    if k < _TABLE:
        return float(_STIRLING_ERRORS[int(k)])
    i = 1.0 / k
    i2 = i * i
    return i * (1.0 / 12.0 - i2 * (1.0 / 360.0 - i2 * (1.0 / 1260.0 - i2 * (1.0 / 1680.0))))


@routine
def binomial(stream: Stream, n: int, p: float) -> int:
    """Draw the number of successes in `n` trials of probability `p`.

    By inversion for small means and by transformed rejection (Hörmann, 1993, BTRS) for large ones.
    A `p` outside [0, 1] counts as 0 or 1. No random word is used when the result is certain.
    """
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    small = min(p, 1.0 - p)
    if n * small < 10.0:
        count = _invert_binomial(uniform(stream), n, small)
    else:
        count = _reject_binomial(stream, n, small)
    return count if p <= 0.5 else n - count


@kernel
def _invert_binomial(u: float, n: int, p: float) -> int:
    """Return the binomial quantile of `u`, by adding probabilities from 0 upwards."""
    odds = p / (1.0 - p)
    term = math.exp(n * math.log1p(-p))
    count = 0
    while u >= term and count < n:
        u -= term
        count += 1
        term *= odds * ((n - count + 1.0) / count)
    return count


@kernel
def _reject_binomial(stream: Stream, n: int, p: float) -> int:
    """Draw a binomial variate by transformed rejection, for p ≤ 1/2 and np ≥ 10."""
    root = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * root
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * root
    v_r = 0.92 - 4.2 / b
    mode = math.floor((n + 1.0) * p)
    count = -1.0
    while count < 0.0:
        u = uniform(stream) - 0.5
        v = to_open_unit(next_word(stream))
        us = 0.5 - abs(u)
        if us > 0.0:
            k = math.floor((2.0 * a / us + b) * u + n * p + 0.5)
            if 0.0 <= k <= n:
                if (us >= 0.07 and v <= v_r) or (
                    math.log(v * alpha / (a / (us * us) + b)) <= _log_ratio(n, p, mode, k)
                ):
                    count = k
    return int(count)


@kernel
def _log_ratio(n: float, p: float, m: float, k: float) -> float:
    """Return the logarithm of P(X = k) / P(X = m) for a binomial X, where 0 < m < n."""
    odds = p / (1.0 - p)
    if k * (n - k) == 0.0:
        return (k - m) * math.log(odds) - (
            math.lgamma(n + 1.0) - math.lgamma(m + 1.0) - math.lgamma(n - m + 1.0)
        )
    return (
        (k + 0.5) * math.log(m / k)
        + (n - k + 0.5) * math.log((n - m) / (n - k))
        + (k - m) * math.log((n - m) / m * odds)
        + (stirling_error(m) - stirling_error(k))
        + (stirling_error(n - m) - stirling_error(n - k))
    )


@kernel
def hypergeometric_at_most(stream: Stream, x: int, n: int, good: int, total: int) -> bool:
    """Draw `n` of `total` items without replacement; return whether at most `x` of them are good.

    `good` of the `total` items are good. With F the distribution function of the number of good
    items drawn, U < F(x) for a uniform U has the same law and takes one random word for any `n`.
    U is rarely close to F(x), so that bounds on F(x) nearly always decide. No random word is used
    when the result is certain.
    """
    if x < max(0, n - (total - good)):
        return False
    if x >= min(n, good):
        return True
    u = uniform(stream)
    # Bernstein's inequality holds without replacement too (Hoeffding, 1963, theorem 4). It can be
    # applied to the items drawn or to the items left; the smaller part gives the better bound.
    p = good / total
    mean = n * p
    half = 2 * n <= total
    variance = (n if half else total - n) * p * (1.0 - p)
    if x < mean:
        away = mean - x
        largest = p if half else 1.0 - p
        if u * _at_most_exp(0.5 * away * away / (variance + largest * away / 3.0)) >= 1.0:
            return False
    elif x + 1 > mean:
        away = x + 1 - mean
        largest = 1.0 - p if half else p
        if (1.0 - u) * _at_most_exp(0.5 * away * away / (variance + largest * away / 3.0)) > 1.0:
            return True
    # The number of good items has the law of a sum of independent Bernoulli variables (Vatutin &
    # Mikhailov, 1982). So the bound of Berry and Esseen holds: the normal approximation of F is
    # off by less than 0.56/σ (Shevtsova, 2010).
    deviation = math.sqrt(n * p * (1.0 - p) * ((total - n) / (total - 1.0)))
    normal = 0.5 * math.erfc((mean - x) / (deviation * _ROOT_2))
    if abs(u - normal) * deviation > 0.56:
        return u < normal
    return _below_hypergeometric(u, x, n, good, total)


@kernel
def _at_most_exp(y: float) -> float:
    """Return a lower bound of e^y for y ≥ 0 that is cheaper than e^y itself."""
    return 1.0 + y * (1.0 + y * (0.5 + y * (1.0 / 6.0)))


@routine
def _below_hypergeometric(u: float, x: int, n: int, good: int, total: int) -> bool:
    """Return whether u < F(x), adding terms of the nearer tail until the answer is certain."""
    # Floats, because products of four counts would overflow integers.
    size = float(n)
    goods = float(good)
    bads = float(total - good)
    if x * float(total) < size * goods:
        # F(x) = p(x) + p(x − 1) + …: the terms and their ratios decrease, so that a geometric
        # series bounds the rest.
        i = float(x)
        gap = u
        term = _hypergeometric(i, size, goods, bads)
        while True:
            gap -= term
            if gap < 0.0:
                return True
            ratio = i * (bads - size + i) / ((goods - i + 1.0) * (size - i + 1.0))
            term *= ratio
            if term <= gap * (1.0 - ratio):
                return False
            i -= 1.0
    i = float(x + 1)
    gap = 1.0 - u
    term = _hypergeometric(i, size, goods, bads)
    while True:
        gap -= term
        if gap <= 0.0:
            return False
        ratio = (goods - i) * (size - i) / ((i + 1.0) * (bads - size + i + 1.0))
        term *= ratio
        if term < gap * (1.0 - ratio):
            return True
        i += 1.0


@kernel
def _hypergeometric(x: float, n: float, good: float, bad: float) -> float:
    """Return the probability of `x`, in the form of Loader (2000), which keeps all digits."""
    total = good + bad
    rest = total - n
    p = good / total
    q = bad / total
    b, c = n - x, good - x
    d = bad - b
    deviance = (
        _deviance(x, n * p) + _deviance(b, n * q) + _deviance(c, rest * p) + _deviance(d, rest * q)
    )
    errors = (
        stirling_error(n)
        + stirling_error(rest)
        + stirling_error(good)
        + stirling_error(bad)
        - stirling_error(total)
        - stirling_error(x)
        - stirling_error(b)
        - stirling_error(c)
        - stirling_error(d)
    )
    above = _width(n) * _width(rest) * _width(good) * _width(bad)
    below = _width(total) * _width(x) * _width(b) * _width(c) * _width(d)
    return math.sqrt(above / below) * math.exp(errors - deviance)


@kernel
def _deviance(x: float, mean: float) -> float:
    """Return x log(x / mean), and 0 for x = 0."""
    return x * math.log(x / mean) if x > 0.0 else 0.0


@kernel
def _width(k: float) -> float:
    """Return 2πk, the square of a factor in Stirling's formula; 1 for k = 0."""
    return _TWO_PI * k if k > 0.0 else 1.0
