"""The distribution of the final regret: histograms, tails, and what the worst replications cost."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.lab.entries import regrets_of
from lastblock.lab.intervals import Sample

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result

_BINS = 40
_SHOWN = 0.99  # the histogram ends where this share of every policy's replications does
_WORST = 0.01  # the share of the replications that are called the worst


class Histogram(NamedTuple):
    """How often the final regret fell into each of some bins, for every policy."""

    edges: npt.NDArray[np.float64]
    """The edges of the bins, which all policies share."""
    counts: dict[str, npt.NDArray[np.int64]]
    """The number of replications in each bin, by label."""
    beyond: dict[str, int]
    """The number of replications above the last edge, by label."""


def histogram(regrets: Mapping[str, Sample]) -> Histogram:
    """Return histograms on a scale that all policies share.

    Parameters
    ----------
    regrets
        The final regret of every replication, by label.

    Returns
    -------
    Histogram
        The bins end where 99 % of the replications of every policy do, so that a few bad
        replications do not squeeze all others into one bin; `beyond` counts these.
    """
    top = max(float(np.quantile(x, _SHOWN, method="higher")) for x in regrets.values())
    low = min(0.0, *(float(x.min()) for x in regrets.values()))
    edges = np.linspace(low, top if top > low else low + 1.0, _BINS + 1)
    return Histogram(
        edges,
        {label: np.histogram(x, edges)[0].astype(np.int64) for label, x in regrets.items()},
        {label: int((x > edges[-1]).sum()) for label, x in regrets.items()},
    )


def tail(regret: Sample) -> tuple[Sample, Sample]:
    """Return each value of the regret, and the share of replications with at least that much."""
    values, counts = np.unique(regret, return_counts=True)
    below = np.cumsum(counts) - counts
    return values, 1.0 - below / regret.size


def tails(results: "Result | Sequence[Result]") -> "pd.DataFrame":
    """Return a table of the tail of the final regret of every policy.

    Parameters
    ----------
    results
        One result or several, as for `differences`.

    Returns
    -------
    pandas.DataFrame
        The columns are policy, mean, the quantiles median, q90 and q99, max, and worst_share: the
        share of all regret that comes from the worst hundredth of the replications (at least one).
        Where it is far above 0.01 the mean depends on a few replications, and needs many.

    Raises
    ------
    ResultError
        If there are no results, or they differ in environment or horizon.
    """
    import pandas as pd  # an optional dependency  # noqa: PLC0415

    rows = []
    for label, regret in regrets_of(results).items():
        quantiles = (float(q) for q in np.quantile(regret, [0.5, 0.9, 0.99]))
        mean, worst = float(regret.mean()), float(regret.max())
        rows.append((label, mean, *quantiles, worst, worst_share(regret)))
    columns = ["policy", "mean", "median", "q90", "q99", "max", "worst_share"]
    return pd.DataFrame(rows, columns=columns)


def worst_share(regret: Sample) -> float:
    """Return the share of all regret that the worst hundredth of the replications has.

    NaN if there is no regret, or some of it is negative.
    """
    total = float(regret.sum())
    if not total > 0.0 or float(regret.min()) < 0.0:
        return math.nan
    worst = max(1, round(_WORST * regret.size))
    return float(np.sort(regret)[-worst:].sum()) / total
