"""How many replications an undecided comparison needs."""

import math

from lastblock.lab.intervals import Interval, Sample
from lastblock.support.intervals import normal_reach

POWER = 0.8
"""The probability with which the needed replications show a difference."""


def comparisons_of(others: int, baseline: str | None) -> int:
    """Return how many comparisons p-values are adjusted for: these rows, or all pairs."""
    return others if baseline is not None else others * (others + 1) // 2


def needed(
    estimate: Interval, samples: tuple[Sample, Sample], confidence: float, tests: int
) -> float:
    """Return how many replications would probably show a difference.

    Parameters
    ----------
    estimate
        The estimate with its standard error and adjusted p-value.
    samples
        What was compared: two samples of replications.
    confidence
        The confidence asked for.
    tests
        The number of comparisons for which p is adjusted.

    Returns
    -------
    float
        With so many replications of each policy, the difference would be significant with
        probability `POWER`, if it is as large as estimated. NaN if it is significant already, or
        nothing is known of its error; infinite if no difference was seen.
    """
    size = min(sample.size for sample in samples)
    if math.isnan(estimate.se) or estimate.p < 1.0 - confidence:
        return math.nan
    if estimate.value == 0.0:
        return math.inf
    reach = normal_reach(1.0 - (1.0 - confidence) / max(1, tests)) + normal_reach(2.0 * POWER - 1.0)
    enough = size * (reach * estimate.se / estimate.value) ** 2
    return max(size + 1.0, float(math.ceil(enough)))
