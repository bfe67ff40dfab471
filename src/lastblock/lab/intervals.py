"""Confidence intervals for means, differences of means, and ratios of means."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lastblock.support.intervals import check_confidence

Sample = npt.NDArray[np.floating[Any]]

Method: TypeAlias = Literal["normal", "bootstrap"]
METHODS = get_args(Method)
RESAMPLES = 4000
_SEED = 1
_DRAWS_AT_ONCE = 1 << 21


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


def check_method(confidence: float, method: Method) -> float:
    """Return the confidence as a float; raise a ValueError if it or the method is wrong."""
    confidence = check_confidence(confidence)
    if method not in METHODS:
        raise ValueError(f"method={method!r} must be one of {', '.join(METHODS)}")
    return confidence


def mean_of(x: Sample, confidence: float, method: Method = "normal") -> Interval:
    """Return the mean of a sample, with its interval."""
    return _estimate((x,), (1.0,), confidence, method)


def paired_difference(
    a: Sample, b: Sample, confidence: float, method: Method = "normal"
) -> Interval:
    """Return mean(a) − mean(b) with its interval, where a[i] and b[i] met the same draws."""
    return mean_of(a - b, confidence, method)


def welch_difference(
    a: Sample, b: Sample, confidence: float, method: Method = "normal"
) -> Interval:
    """Return mean(a) − mean(b) with its interval, for independent samples of any variances."""
    return _estimate((a, b), (1.0, -1.0), confidence, method)


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


def resample(
    statistic: Callable[[npt.NDArray[np.int64]], Sample],
    size: int,
    resamples: int = RESAMPLES,
    seed: int = _SEED,
) -> Sample:
    """Return a statistic of each of many rows of indices, drawn with replacement from range(size).

    Every call with the same arguments draws the same rows. `statistic` gets them in blocks, so that
    memory does not grow with their number, and returns one value, or one row of values, per row.
    """
    stream = np.random.Generator(np.random.PCG64(seed))
    rows = max(1, _DRAWS_AT_ONCE // size)
    blocks = (min(rows, resamples - i) for i in range(0, resamples, rows))
    return np.concatenate([statistic(stream.integers(size, size=(n, size))) for n in blocks])


def _estimate(
    samples: Sequence[Sample], signs: Sequence[float], confidence: float, method: Method
) -> Interval:
    """Return the sum of the samples' means, with these signs, and its interval."""
    value = float(sum(sign * x.mean() for sign, x in zip(signs, samples, strict=True)))
    if min(x.size for x in samples) < 2:
        return Interval(value, np.nan, np.nan, np.nan, np.nan)
    parts = [float(x.var(ddof=1)) / x.size for x in samples]
    se = float(np.sqrt(sum(parts)))
    freedom = float(samples[0].size - 1)
    if len(samples) > 1 and se > 0.0:  # Welch & Satterthwaite
        pairs = zip(parts, samples, strict=True)
        freedom = sum(parts) ** 2 / sum(part**2 / (x.size - 1) for part, x in pairs)
    if method == "bootstrap":
        low, high = _bca(samples, signs, value, confidence)
    else:
        half = _t_quantile(0.5 + confidence / 2, freedom) * se
        low, high = value - half, value + half
    return Interval(value, se, low, high, _p_value(value, se, freedom))


def _bca(
    samples: Sequence[Sample], signs: Sequence[float], value: float, confidence: float
) -> tuple[float, float]:
    """Return the bootstrap interval that corrects for bias and skewness (BCa; Efron, 1987)."""
    from scipy.special import ndtr, ndtri  # an optional dependency  # noqa: PLC0415

    drawn: Any = 0.0
    cubes = squares = 0.0
    for i, (sign, x) in enumerate(zip(signs, samples, strict=True)):
        # Independent samples need independent resamples, hence a seed for each.
        means = resample(partial(_row_means, x), x.size, seed=_SEED + i)
        drawn = drawn + sign * means
        influence = sign * (x - x.mean()) / x.size
        cubes += float((influence**3).sum())
        squares += float((influence**2).sum())
    below = ((drawn < value).mean() + (drawn <= value).mean()) / 2
    bias = ndtri(np.clip(below, 1.0 / drawn.size, 1.0 - 1.0 / drawn.size))
    acceleration = cubes / (6.0 * squares**1.5) if squares > 0.0 else 0.0
    z = bias + ndtri(np.array([0.5 - confidence / 2, 0.5 + confidence / 2]))
    low, high = np.quantile(drawn, ndtr(bias + z / (1.0 - acceleration * z)))
    return float(low), float(high)


def _row_means(x: Sample, rows: npt.NDArray[np.int64]) -> Sample:
    return np.asarray(x[rows].mean(axis=1))


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
