"""A comparison that heavy tails do not blind: how often does a policy have less regret?

A few replications with enormous regret may hide a difference between means: they enter the mean,
and even more its standard error. Ranks do not know by how much a replication was worse. The
quantity here is the probability that a policy has less regret than another one, in two replications
that have nothing to do with each other; ties count half. Its error is that of Brunner & Munzel
(2000), or for policies that met the same draws that of Munzel (1999), which also Konietschke &
Pauly (2012) use: both allow unlike variances and any shape.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lastblock.lab.entries import compared
from lastblock.lab.intervals import Interval, Sample, paired_difference, welch_difference
from lastblock.support.intervals import student_reach

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result


def wins(
    results: "Result | Sequence[Result]", baseline: str | None = None, confidence: float = 0.95
) -> "pd.DataFrame":
    """Return a table of how often every policy has less regret than a baseline.

    Unlike `differences`, this does not depend on how large the largest regrets are, so a few bad
    replications do not hide what all others show. It answers another question than means do: a
    policy that mostly has less regret, but sometimes very much, may win often and have the larger
    mean.

    Parameters
    ----------
    results, baseline, confidence
        As for `differences`. Without a baseline it is the policy with the smallest mean.

    Returns
    -------
    pandas.DataFrame
        The columns are policy, baseline, wins (the probability that the policy has less regret than
        the baseline, in independent replications; ties count half), se, the bounds `low` and `high`
        of its confidence interval, p (for a probability of one half), significant, needed, paired
        and adjusted. The last five are as for `differences`.

    Raises
    ------
    ResultError
        If there are no results, or they differ in environment or horizon.
    ValueError
        If `baseline` or `confidence` is wrong.
    """
    return compared(results, baseline, confidence, win_probability, "wins", null=0.5)


def win_probability(a: Sample, b: Sample, confidence: float, paired: bool) -> Interval:
    """Return the probability that a value of `a` is smaller than one of `b`, with its interval.

    Parameters
    ----------
    a, b
        Two samples. Ties count half.
    confidence
        The confidence of the interval, which ends at 0 and 1.
    paired
        Whether a[i] and b[i] met the same draws, and the samples are as long as each other.

    Returns
    -------
    Interval
        The probability; p is for a true value of one half.
    """
    above, below = placements(a, b), placements(b, a)  # of each b among a, and of each a among b
    value = float(above.mean())
    difference = paired_difference if paired else welch_difference
    # By Hájek's projection the error of `value` is that of the mean of `above` − `below`.
    se = difference(above, below, confidence).se
    if math.isnan(se):
        return Interval(value, *([math.nan] * 4))
    surest = _surest(a.size, b.size, paired)
    freedom = _freedom(above, below, paired)
    if se == 0.0:  # all of one sample lie below all of the other, or all are equal
        if value == 0.5:
            return Interval(0.5, 0.0, 0.5, 0.5, 1.0)
        far = 1.0 - ((1.0 - confidence) / 2.0) ** (1.0 / min(a.size, b.size))
        low, high = (1.0 - far, 1.0) if value > 0.5 else (0.0, far)
        return Interval(value, 0.0, low, high, surest)
    p = max(surest, _p_value((value - 0.5) / se, freedom))
    # On the scale of log odds the interval stays within 0 and 1.
    odds = math.log(value / (1.0 - value))
    reach = student_reach(confidence, freedom) * se / (value * (1.0 - value))
    low, high = (1.0 / (1.0 + math.exp(-max(-700.0, odds + s * reach))) for s in (-1.0, 1.0))
    return Interval(value, se, low, high, p)


def placements(sample: Sample, points: Sample) -> Sample:
    """Return for each point the share of the sample that lies below it; ties count half."""
    ordered = np.sort(sample)
    below = np.searchsorted(ordered, points, side="left")
    up_to = np.searchsorted(ordered, points, side="right")
    return np.asarray((below + up_to) / (2.0 * sample.size))


def _surest(n: int, m: int, paired: bool) -> float:
    """Return the smallest p-value that so few replications can give: that of a permutation test."""
    ways = n * math.log(2.0) if paired else -math.lgamma(n + 1) - math.lgamma(m + 1)
    ways += 0.0 if paired else math.lgamma(n + m + 1)
    return min(1.0, 2.0 * math.exp(-min(ways, 700.0)))


def _freedom(x: Sample, y: Sample, paired: bool) -> float:
    """Return the degrees of freedom of the error, by Satterthwaite if not paired."""
    if paired:
        return x.size - 1.0
    parts = [float(z.var(ddof=1)) / z.size for z in (x, y)]
    below = sum(part**2 / (z.size - 1) for part, z in zip(parts, (x, y), strict=True))
    return sum(parts) ** 2 / below if below > 0.0 else math.inf


def _p_value(t: float, freedom: float) -> float:
    from scipy.special import stdtr  # noqa: PLC0415  # optional, and slow to import

    return float(2.0 * stdtr(freedom, -abs(t)))
