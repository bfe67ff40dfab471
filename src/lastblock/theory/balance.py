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
    """α(M, j): the probability that M sums of j rewards of `other` all exceed one of `best`.

    With F₁ and F₂ the laws of these sums it is E[(1 − F₂(X))^M] for X of law F₁ (Baransi, Maillard
    & Mannor, 2014): the chance that the best arm loses M independent duels in a row.

    >>> import lastblock as lb
    >>> balance(lb.Bernoulli(0.5), lb.Bernoulli(0.5), m=1, j=1)
    0.25
    """
    family, m, j = _duel(best, other, m, j)
    weights, below, above = _sums(family, best, other, j)
    # log(1 − F₂) from whichever of F₂ and 1 − F₂ is small: M may be large.
    with np.errstate(divide="ignore"):
        log_above = np.where(below < 0.5, np.log1p(-np.minimum(below, 0.5)), np.log(above))
        lost = np.exp(m * log_above) if m > 0.0 else np.ones_like(above)
    return min(math.fsum(weights * lost), 1.0)


def balance_bound(best: Any, other: Any, m: float, j: int, u: float | None = None) -> float:
    """The bound α(M, j) ≤ exp(−j kl(μ₂, μ₁)) u + (1 − u)^M, for arms of one family, μ₁ > μ₂.

    It holds for every u between 0 and the probability that a sum of the other arm is at most its
    mean; without a `u` the best one is taken.
    """
    family, m, j = _duel(best, other, m, j)
    if not best.mean > other.mean:
        raise ValueError(f"{best!r} must have a larger mean than {other!r}")
    weight = math.exp(-j * divergence(family, other.mean, best.mean, getattr(best, "std", 1.0)))
    largest = _cdf_at_mean(family, other, j)
    if u is None:
        # Where weight = M (1 − u)^(M − 1), unless that lies outside; for M ≤ 1 an end is best.
        ends = [0.0, largest]
        if m > 1.0 and weight > 0.0:
            ends.append(min(max(-math.expm1(math.log(weight / m) / (m - 1.0)), 0.0), largest))
        return float(min(weight * end + (1.0 - end) ** m for end in ends))
    if not 0.0 <= u <= largest:
        raise ValueError(f"u={u} must lie between 0 and {largest}")
    return float(weight * u + (1.0 - u) ** m)


def _duel(best: Any, other: Any, m: float, j: int) -> tuple[int, float, int]:
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
    """On a grid: the weights of the law of the best arm's sum, and F₂ and 1 − F₂ of the other's."""
    if family == divergences.GAUSSIAN:
        # The trapezoid rule is exact to rounding for such integrands.
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
    """The probability that the sum of j rewards is at most j times their mean."""
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
    """The probabilities of 0 … n successes."""
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
    """The probabilities of the counts n."""
    factorials = np.array([math.lgamma(k + 1.0) for k in n])
    return np.asarray(np.exp(n * math.log(mean) - mean - factorials))


def _gamma_cdf(j: int, x: Array) -> tuple[Array, Array]:
    """P(S ≤ x) and P(S > x) of the sum S of j standard exponentials: a Poisson process's counts."""
    above = np.zeros_like(x)
    for i in range(j):
        above += np.exp(i * np.log(x) - x - math.lgamma(i + 1.0))
    # The other side by its own series where it is the small one, so that it keeps its digits.
    small = np.minimum(x, float(j))
    term = np.exp(j * np.log(small) - small - math.lgamma(j + 1.0))
    below = np.zeros_like(x)
    i = j
    while np.any(term > 1e-17 * below):
        below += term
        i += 1
        term = term * small / i
    return np.where(x < j, below, 1.0 - above), above
