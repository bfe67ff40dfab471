"""Published formulas for the parameters of policies.

Each tuning is a function with keyword arguments only. It takes those that its formula needs:
`horizon` (T), `changes` (Γ, the number of changes), `arms` (K, the number of arms), `sigma` (σ, the
rewards' standard deviation) and `window` (w). It raises a `ValueError` if one is out of range.
"""

import math
from collections.abc import Callable
from typing import Final

from lastblock.support.checks import number, whole
from lastblock.support.spelling import advice


def garivier_window(*, horizon: int, changes: int) -> int:
    """Return τ = ⌊2√(T log T / Γ)⌋ of Garivier & Moulines (2011); the whole horizon if Γ = 0.

    >>> garivier_window(horizon=10_000, changes=2)
    429
    """
    return _window(horizon, changes, 2.0)


def garivier_discount(*, horizon: int, changes: int) -> float:
    """Return γ = 1 − ¼ √(Γ / T) of Garivier & Moulines (2011)."""
    return _discount(horizon, changes, 4.0)


def sigma_window(*, horizon: int, changes: int, sigma: float | None = None) -> int:
    """Return τ = ⌊2B √(T log T / Γ)⌋ of SW-UCB (Garivier & Moulines, 2011).

    B is the range of the rewards: 1 without `sigma`, for rewards in [0, 1], and 1 + 2σ with it, for
    unbounded rewards whose means lie in [0, 1].
    """
    return _window(horizon, changes, 2.0 * _range(sigma))


def sigma_discount(*, horizon: int, changes: int, sigma: float | None = None) -> float:
    """Return γ = 1 − √(Γ / T) / 4B of D-UCB (Garivier & Moulines, 2011); B as in `sigma_window`."""
    return _discount(horizon, changes, 4.0 * _range(sigma))


def cusum_threshold(*, horizon: int, changes: int) -> float:
    """Return h = log(T / Γ), the threshold of CUSUM-UCB (Liu, Lee & Shroff, 2018).

    Γ = 0 counts as 1.
    """
    horizon, changes = _check(horizon, changes)
    return math.log(horizon / max(changes, 1))


def cusum_exploration(*, horizon: int, changes: int) -> float:
    """Return α = √(Γ / T · log(T / Γ)), the share of random pulls of CUSUM-UCB.

    Γ = 0 counts as 1.
    """
    horizon, changes = _check(horizon, changes)
    share = max(changes, 1) / horizon
    return math.sqrt(share * -math.log(share))


def mucb_threshold(*, horizon: int, arms: int, window: int) -> float:
    """Return b = √(w / 2 · log(2 K T²)), the threshold of M-UCB (Cao et al., 2019)."""
    horizon, _ = _check(horizon)
    return math.sqrt(0.5 * whole(window, "window") * math.log(2.0 * _arms(arms) * horizon**2))


def mucb_exploration(*, horizon: int, changes: int, arms: int) -> float:
    """Return γ = min(1, √(Γ K log T / T)), the share of forced pulls of M-UCB.

    Γ = 0 counts as 1.
    """
    horizon, changes = _check(horizon, changes)
    return min(1.0, math.sqrt(max(changes, 1) * _arms(arms) * math.log(horizon) / horizon))


def exp3_exploration(*, horizon: int, arms: int) -> float:
    """Return γ = min(1, √(K log K / ((e − 1) T))) of EXP3 (Auer et al., 2002, corollary 3.2)."""
    horizon, _ = _check(horizon)
    arms = _arms(arms)
    return min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1.0) * horizon)))


def exp3s_exploration(*, horizon: int, changes: int, arms: int) -> float:
    """Return γ = min(1, √(K (e + (Γ + 1) log(K T)) / ((e − 1) T))) of EXP3.S (corollary 8.3)."""
    horizon, changes = _check(horizon, changes)
    arms = _arms(arms)
    drift = math.e + (changes + 1) * math.log(arms * horizon)
    return min(1.0, math.sqrt(arms * drift / ((math.e - 1.0) * horizon)))


def exp3s_sharing(*, horizon: int) -> float:
    """Return α = 1 / T, the share of the total weight that EXP3.S gives to every arm."""
    return 1.0 / _check(horizon)[0]


def rexp3_batch(*, horizon: int, changes: int, arms: int, variation: float | None = None) -> int:
    """Return Δ = ⌈(K log K)^⅓ (T / V)^⅔⌉, the batch of Rexp3 (Besbes et al., 2014); at most T.

    V is `variation`, or `changes` if that is None; for V = 0 the batch is T.
    """
    horizon, changes = _check(horizon, changes)
    arms = _arms(arms)
    budget = float(changes) if variation is None else number(variation, "variation")
    if budget < 0.0:
        raise ValueError(f"variation={budget} must not be negative")
    # The paper requires V between 1/K and T/K; for less, one batch is the whole horizon.
    if budget == 0.0:
        return horizon
    size: float = (arms * math.log(arms)) ** (1 / 3) * (horizon / budget) ** (2 / 3)
    return math.ceil(min(horizon, size))


def glr_growing_exploration(*, horizon: int) -> float:
    """Return √(log T / T): GLR-kl-UCB forces this share of pulls times √(k K) after k − 1 alarms.

    This is the tuning of Besson, Kaufmann, Maillard & Seznec (2022), which knows no Γ.
    """
    horizon, _ = _check(horizon)
    return math.sqrt(math.log(horizon) / horizon)


def glr_growing_confidence(*, horizon: int) -> float:
    """Return δ = 1 / √T, with which GLR-kl-UCB need not know Γ (Besson et al., 2022)."""
    return 1.0 / math.sqrt(_check(horizon)[0])


def glr_exploration(*, horizon: int, changes: int, arms: int, local: bool = True) -> float:
    """Return α = √(K Γ log T / T), the share of forced pulls of GLR-kl-UCB.

    Without `local` (global restarts) the formula has no K. Γ = 0 counts as 1.
    """
    horizon, changes = _check(horizon, changes)
    share = max(changes, 1) * (_arms(arms) if local else 1) / horizon
    return math.sqrt(share * math.log(horizon))


def glr_confidence(*, horizon: int, changes: int, arms: int, local: bool = True) -> float:
    """Return δ = 1 / √(K Γ T), the probability of a false alarm of GLR-kl-UCB.

    Without `local` (global restarts) the formula has no K. Γ = 0 counts as 1.
    """
    horizon, changes = _check(horizon, changes)
    return 1.0 / math.sqrt(max(changes, 1) * (_arms(arms) if local else 1) * horizon)


class _Tunings(dict[str, Callable[..., float]]):
    def __missing__(self, name: object) -> Callable[..., float]:
        raise KeyError(f"{name!r} is not a tuning; {advice(str(name), self)}")


TUNINGS: Final[dict[str, Callable[..., float]]] = _Tunings(
    {
        "garivier": garivier_window,
        "garivier-discount": garivier_discount,
        "sw-ucb-window": sigma_window,
        "d-ucb-discount": sigma_discount,
        "cusum-threshold": cusum_threshold,
        "cusum-exploration": cusum_exploration,
        "m-ucb-threshold": mucb_threshold,
        "m-ucb-exploration": mucb_exploration,
        "exp3-exploration": exp3_exploration,
        "exp3s-exploration": exp3s_exploration,
        "exp3s-sharing": exp3s_sharing,
        "rexp3-batch": rexp3_batch,
        "glr-growing-exploration": glr_growing_exploration,
        "glr-growing-confidence": glr_growing_confidence,
        "glr-exploration": glr_exploration,
        "glr-confidence": glr_confidence,
    }
)
"""The published tunings by the names that scenario files use. Each is a function of keywords.

>>> TUNINGS["garivier"](horizon=10_000, changes=3)
350
"""


def _check(horizon: int, changes: int = 0) -> tuple[int, int]:
    """Return both as whole numbers, or raise a ValueError if one is out of range."""
    horizon, changes = whole(horizon, "horizon"), whole(changes, "changes")
    if horizon < 2:
        raise ValueError(f"horizon={horizon} must be at least 2 steps")
    if not 0 <= changes < horizon:
        raise ValueError(f"changes={changes} must be at least 0 and below the horizon {horizon}")
    return horizon, changes


def _arms(arms: int) -> int:
    arms = whole(arms, "arms")
    if arms < 2:
        raise ValueError(f"arms={arms} must be at least 2")
    return arms


def _range(sigma: float | None) -> float:
    """Return 1 + 2σ: the paper takes it as the range of rewards that are not bounded."""
    if sigma is None:
        return 1.0
    sigma = number(sigma, "sigma")
    if sigma <= 0.0:
        raise ValueError(f"sigma={sigma} must be positive")
    return 1.0 + 2.0 * sigma


def _window(horizon: int, changes: int, factor: float) -> int:
    horizon, changes = _check(horizon, changes)
    if changes == 0:
        return horizon
    return max(2, math.floor(factor * math.sqrt(horizon * math.log(horizon) / changes)))


def _discount(horizon: int, changes: int, divisor: float) -> float:
    horizon, changes = _check(horizon, changes)
    return 1.0 - math.sqrt(changes / horizon) / divisor
