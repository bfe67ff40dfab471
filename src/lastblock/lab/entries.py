"""The policies of one result or several, and comparisons of many of them at once."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lastblock.lab.intervals import Interval, Sample, holm
from lastblock.support.errors import ResultError
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result


class ResultEntry(NamedTuple):
    """A policy of a result; `entries_of` makes them."""

    label: str
    result: "Result"
    regret: "pd.Series[float]"


def _checked(results: "Result | Sequence[Result]") -> "list[Result]":
    results = list(results) if isinstance(results, Sequence) else [results]
    if not results:
        raise ResultError("nothing to compare; give at least one result")
    first = results[0]
    for other in results[1:]:
        if other.horizon != first.horizon:
            raise ResultError(
                f"{first.name} has the horizon {first.horizon}, {other.name} {other.horizon}; "
                "compare results of the same horizon"
            )
        if other.about["scenario"].get("delay") != first.about["scenario"].get("delay"):
            raise ResultError(
                f"{first.name} and {other.name} have different delays of rewards; "
                "compare results of the same delay"
            )
        if other.about["scenario"]["environment"] != first.about["scenario"]["environment"]:
            raise ResultError(
                f"{first.name} and {other.name} have different arms; "
                "compare results of the same environment"
            )
    return results


def entries_of(given: "Result | Sequence[Result]") -> list[ResultEntry]:
    """Return all policies of all results, with labels that tell them apart.

    Raises a `ResultError` if there are no results, or they differ in environment or horizon.
    """
    results = _checked(given)
    labels = Counter(label for result in results for label in result.labels)
    names = Counter(result.name for result in results)
    seen: Counter[str] = Counter()
    entries = []
    for result in results:
        seen[result.name] += 1
        name = result.name if names[result.name] == 1 else f"{result.name} {seen[result.name]}"
        finals = dict(list(result.final.groupby("policy", observed=True)))
        for label in result.labels:
            shown = label if labels[label] == 1 else f"{label} ({name})"
            regret = finals[label].set_index("replication")["regret"].sort_index()
            entries.append(ResultEntry(shown, result, regret))
    return entries


def find_baseline(entries: list[ResultEntry], label: str | None) -> ResultEntry:
    """Return the policy to compare with; the one with the smallest mean if `label` is None."""
    if label is None:
        return min(entries, key=lambda entry: float(entry.regret.mean()))
    for entry in entries:
        if entry.label == label:
            return entry
    labels = [entry.label for entry in entries]
    hint = advice(label, labels)
    raise ValueError(f"baseline={label!r} is not a policy of these results; {hint}")


def are_paired(one: ResultEntry, other: ResultEntry) -> bool:
    """Return whether two policies met the same draws."""
    return one.result.seed == other.result.seed


def samples_of(one: ResultEntry, other: ResultEntry) -> tuple[Sample, Sample]:
    """Return the regrets to compare; if paired, those of the replications that both have."""
    x, y = one.regret, other.regret
    if are_paired(one, other) and not x.index.equals(y.index):
        common = x.index.intersection(y.index)
        x, y = x.loc[common], y.loc[common]
    return np.asarray(x.to_numpy(np.float64)), np.asarray(y.to_numpy(np.float64))


def regrets_of(results: "Result | Sequence[Result]") -> dict[str, Sample]:
    """Return the final regrets of all policies of all results, by labels that tell them apart."""
    return {
        label: np.asarray(series.to_numpy(dtype=np.float64))
        for label, _, series in entries_of(results)
    }


Comparison: TypeAlias = Callable[[ResultEntry, ResultEntry, float], Interval]
"""Compares two policies, with intervals of this confidence."""


def all_pairs(
    others: Sequence[ResultEntry], base: ResultEntry
) -> list[tuple[ResultEntry, ResultEntry]]:
    """Return all pairs of policies; those with `base` come first, in the order of `others`."""
    return [(other, base) for other in others] + list(combinations(others, 2))


def with_named(
    compare: Comparison, others: Sequence[ResultEntry], base: ResultEntry, confidence: float
) -> list[Interval]:
    """Compare with a policy chosen beforehand; p is adjusted for the number of others."""
    return _adjusted([compare(other, base, confidence) for other in others])


def with_best(
    compare: Comparison, others: Sequence[ResultEntry], base: ResultEntry, confidence: float
) -> list[Interval]:
    """Compare with the policy that these results chose: valid for all pairs at once.

    Intervals are adjusted by Bonferroni's method, p by Holm's.
    """
    pairs = all_pairs(others, base)
    each = 1.0 - (1.0 - confidence) / max(1, len(pairs))
    return _adjusted([compare(one, other, each) for one, other in pairs])[: len(others)]


def _adjusted(estimates: Sequence[Interval]) -> list[Interval]:
    adjusted = holm([estimate.p for estimate in estimates])
    return [e._replace(p=float(p)) for e, p in zip(estimates, adjusted, strict=True)]
