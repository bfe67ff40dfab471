"""What theory says: divergences, lower bounds on the regret, tunings, the balance function.

>>> import lastblock as lb
>>> env = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
>>> round(lb.theory.lai_robbins(env), 3)
1.971
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock import divergences
from lastblock.jit import entry
from lastblock.models import Family
from lastblock.protocol import choice, number, whole
from lastblock.tunings import garivier_window

# Divergences ------------------------------------------------------------------------------------


@entry
def _divergence(family: int, p: float, q: float, sigma: float) -> float:
    return divergences.divergence(family, p, q, sigma)


@entry
def _upper(family: int, p: float, level: float, sigma: float) -> float:
    return divergences.upper(family, p, level, sigma)


@entry
def _lower(family: int, p: float, level: float, sigma: float) -> float:
    return divergences.lower(family, p, level, sigma)


def kl(p: float, q: float, family: str | Family = "bernoulli", *, sigma: float = 1.0) -> float:
    """The Kullback–Leibler divergence from mean p to mean q within a family; it may be infinite.

    `family` is "bernoulli", "gaussian" (with its `sigma`), "poisson" or "exponential".

    >>> round(kl(0.05, 0.15), 6)
    0.050734
    """
    code = _family(family, sigma)
    return float(_divergence(code, _mean(code, p, "p"), _mean(code, q, "q"), float(sigma)))


def kl_upper(
    p: float, level: float, family: str | Family = "bernoulli", *, sigma: float = 1.0
) -> float:
    """The largest mean q with kl(p, q) ≤ level: kl-UCB's index for level = log t / N.

    >>> kl_upper(0.0, 2.0, "gaussian", sigma=0.5)
    1.0
    """
    code = _family(family, sigma)
    return float(_upper(code, _mean(code, p, "p"), _level(level), float(sigma)))


def kl_lower(
    p: float, level: float, family: str | Family = "bernoulli", *, sigma: float = 1.0
) -> float:
    """The smallest mean q with kl(p, q) ≤ level.

    >>> kl_lower(0.0, 2.0, "gaussian", sigma=0.5)
    -1.0
    """
    code = _family(family, sigma)
    return float(_lower(code, _mean(code, p, "p"), _level(level), float(sigma)))


def _family(family: str | Family, sigma: float) -> int:
    if number(sigma, "sigma") <= 0.0:
        raise ValueError(f"sigma={sigma} must be positive")
    return int(choice(Family, family, "family"))


def _mean(family: int, mean: float, name: str) -> float:
    mean = number(mean, name)
    if divergences.inside(family, mean) != mean:
        words = "lie in [0, 1]" if family == divergences.BERNOULLI else "not be negative"
        raise ValueError(f"{name}={mean} must {words} for family={Family(family)!r}")
    return mean


def _level(level: float) -> float:
    level = float(level)
    if not level >= 0.0:
        raise ValueError(f"level={level} must not be negative")
    return level


# Lower bounds -----------------------------------------------------------------------------------


def lai_robbins(environment: Any) -> float:
    """The constant of Lai & Robbins (1985): no good policy's regret grows slower than C log t.

    C is the sum over the worse arms of Δ_k / kl(μ_k, μ*), within the one family of all arms; each
    Gaussian arm has its own, known standard deviation.
    """
    phases = getattr(environment, "phases", None)
    if phases is None or count_changes(environment) > 0:
        raise ValueError(
            f"lai_robbins: {environment!r} changes over time; the bound is for arms that never do"
        )
    family = _common_family(phases[0])
    best = max(arm.mean for arm in phases[0])
    return math.fsum(
        (best - arm.mean) / _divergence(family, arm.mean, best, getattr(arm, "std", 1.0))
        for arm in phases[0]
        if arm.mean < best
    )


def lower_bound(environment: Any, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The curve C log t at the given times, with the constant of `lai_robbins`."""
    t = np.asarray(times, dtype=np.float64)
    if t.size > 0 and not t.min() >= 1.0:
        raise ValueError(f"times: {t.min()} must be at least 1")
    return lai_robbins(environment) * np.log(t)


def count_changes(environment: Any) -> int:
    """Γ, the number of times at which some arm of a piecewise environment changes.

    >>> import lastblock as lb
    >>> a, b = [lb.Bernoulli(0.5), lb.Bernoulli(0.3)], [lb.Bernoulli(0.3), lb.Bernoulli(0.5)]
    >>> count_changes(lb.Piecewise({0: a, 100: a, 200: b}))
    1
    """
    phases = getattr(environment, "phases", None)
    if phases is None:
        raise ValueError(
            f"count_changes: {environment!r} has no phases; it changes at every step or at unknown "
            "times, so give the number of changes yourself"
        )
    return sum(before != after for before, after in pairwise(phases))


def _common_family(arms: Any) -> int:
    names = sorted({type(arm).__name__ for arm in arms})
    known = {member.name.capitalize(): int(member) for member in Family}
    if len(names) > 1:
        raise ValueError(f"arms of several families ({', '.join(names)}); they must share one")
    if names[0] not in known:
        raise ValueError(f"{names[0]} arms: the family must be one of {', '.join(known)}")
    return known[names[0]]


# Tunings ----------------------------------------------------------------------------------------
# Each takes what it needs of: horizon T, changes Γ, arms K, standard deviation σ, window w.


def _tuned_for(*, horizon: int, changes: int = 0) -> tuple[int, int]:
    horizon, changes = whole(horizon, "horizon"), whole(changes, "changes")
    if horizon < 2:
        raise ValueError(f"horizon={horizon} must be at least 2 steps")
    if not 0 <= changes < horizon:
        raise ValueError(f"changes={changes} must lie between 0 and the horizon {horizon}")
    return horizon, changes


def garivier_discount(*, horizon: int, changes: int) -> float:
    """γ = 1 − ¼ √(Γ / T), the discount of Garivier & Moulines (2011)."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    return 1.0 - 0.25 * math.sqrt(changes / horizon)


def sigma_window(*, horizon: int, changes: int, sigma: float) -> int:
    """τ = ⌊2 (1 + 2σ) √(T log T / Γ)⌋, for SW-UCB on rewards that are not bounded."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    if changes == 0:
        return horizon
    return math.floor(2.0 * (1.0 + 2.0 * sigma) * math.sqrt(horizon * math.log(horizon) / changes))


def sigma_discount(*, horizon: int, changes: int, sigma: float) -> float:
    """γ = 1 − √(Γ / T) / (4 (1 + 2σ)), for D-UCB on rewards that are not bounded."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    return 1.0 - math.sqrt(changes / horizon) / (4.0 * (1.0 + 2.0 * sigma))


def cusum_threshold(*, horizon: int, changes: int) -> float:
    """h = log(T / Γ), the threshold of CUSUM-UCB (Liu, Lee & Shroff, 2018)."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    return math.log(horizon / max(changes, 1))


def cusum_exploration(*, horizon: int, changes: int) -> float:
    """α = √(Γ / T · log(T / Γ)), the share of random pulls of CUSUM-UCB."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    share = max(changes, 1) / horizon
    return math.sqrt(share * -math.log(share))


def mucb_threshold(*, horizon: int, arms: int, window: int) -> float:
    """b = √(w / 2 · log(2 K T²)), the threshold of M-UCB (Cao et al., 2019)."""
    horizon, _ = _tuned_for(horizon=horizon)
    return math.sqrt(0.5 * window * math.log(2.0 * arms * horizon**2))


def mucb_exploration(*, horizon: int, changes: int, arms: int) -> float:
    """γ = √(Γ K log T / T), the share of forced pulls of M-UCB."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    return math.sqrt(changes * arms * math.log(horizon) / horizon)


def exp3s_exploration(*, horizon: int, changes: int, arms: int) -> float:
    """γ = min(1, √(K (e + (Γ + 1) log(K T)) / ((e − 1) T))) of EXP3.S (Auer et al., 2002)."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    drift = math.e + (changes + 1) * math.log(arms * horizon)
    return min(1.0, math.sqrt(arms * drift / ((math.e - 1.0) * horizon)))


def exp3s_sharing(*, horizon: int) -> float:
    """α = 1 / T, the share of the total weight that EXP3.S gives to every arm."""
    return 1.0 / _tuned_for(horizon=horizon)[0]


def glr_exploration(*, horizon: int, changes: int, arms: int, local: bool = True) -> float:
    """α = √(K Γ log T / T), without K for global restarts: forced pulls of GLR-kl-UCB."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    share = max(changes, 1) * (arms if local else 1) / horizon
    return math.sqrt(share * math.log(horizon))


def glr_confidence(*, horizon: int, changes: int, arms: int, local: bool = True) -> float:
    """δ = 1 / √(K Γ T), without K for global restarts: the false alarms of GLR-kl-UCB."""
    horizon, changes = _tuned_for(horizon=horizon, changes=changes)
    return 1.0 / math.sqrt(max(changes, 1) * (arms if local else 1) * horizon)


TUNINGS: Final[dict[str, Callable[..., float]]] = {
    "garivier": garivier_window,
    "garivier-discount": garivier_discount,
    "sw-ucb-window": sigma_window,
    "d-ucb-discount": sigma_discount,
    "cusum-threshold": cusum_threshold,
    "cusum-exploration": cusum_exploration,
    "m-ucb-threshold": mucb_threshold,
    "m-ucb-exploration": mucb_exploration,
    "exp3s-exploration": exp3s_exploration,
    "exp3s-sharing": exp3s_sharing,
    "glr-exploration": glr_exploration,
    "glr-confidence": glr_confidence,
}
"""The published tunings, by name; each is a function of keyword arguments.

>>> TUNINGS["garivier"](horizon=10_000, changes=3)
350
"""

# The balance function ---------------------------------------------------------------------------


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
    weight = math.exp(-j * _divergence(family, other.mean, best.mean, getattr(best, "std", 1.0)))
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
    family = _common_family((best, other))
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
