"""Comparisons that are valid for all pairs of policies at once.

The same numbers choose the policy with the smallest mean and compare it with others, so this policy
was probably lucky. Intervals and p-values that are valid for all pairs at once are valid for its
pairs, too. For Student's intervals, Bonferroni's and Holm's methods provide that; for bootstrap
intervals, the law of the largest |t| of all pairs, which is computed here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.lab.intervals import RESAMPLES, Sample

_NUMBERS_AT_ONCE = 1 << 21
_SEED = 1


class LargestT(NamedTuple):
    """The law of the largest |t| of all pairs of policies, if no two of them differ."""

    draws: Sample
    """A sample of that law, in increasing order."""

    def quantile(self, confidence: float) -> float:
        """Return the value that no pair exceeds with probability `confidence`."""
        rank = int(np.ceil(confidence * (self.draws.size + 1)))
        return float(self.draws[min(rank, self.draws.size) - 1])

    def p_value(self, t: float) -> float:
        """Return the probability that some pair has a |t| of at least |t|."""
        beyond = self.draws.size - int(np.searchsorted(self.draws, abs(t), side="left"))
        return (beyond + 1) / (self.draws.size + 1)


def largest_t(groups: Sequence[Sample], resamples: int | None = None) -> LargestT:
    """Resample replications, and find the largest |t| of all pairs in each resample.

    The t of a resample is centred at the means of the sample.

    Parameters
    ----------
    groups
        Tables of regrets, with one row per replication and one column per policy. The policies of
        one group met the same draws; different groups are independent. Each group has at least two
        rows.
    resamples
        The number of resamples; by default as for other bootstrap intervals.

    Returns
    -------
    LargestT
        The law. The same arguments always give the same result.
    """
    resamples = RESAMPLES if resamples is None else resamples
    stream = np.random.Generator(np.random.PCG64(_SEED))
    tables = [_Table(group) for group in groups]
    columns = sum(table.columns for table in tables)
    widest = max(columns**2, *(table.n for table in tables))
    blocks = _blocks(resamples, max(1, _NUMBERS_AT_ONCE // widest))
    drawn = [_largest([table.resampled(n, stream) for table in tables]) for n in blocks]
    return LargestT(np.sort(np.concatenate(drawn)))


class _Table:
    """The regrets of a group less their means, and the products of each two of them."""

    def __init__(self, group: Sample) -> None:
        self.n, self.columns = group.shape
        self._centred = group - group.mean(axis=0)
        products = self._centred[:, :, None] * self._centred[:, None, :]
        self._products = products.reshape(self.n, self.columns**2)

    def resampled(self, draws: int, stream: np.random.Generator) -> tuple[Sample, Sample]:
        """Return the means of resampled replications, and the covariances of these means."""
        counts = _counts(stream.integers(self.n, size=(draws, self.n)), self.n)
        means = counts @ self._centred / self.n
        second = (counts @ self._products / self.n).reshape(draws, self.columns, self.columns)
        return means, (second - means[:, :, None] * means[:, None, :]) / (self.n - 1)


def _blocks(draws: int, most: int) -> Iterator[int]:
    return (min(most, draws - i) for i in range(0, draws, most))


def _largest(drawn: Sequence[tuple[Sample, Sample]]) -> Sample:
    """Return the largest |t| of each resample, from the means and covariances of all groups."""
    means = np.concatenate([part for part, _ in drawn], axis=1)
    n, columns = means.shape
    covariances = np.zeros((n, columns, columns))
    start = 0
    for part, around in drawn:
        end = start + part.shape[1]
        covariances[:, start:end, start:end] = around
        start = end
    one, other = np.triu_indices(columns, 1)
    variances = np.einsum("nii->ni", covariances)
    together = variances[:, one] + variances[:, other]
    squares = together - 2.0 * covariances[:, one, other]
    gaps = np.abs(means[:, one] - means[:, other])
    noise = 1e-12 * together  # rounding leaves less than this of a difference that never varies
    t = np.where(gaps**2 > noise, np.inf, 0.0)
    np.divide(gaps, np.sqrt(np.maximum(squares, 0.0)), out=t, where=squares > noise)
    return np.asarray(t.max(axis=1))


def _counts(rows: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.float64]:
    """Return how often each number below n occurs in each row."""
    draws = rows.shape[0]
    flat: npt.NDArray[Any] = (rows + n * np.arange(draws)[:, None]).ravel()
    return np.bincount(flat, minlength=draws * n).reshape(draws, n).astype(np.float64)
