"""The balance function: how likely the best arm is to lose many duels in a row."""

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.kernels import divergences
from lastblock.support.checks import number, whole
from lastblock.theory.bounds import common_family
from lastblock.theory.kullback import divergence


def balance(best: Any, other: Any, m: float, j: int) -> float:
    """Return α(M, j), the probability that the best arm loses M independent duels in a row.

    That is the probability that M sums of j rewards of `other` all exceed the same sum of j rewards
    of `best`. With F₁ and F₂ the laws of these sums, α(M, j) = E[(1 − F₂(X))^M] for X of law F₁
    (Baransi, Maillard & Mannor, 2014).

    Parameters
    ----------
    best, other
        Two arms of one family: `Bernoulli`, `Gaussian` (with the same `std`), `Poisson` or
        `Exponential`.
    m
        M, the number of duels; it need not be whole.
    j
        The number of rewards in each sum.

    Returns
    -------
    float
        The probability.

    Raises
    ------
    ValueError
        If the arms are of other or different families, `m` is negative, or `j` is below 1.

    Examples
    --------
    >>> import lastblock as lb
    >>> balance(lb.Bernoulli(0.5), lb.Bernoulli(0.5), m=1, j=1)
    0.25
    """
    family, m, j = _duel(best, other, m, j)
    weights, below, above = _sums(family, best, other, j)
    # log(1 − F₂) comes from the smaller of F₂ and 1 − F₂, to keep its digits when M is large.
    with np.errstate(divide="ignore"):
        log_above = np.where(below < 0.5, np.log1p(-np.minimum(below, 0.5)), np.log(above))
        lost = np.exp(m * log_above) if m > 0.0 else np.ones_like(above)
    return min(math.fsum(weights * lost), 1.0)


def balance_bound(best: Any, other: Any, m: float, j: int, u: float | None = None) -> float:
    """Return the bound α(M, j) ≤ exp(−j kl(μ₂, μ₁)) u + (1 − u)^M on the balance function.

    Parameters
    ----------
    best, other, m, j
        As for `balance`; the mean μ₁ of `best` must exceed the mean μ₂ of `other`.
    u
        A number between 0 and the probability that a sum of j rewards of `other` is at most j
        times their mean. Default: the one that gives the smallest bound.

    Returns
    -------
    float
        The bound.

    Raises
    ------
    ValueError
        As for `balance`, and if `u` is out of range or `best` has no larger mean than `other`.
    """
    family, m, j = _duel(best, other, m, j)
    if not best.mean > other.mean:
        raise ValueError(f"{best!r} must have a larger mean than {other!r}")
    weight = math.exp(-j * divergence(family, other.mean, best.mean, getattr(best, "std", 1.0)))
    largest = _cdf_at_mean(family, other, j)
    if u is None:
        # The minimum is where weight = M (1 − u)^(M − 1) if that lies inside, else at an end; for
        # M ≤ 1 it is at an end.
        ends = [0.0, largest]
        if m > 1.0 and weight > 0.0:
            ends.append(min(max(-math.expm1(math.log(weight / m) / (m - 1.0)), 0.0), largest))
        return float(min(weight * end + (1.0 - end) ** m for end in ends))
    if not 0.0 <= u <= largest:
        raise ValueError(f"u={u} must lie between 0 and {largest}")
    return float(weight * u + (1.0 - u) ** m)


def _duel(best: Any, other: Any, m: float, j: int) -> tuple[int, float, int]:
    """Check the arguments of `balance`; return the arms' family, `m` and `j`."""
    m, j = number(m, "m"), whole(j, "j")
    if m < 0.0:
        raise ValueError(f"m={m} must not be negative")
    if j < 1:
        raise ValueError(f"j={j} must be at least 1 reward")
    family = common_family((best, other))
    if getattr(best, "std", 1.0) != getattr(other, "std", 1.0):
        raise ValueError(f"{best!r} and {other!r} must have the same standard deviation")
    return family, m, j


Array: TypeAlias = npt.NDArray[np.float64]
_STEP = 1.0 / 128.0


def _sums(family: int, best: Any, other: Any, j: int) -> tuple[Array, Array, Array]:
    """Return on a grid: the weights of F₁, the law of the best arm's sum, and F₂ and 1 − F₂."""
    if family == divergences.GAUSSIAN:
        # For such integrands the trapezoid rule is exact up to rounding.
        z = np.arange(-40.0, 40.0, _STEP)
        weights = np.exp(-0.5 * z * z) * (_STEP / math.sqrt(2.0 * math.pi))
        z = z + math.sqrt(j) * (best.mean - other.mean) / best.std
        return weights, _normal_cdf(z), _normal_cdf(-z)
    if family == divergences.EXPONENTIAL:
        y = np.arange(-45.0, math.log(j + 100.0) + 4.0, _STEP)
        x = np.exp(y)  # in units of the best arm's mean
        weights = np.exp(j * y - x - math.lgamma(j)) * _STEP
        return weights, *_gamma_cdf(j, x * (best.mean / other.mean))
    if family == divergences.BERNOULLI:
        weights, others = _binomial(j, best.mean), _binomial(j, other.mean)
    else:
        top = j * max(best.mean, other.mean)
        n = np.arange(math.ceil(top + 12.0 * math.sqrt(top) + 60.0))
        weights, others = _poisson(n, j * best.mean), _poisson(n, j * other.mean)
    beyond = np.cumsum(others[::-1])[::-1]  # P(sum ≥ n)
    return weights, np.cumsum(others), np.append(beyond[1:], 0.0)


def _cdf_at_mean(family: int, arm: Any, j: int) -> float:
    """Return the probability that the sum of `j` rewards is at most `j` times their mean."""
    if family == divergences.GAUSSIAN:
        return 0.5
    if family == divergences.EXPONENTIAL:
        return float(_gamma_cdf(j, np.array([float(j)]))[0][0])
    n = np.arange(math.floor(j * arm.mean * (1.0 + 1e-12)) + 1.0)
    if family == divergences.BERNOULLI:
        return min(math.fsum(_binomial(j, arm.mean)[: n.size]), 1.0)
    return min(math.fsum(_poisson(n, j * arm.mean)), 1.0)


def _normal_cdf(z: Array) -> Array:
    return np.array([0.5 * math.erfc(-x / math.sqrt(2.0)) for x in z])


def _binomial(n: int, p: float) -> Array:
    """Return the probabilities of 0, …, n successes in `n` trials."""
    if p in {0.0, 1.0}:
        return np.asarray(np.eye(n + 1)[round(n * p)])
    logs = [
        math.lgamma(n + 1.0)
        - math.lgamma(k + 1.0)
        - math.lgamma(n - k + 1.0)
        + k * math.log(p)
        + (n - k) * math.log1p(-p)
        for k in range(n + 1)
    ]
    return np.asarray(np.exp(np.array(logs)))


def _poisson(n: Array, mean: float) -> Array:
    """Return the Poisson probabilities of the counts `n`."""
    factorials = np.array([math.lgamma(k + 1.0) for k in n])
    return np.asarray(np.exp(n * math.log(mean) - mean - factorials))


def _gamma_cdf(j: int, x: Array) -> tuple[Array, Array]:
    """Return P(S ≤ x) and P(S > x) for the sum S of `j` standard exponentials.

    S > x means that a Poisson process has fewer than j events up to x.
    """
    above = np.zeros_like(x)
    for i in range(j):
        above += np.exp(i * np.log(x) - x - math.lgamma(i + 1.0))
    # Where P(S ≤ x) is the smaller one, compute it by its own series, so that it keeps its digits.
    small = np.minimum(x, float(j))
    term = np.exp(j * np.log(small) - small - math.lgamma(j + 1.0))
    below = np.zeros_like(x)
    i = j
    while np.any(term > 1e-17 * below):
        below += term
        i += 1
        term = term * small / i
    return np.where(x < j, below, 1.0 - above), above
