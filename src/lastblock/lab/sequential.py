"""Replications that stop when the comparison is decided, without more errors than asked for.

Who looks at a test again and again, and stops as soon as it is significant, errs far more often
than the test says. Here looks are planned: after `first` replications, then after twice as many
each time, up to all. The error 1 − confidence is shared out among the looks, half of it equally and
half in proportion to their replications.

At each look policies are compared by a test of sign flips (as AdaStop permutes; Mathieu et al.,
2023): if two policies do not differ, the difference of each replication might as well have the
other sign. The largest |t| of all undecided pairs, in thousands of such flips, gives the bound that
|t| must exceed. Pairs that are decided leave the others a lower bound (Romano & Wolf, 2005). So the
probability of any wrong decision, over all pairs and looks, is at most 1 − confidence: exactly if
differences are symmetric where policies do not differ, else as nearly as Student's test.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from lastblock.lab.intervals import Sample
from lastblock.lab.ranks import placements
from lastblock.support.checks import at_least
from lastblock.support.intervals import check_confidence
from lastblock.support.spelling import advice

Test = Literal["means", "ranks"]
FLIPS = 5000
_BLOCK = 256  # replications whose signs are drawn at once
_SEED = 1


@dataclass(frozen=True)
class Sequential:
    """When to look at the results of a run, and what decides the comparison.

    Parameters
    ----------
    first
        The replications before the first look, at least 10. Each later look has twice as many, up
        to the scenario's replications, which are the budget.
    baseline
        The label of the policy to compare all others with; None compares all pairs.
    confidence
        The probability that no decision is wrong.
    test
        "means" of the final regret, or "ranks", which heavy tails do not disturb.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    first: int = 50
    baseline: str | None = None
    confidence: float = 0.95
    test: Test = "means"

    def __post_init__(self) -> None:
        at_least(10, self.first, "first")
        check_confidence(self.confidence)
        if self.test not in get_args(Test):
            raise ValueError(f"test={self.test!r} must be one of {', '.join(get_args(Test))}")
        if self.baseline is not None and not isinstance(self.baseline, str):
            raise ValueError(f"baseline={self.baseline!r} must be the label of a policy")

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raise a `ValueError` if these are too few policies, or not with the baseline."""
        if len(labels) < 2:
            raise ValueError("sequential: one policy leaves nothing to decide; add another")
        if self.baseline is not None and self.baseline not in labels:
            hint = advice(self.baseline, labels)
            raise ValueError(f"baseline={self.baseline!r} is not a policy of the scenario; {hint}")

    def looks(self, budget: int) -> list[int]:
        """Return after how many replications to look, if there are at most `budget`."""
        looks = [min(self.first, budget)]
        while looks[-1] < budget:
            looks.append(min(2 * looks[-1], budget))
        return looks

    def pairs(self, labels: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs of labels to compare."""
        if self.baseline is None:
            return list(combinations(labels, 2))
        return [(label, self.baseline) for label in labels if label != self.baseline]

    def describe(self) -> dict[str, Any]:
        """Return the parameters as plain data for JSON."""
        return asdict(self)


class PairDecision(NamedTuple):
    """What is known of two policies when the replications stop."""

    policy: str
    other: str
    better: str | None
    """The label of the policy that has less regret; None if that is undecided."""
    replications: int | None
    """After how many replications this was decided; None if it is not."""


class Decider:
    """Decides at each look which policies differ.

    Parameters
    ----------
    plan
        When to look, and how to compare.
    labels
        The labels of the policies.
    budget
        The largest number of replications.
    """

    def __init__(self, plan: Sequential, labels: Sequence[str], budget: int) -> None:
        plan.check_labels(labels)
        self._plan, self.pairs = plan, plan.pairs(labels)
        self.planned = plan.looks(budget)
        total, looks = sum(self.planned), len(self.planned)
        half = (1.0 - plan.confidence) / 2.0
        self._levels = [half / looks + half * n / total for n in self.planned]
        self._seen: list[_Look] = []
        self._decided: dict[int, tuple[str, int]] = {}

    @property
    def is_decided(self) -> bool:
        """Whether all pairs are decided."""
        return len(self._decided) == len(self.pairs)

    @property
    def decisions(self) -> list[PairDecision]:
        """One decision for each pair."""
        found = []
        for i, pair in enumerate(self.pairs):
            better, when = self._decided.get(i, (None, None))
            found.append(PairDecision(*pair, better, when))
        return found

    def look(self, regrets: Mapping[str, Sample]) -> None:
        """Compare the policies by the final regrets of all replications so far, by label."""
        ranks = self._plan.test == "ranks"
        differ = _of_ranks if ranks else _of_means
        table = np.column_stack([differ(regrets[a], regrets[b]) for a, b in self.pairs])
        level = self._levels[len(self._seen)]
        # Each replication enters the sum of placements twice: by its own, and by those of others.
        sums = table.sum(axis=0) / (2.0 if ranks else 1.0)
        self._seen.append(_Look(t_values(table, sums), _flipped(table), level, table.shape[0]))
        while self._step_down():
            pass

    def _step_down(self) -> bool:
        """Decide what the bounds for all undecided pairs decide; return whether there was any."""
        open_pairs = [i for i in range(len(self.pairs)) if i not in self._decided]
        found: dict[int, tuple[str, int]] = {}
        for look in self._seen if open_pairs else ():
            bound = _bound(look.flips[:, open_pairs].max(axis=1), look.level)
            for i in open_pairs:
                if i not in found and abs(look.t[i]) > bound:
                    a, b = self.pairs[i]
                    found[i] = (a if look.t[i] < 0.0 else b), self._seen[-1].replications
        self._decided.update(found)
        return bool(found)


class _Look(NamedTuple):
    t: Sample  # of each pair
    flips: npt.NDArray[np.float32]  # |t| of each pair, for each flip of signs
    level: float
    replications: int


def _of_means(a: Sample, b: Sample) -> Sample:
    return np.asarray(a - b)


def _of_ranks(a: Sample, b: Sample) -> Sample:
    return np.asarray(placements(b, a) - placements(a, b))


def t_values(table: Sample, sums: Sample) -> Sample:
    """Return the t of each column with these sums, which may be of flipped signs.

    A column that is all zeros has t = 0. Flips of signs leave the sum of squares as it is.
    """
    n = table.shape[0]
    means = sums / n
    squares = (table**2).sum(axis=0) / n
    variances = np.maximum(squares - means**2, 0.0) / (n - 1)
    t = np.where(means == 0.0, 0.0, np.copysign(np.inf, means))
    np.divide(means, np.sqrt(variances), out=t, where=variances > 1e-13 * squares)
    return t


def _flipped(table: Sample) -> npt.NDArray[np.float32]:
    """Return |t| of each column for each flip of signs, which are the same for all columns."""
    sums = np.zeros((FLIPS, table.shape[1]))
    for start, signs in _signs(table.shape[0]):
        sums += signs @ table[start : start + signs.shape[1]]
    return np.abs(t_values(table, sums)).astype(np.float32)


def _signs(n: int) -> Iterator[tuple[int, Sample]]:
    """Return the signs of n replications for each flip, in blocks; each with its first number.

    A replication has the same signs at every look.
    """
    for start in range(0, n, _BLOCK):
        stream = np.random.Generator(np.random.PCG64([_SEED, start]))
        bits = np.unpackbits(np.frombuffer(stream.bytes(FLIPS * _BLOCK // 8), np.uint8))
        signs = bits.reshape(FLIPS, _BLOCK)[:, : n - start]
        yield start, 2.0 * signs - 1.0


def _bound(largest: npt.NDArray[np.float32], level: float) -> float:
    """Return the value that the largest |t| exceeds with probability `level`, if none differ.

    What was observed counts as one of the flips, which makes the test exact.
    """
    allowed = int(level * (largest.size + 1)) - 1
    if allowed < 0:
        return float("inf")
    return float(np.sort(largest)[::-1][allowed])
