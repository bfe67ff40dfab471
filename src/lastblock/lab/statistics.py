"""Tables of results: means with intervals, paired differences, and delays."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lastblock.lab.entries import (
    ResultEntry,
    are_paired,
    compared,
    entries_of,
    regrets_of,
    samples_of,
)
from lastblock.lab.intervals import (
    Interval,
    Sample,
    mean_of,
    paired_difference,
    welch_difference,
)
from lastblock.support.intervals import check_confidence

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result


def summary(results: "Result | Sequence[Result]", confidence: float = 0.95) -> "pd.DataFrame":
    """Return a table of the final regret of every policy.

    Parameters
    ----------
    results
        One result or several, as for `differences`.
    confidence
        The share of such intervals, which are Student's, that contain the true mean.

    Returns
    -------
    pandas.DataFrame
        The columns are policy, mean, se, the bounds `low` and `high` of the mean's confidence
        interval, and the quartiles q25 and q75 of the regret itself.
    """
    import pandas as pd  # optional dependencies, and slow to import  # noqa: PLC0415

    confidence = check_confidence(confidence)
    rows = []
    for label, regret in regrets_of(results).items():
        mean, se, low, high, _ = mean_of(regret, confidence)
        q25, q75 = np.quantile(regret, [0.25, 0.75])
        rows.append((label, mean, se, low, high, float(q25), float(q75)))
    columns = ["policy", "mean", "se", "low", "high", "q25", "q75"]
    return pd.DataFrame(rows, columns=columns)


def differences(
    results: "Result | Sequence[Result]", baseline: str | None = None, confidence: float = 0.95
) -> "pd.DataFrame":
    """Return a table of the final regret of every policy, less that of a baseline.

    Replications of the same number and seed met the same draws, so policies are compared
    replication by replication. This removes much of the chance; `variance_reduction` is the share
    of the variance that it removes. Results of different seeds are compared by Welch's test
    (`paired` is False).

    Parameters
    ----------
    results
        One result or several, of the same environment and horizon. A policy that is in two of them
        is shown with the scenario's name, or a number.
    baseline
        The policy to compare with; by default the one with the smallest mean. Since the same
        numbers have chosen that one, its comparisons are then valid for all pairs of policies at
        once.
    confidence
        As for `summary`.

    Returns
    -------
    pandas.DataFrame
        The columns are policy, baseline, difference, se, the bounds `low` and `high` of its
        confidence interval, p, significant (p is below 1 − confidence), needed, variance_reduction,
        paired and adjusted. `needed` is the number of replications with which an undecided
        difference would be significant with probability 0.8, if it is as large as estimated; it is
        missing for a significant one. `adjusted` says what p is adjusted for. With a baseline that
        you name it is "these rows": p is adjusted by Holm's method, and each interval holds on its
        own. Without, it is "all pairs": all intervals hold at once with this confidence
        (Bonferroni), and the probability that two policies which do not differ have a significant p
        is at most 1 − confidence (Holm).

    Raises
    ------
    ResultError
        If there are no results, or they differ in environment or horizon.
    ValueError
        If `baseline` or `confidence` is wrong.
    """
    frame = compared(results, baseline, confidence, _difference, "difference")
    entries = {entry.label: entry for entry in entries_of(results)}
    pairs = zip(frame["policy"], frame["baseline"], strict=True)
    reductions = [_variance_reduction(entries[one], entries[base]) for one, base in pairs]
    frame.insert(list(frame.columns).index("paired"), "variance_reduction", reductions)
    return frame


def _difference(a: Sample, b: Sample, confidence: float, paired: bool) -> Interval:
    return (paired_difference if paired else welch_difference)(a, b, confidence)


def _variance_reduction(one: ResultEntry, other: ResultEntry) -> float:
    """Return 1 − var(a − b) / (var a + var b); NaN if not paired or without any variance."""
    if not are_paired(one, other):
        return np.nan
    a, b = samples_of(one, other)
    apart = float(a.var() + b.var())
    return 1.0 - float((a - b).var()) / apart if apart > 0.0 else np.nan


def delay_summary(result: "Result") -> "pd.DataFrame":
    """Return a table of how long every policy took to find a best arm, in each phase.

    A delay is the number of pulls until 32 of the last 64 were of a best arm.

    Returns
    -------
    pandas.DataFrame
        The columns are policy, phase, start (the time of the change; 0 for the first phase), found
        (the share of replications that found a best arm), and the median and quartiles q25 and q75
        of the delay, which is infinite in replications that did not find one.
    """
    import pandas as pd  # noqa: PLC0415  # optional, and slow to import

    rows = []
    for label in result.labels:
        mine = result.delays[result.delays["policy"] == label]
        for phase, start in enumerate([0, *result.changes]):
            delays = mine.loc[mine["phase"] == phase, "delay"]
            ordered = np.sort(delays.to_numpy(dtype=np.float64, na_value=np.inf))
            quantiles = (_quantile(ordered, q) for q in (0.5, 0.25, 0.75))
            rows.append((label, phase, start, float(np.isfinite(ordered).mean()), *quantiles))
    columns = ["policy", "phase", "start", "found", "median", "q25", "q75"]
    return pd.DataFrame(rows, columns=columns)


def _quantile(ordered: Sample, q: float) -> float:
    """Return the smallest value that a share q lies at or below.

    We never interpolate between two values, since one of them may be infinite.
    """
    return float(ordered[max(0, math.ceil(q * ordered.size) - 1)])
