"""Confidence intervals that need only numpy: by the normal law, and by empirical likelihood."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lastblock.support.checks import number

Floats = npt.NDArray[np.float64]

_STEPS = 200
_CLOSE = 1e-7


def check_confidence(confidence: float) -> float:
    """Return the confidence as a number.

    Raises
    ------
    ValueError
        If it is not a number between 0 and 1.
    """
    confidence = number(confidence, "confidence")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence} must lie between 0 and 1, such as 0.95")
    return confidence


def normal_reach(confidence: float) -> float:
    """Return how many standard errors a normal interval extends to either side."""
    from statistics import NormalDist  # noqa: PLC0415  # slow to import

    return NormalDist().inv_cdf(0.5 + check_confidence(confidence) / 2.0)


def normal_interval(value: float, error: float, confidence: float) -> tuple[float, float]:
    """Return the two ends of the interval value ± z · error, by the normal law."""
    reach = normal_reach(confidence) * error
    return value - reach, value + reach


def student_reach(confidence: float, freedom: float) -> float:
    """Return how many standard errors an interval by Student's t extends to either side.

    It is an approximation (Gaver & Kafadar. A retrievable recipe for inverse t. The American
    Statistician, 1984), within 0.3 % from 5 degrees of freedom on, within 3 % from 3 on. Fewer than
    3 degrees of freedom count as 3.
    """
    freedom = max(3.0, freedom)
    bent = normal_reach(confidence) ** 2 * (freedom - 1.5) / (freedom - 1.0) ** 2
    return math.sqrt(freedom * math.expm1(bent))


def ratio_interval(
    above: Floats, below: Floats, counts: Floats, confidence: float, freedom: float
) -> tuple[float, float]:
    """Return an interval for E[above] / E[below], by empirical likelihood (Owen, 1988).

    It follows the skewness of the sample, and stays between its smallest and largest ratio. We take
    the law of the likelihood ratio as that of a squared t variable, not a squared normal one.

    Parameters
    ----------
    above, below
        The two parts of each observation; none of `below` is negative, and not all of them are 0.
    counts
        How often each was observed.
    confidence
        The share of such intervals that contain the true ratio.
    freedom
        The degrees of freedom of that t variable: about the effective number of observations.

    Returns
    -------
    tuple of float
        The lower and the upper end.
    """
    matter = (below > 0.0) | (above != 0.0)
    above, below, counts = above[matter], below[matter], counts[matter]
    centre = float((counts * above).sum() / (counts * below).sum())
    ratios = above[below > 0.0] / below[below > 0.0]
    goal = student_reach(confidence, freedom)

    def distance(ratio: float) -> float:
        """Return the distance of a ratio from the centre, roughly in standard errors."""
        return math.sqrt(max(0.0, log_likelihood_ratio(above - ratio * below, counts)))

    error = math.sqrt(float((counts * (above - centre * below) ** 2).sum()))
    guess = 1.2 * goal * error / float((counts * below).sum())
    low, high = float(ratios.min()), float(ratios.max())
    return (
        _reach(distance, centre, low, centre - guess, goal),
        _reach(distance, centre, high, centre + guess, goal),
    )


def log_likelihood_ratio(values: Floats, counts: Floats) -> float:
    """Return −2 log of the empirical likelihood ratio for a mean of 0.

    It is infinite if all values lie on one side of 0.
    """
    low, high = float(values.min()), float(values.max())
    if low >= 0.0 or high <= 0.0:
        return 0.0 if low == high == 0.0 else math.inf
    n = float(counts.sum())
    # These bounds of λ keep each weight 1 / (n (1 + λ value)) below 1.
    left, right = (1.0 / n - 1.0) / high, (1.0 / n - 1.0) / low
    tilt = 0.0
    for _ in range(_STEPS):  # Newton's method, between bounds
        shares = values / (1.0 + tilt * values)
        parts = counts * shares
        slope = float(parts.sum())
        if abs(slope) <= 1e-10 * float(np.abs(parts).sum()):
            break
        if slope > 0.0:
            left = tilt
        else:
            right = tilt
        step = tilt + slope / float((parts * shares).sum())
        tilt = step if left < step < right else 0.5 * (left + right)
    return 2.0 * float((counts * np.log1p(tilt * values)).sum())


def _reach(
    distance: Callable[[float], float], inside: float, outside: float, guess: float, goal: float
) -> float:
    """Return where the distance is `goal`; it grows from 0 at `inside` to ∞ at `outside`."""
    if inside == outside:
        return inside
    near, far = 0.0, math.inf
    place = guess if min(inside, outside) < guess < max(inside, outside) else math.nan
    for i in range(_STEPS):
        if math.isnan(place):
            straight = (goal - near) / (far - near)
            share = 0.5 if math.isinf(far) or i % 3 == 0 else min(max(straight, 0.01), 0.99)
            place = inside + share * (outside - inside)
        found = distance(place)
        if abs(found - goal) <= _CLOSE * goal or place in (inside, outside):
            return place
        if found <= goal:
            inside, near = place, found
        else:
            outside, far = place, found
        place = math.nan
    return inside
