"""Confidence intervals for means, differences of means, and ratios of means."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Sample = npt.NDArray[np.floating[Any]]


class Interval(NamedTuple):
    """An estimate with its confidence interval and p-value.

    All but `value` are NaN if there is only one observation.
    """

    value: float
    """The estimate."""
    se: float
    """Its standard error."""
    low: float
    """The lower end of its confidence interval."""
    high: float
    """The upper end."""
    p: float
    """The two-sided p-value for a true value of 0 (of 1, for a ratio)."""


def mean_of(x: Sample, confidence: float) -> Interval:
    """Return the mean of a sample, with its interval."""
    return _estimate((x,), (1.0,), confidence)


def paired_difference(a: Sample, b: Sample, confidence: float) -> Interval:
    """Return mean(a) − mean(b) with its interval, where a[i] and b[i] met the same draws."""
    return mean_of(a - b, confidence)


def welch_difference(a: Sample, b: Sample, confidence: float) -> Interval:
    """Return mean(a) − mean(b) with its interval, for independent samples of any variances."""
    return _estimate((a, b), (1.0, -1.0), confidence)


def paired_ratio(a: Sample, b: Sample, confidence: float) -> Interval:
    """Return mean(a) / mean(b) with its interval, by the delta method.

    Here a[i] and b[i] met the same draws, and p is for a true ratio of 1.
    """
    below = float(b.mean())
    if below == 0.0:
        return Interval(np.nan, np.nan, np.nan, np.nan, np.nan)
    ratio = float(a.mean()) / below
    # These terms have mean 0, and the standard error of their mean is that of the ratio.
    _, se, low, high, _ = mean_of((a - ratio * b) / below, confidence)
    p = _p_value(ratio - 1.0, se, a.size - 1.0)
    return Interval(ratio, se, ratio + low, ratio + high, p)


def holm(p: npt.ArrayLike) -> Sample:
    """Return the p-values adjusted for their number (Holm, 1979); NaN stays NaN, uncounted."""
    values = np.asarray(p, dtype=np.float64)
    adjusted = np.full(values.size, np.nan)
    order = [i for i in np.argsort(values) if not np.isnan(values[i])]  # NaNs are sorted last
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * values[i]))
        adjusted[i] = largest
    return adjusted


def _estimate(samples: Sequence[Sample], signs: Sequence[float], confidence: float) -> Interval:
    """Return the sum of the samples' means, with these signs, and Student's interval of it."""
    value = float(sum(sign * x.mean() for sign, x in zip(signs, samples, strict=True)))
    if min(x.size for x in samples) < 2:
        return Interval(value, np.nan, np.nan, np.nan, np.nan)
    parts = [float(x.var(ddof=1)) / x.size for x in samples]
    se = float(np.sqrt(sum(parts)))
    freedom = float(samples[0].size - 1)
    if len(samples) > 1 and se > 0.0:  # Welch & Satterthwaite
        pairs = zip(parts, samples, strict=True)
        freedom = sum(parts) ** 2 / sum(part**2 / (x.size - 1) for part, x in pairs)
    half = _t_quantile(0.5 + confidence / 2, freedom) * se
    return Interval(value, se, value - half, value + half, _p_value(value, se, freedom))


def _t_quantile(q: float, freedom: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415  # optional, and slow to import

    return float(stdtrit(freedom, q))


def _p_value(value: float, se: float, freedom: float) -> float:
    """Return Student's two-sided p-value for a true value of 0."""
    from scipy.special import stdtr  # noqa: PLC0415  # optional, and slow to import

    if np.isnan(se):
        return np.nan
    if se == 0.0:
        return 1.0 if value == 0.0 else 0.0
    return float(2.0 * stdtr(freedom, -abs(value) / se))
