"""The policies of one result or several, and comparisons of many of them at once."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from lastblock.lab.intervals import Interval, Sample, holm
from lastblock.support.errors import ResultError
from lastblock.support.intervals import check_confidence, normal_reach
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result

POWER = 0.8
"""The probability with which the needed replications show a difference."""


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


Comparison: TypeAlias = Callable[[Sample, Sample, float, bool], Interval]
"""Compares two samples, with intervals of this confidence; paired if they met the same draws."""


def compared(
    results: "Result | Sequence[Result]",
    baseline: str | None,
    confidence: float,
    compare: Comparison,
    name: str,
    null: float = 0.0,
) -> "pd.DataFrame":
    """Return a table in which every policy is compared with a baseline.

    With a baseline chosen beforehand, p is adjusted for the number of others. Without, these
    results choose the policy with the smallest mean, so the comparisons are made valid for all
    pairs at once: intervals by Bonferroni's method, p by Holm's.

    Parameters
    ----------
    results, baseline, confidence
        As for `lastblock.lab.differences`.
    compare
        The comparison.
    name
        The column of its values.
    null
        The value of two policies that do not differ.
    """
    import pandas as pd  # an optional dependency  # noqa: PLC0415

    confidence = check_confidence(confidence)
    entries = entries_of(results)
    base = find_baseline(entries, baseline)
    pairs = [(entry, base) for entry in entries if entry is not base]
    others, each = len(pairs), confidence
    if baseline is None:
        pairs += combinations([other for other, _ in pairs], 2)
        each = 1.0 - (1.0 - confidence) / max(1, len(pairs))
    estimates = [compare(*samples_of(*pair), each, are_paired(*pair)) for pair in pairs]
    adjusted = holm([estimate.p for estimate in estimates])
    rows = []
    for (other, _), raw, p in zip(pairs[:others], estimates, adjusted, strict=False):
        estimate = raw._replace(p=float(p))
        beyond = estimate._replace(value=estimate.value - null)
        rows.append(
            {
                "policy": other.label,
                "baseline": base.label,
                name: estimate.value,
                **dict(zip(("se", "low", "high", "p"), estimate[1:], strict=True)),
                "significant": estimate.p < 1.0 - confidence,  # False if p is NaN
                "needed": needed(beyond, samples_of(other, base), confidence, len(pairs)),
                "paired": are_paired(other, base),
                "adjusted": "all pairs" if baseline is None else "these rows",
            }
        )
    columns = f"policy baseline {name} se low high p significant needed paired adjusted".split()
    return pd.DataFrame(rows, columns=columns)


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
