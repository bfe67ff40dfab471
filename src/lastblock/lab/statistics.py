"""Tables of results: means with intervals, paired differences, and delays."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lastblock.lab.all_pairs import LargestT, largest_t
from lastblock.lab.intervals import (
    Interval,
    Method,
    Sample,
    check_method,
    holm,
    mean_of,
    paired_difference,
    welch_difference,
)
from lastblock.support.errors import ResultError
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result


def summary(
    results: "Result | Sequence[Result]", confidence: float = 0.95, method: Method = "normal"
) -> "pd.DataFrame":
    """Return a table of the final regret of every policy.

    Parameters
    ----------
    results
        One result or several, as for `differences`.
    confidence
        The share of such intervals that contain the true mean.
    method
        "normal" for Student's interval, or "bootstrap" (bias-corrected and accelerated).

    Returns
    -------
    pandas.DataFrame
        The columns are policy, mean, se, the bounds `low` and `high` of the mean's confidence
        interval, and the quartiles q25 and q75 of the regret itself.
    """
    import pandas as pd  # optional dependencies, and slow to import  # noqa: PLC0415

    confidence = check_method(confidence, method)
    rows = []
    for label, regret in regrets_of(results).items():
        mean, se, low, high, _ = mean_of(regret, confidence, method)
        q25, q75 = np.quantile(regret, [0.25, 0.75])
        rows.append((label, mean, se, low, high, float(q25), float(q75)))
    columns = ["policy", "mean", "se", "low", "high", "q25", "q75"]
    return pd.DataFrame(rows, columns=columns)


def differences(
    results: "Result | Sequence[Result]",
    baseline: str | None = None,
    confidence: float = 0.95,
    method: Method = "normal",
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
    confidence, method
        As for `summary`.

    Returns
    -------
    pandas.DataFrame
        The columns are policy, baseline, difference, se, the bounds `low` and `high` of its
        confidence interval, p, significant (p is below 1 − confidence), variance_reduction, paired
        and adjusted. The last one says what p is adjusted for. With a baseline that you name it is
        "these rows": p is adjusted by Holm's method, and each interval holds on its own. Without,
        it is "all pairs": all intervals hold at once with this confidence (Bonferroni), and the
        probability that two policies which do not differ have a significant p is at most
        1 − confidence (Holm). With method="bootstrap" both come from the law of the largest t of
        all pairs, in absolute value.

    Raises
    ------
    ResultError
        If there are no results, or they differ in environment or horizon.
    ValueError
        If `baseline`, `confidence` or `method` is wrong.
    """
    import pandas as pd  # noqa: PLC0415  # optional, and slow to import

    confidence = check_method(confidence, method)
    entries = _entries(_as_list(results))
    base = _baseline(entries, baseline)
    others = [entry for entry in entries if entry is not base]
    compare = _with_best if baseline is None else _with_named
    rows = [
        {
            "policy": other.label,
            "baseline": base.label,
            "difference": estimate.value,
            **dict(zip(("se", "low", "high", "p"), estimate[1:], strict=True)),
            "significant": estimate.p < 1.0 - confidence,  # False if p is NaN
            "variance_reduction": _variance_reduction(other, base),
            "paired": _are_paired(other, base),
            "adjusted": "all pairs" if baseline is None else "these rows",
        }
        for other, estimate in zip(others, compare(others, base, confidence, method), strict=True)
    ]
    return pd.DataFrame(rows, columns=_DIFFERENCES)


_DIFFERENCES = [
    "policy",
    "baseline",
    "difference",
    "se",
    "low",
    "high",
    "p",
    "significant",
    "variance_reduction",
    "paired",
    "adjusted",
]


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


def final_regret(result: "Result", label: str) -> Sample:
    """Return the regret of a policy at the horizon, for each replication."""
    mine = result.final[result.final["policy"] == label]
    ordered = mine.set_index("replication")["regret"].sort_index()
    return np.asarray(ordered.to_numpy(dtype=np.float64))


def regrets_of(results: "Result | Sequence[Result]") -> dict[str, Sample]:
    """Return the final regrets of all policies of all results, by labels that tell them apart."""
    return {
        label: np.asarray(series.to_numpy(dtype=np.float64))
        for label, _, series in _entries(_as_list(results))
    }


def _quantile(ordered: Sample, q: float) -> float:
    """Return the smallest value that a share q lies at or below.

    We never interpolate between two values, since one of them may be infinite.
    """
    return float(ordered[max(0, math.ceil(q * ordered.size) - 1)])


class _Entry(NamedTuple):
    label: str
    result: "Result"
    regret: "pd.Series[float]"


def _as_list(results: "Result | Sequence[Result]") -> "list[Result]":
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
        if other.about["scenario"]["environment"] != first.about["scenario"]["environment"]:
            raise ResultError(
                f"{first.name} and {other.name} have different arms; "
                "compare results of the same environment"
            )
    return results


def _entries(results: "list[Result]") -> list[_Entry]:
    """Return all policies of all results, with labels that tell them apart."""
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
            entries.append(_Entry(shown, result, regret))
    return entries


def _baseline(entries: list[_Entry], label: str | None) -> _Entry:
    if label is None:
        return min(entries, key=lambda entry: float(entry.regret.mean()))
    for entry in entries:
        if entry.label == label:
            return entry
    labels = [entry.label for entry in entries]
    hint = advice(label, labels)
    raise ValueError(f"baseline={label!r} is not a policy of these results; {hint}")


def _with_named(
    others: Sequence[_Entry], base: _Entry, confidence: float, method: Method
) -> list[Interval]:
    """Compare with a policy chosen beforehand; p is adjusted for the number of others."""
    estimates = [_compare(other, base, confidence, method) for other in others]
    adjusted = holm([estimate.p for estimate in estimates])
    return [e._replace(p=float(p)) for e, p in zip(estimates, adjusted, strict=True)]


def _with_best(
    others: Sequence[_Entry], base: _Entry, confidence: float, method: Method
) -> list[Interval]:
    """Compare with the policy that these results chose: valid for all pairs at once."""
    pairs = [(other, base) for other in others] + list(combinations(others, 2))
    if method == "bootstrap" and len(pairs) > 1:
        groups = _tables([*others, base])
        if all(len(group) > 1 for group in groups):
            law = largest_t(groups)
            return [_within(law, _compare(other, base, confidence), confidence) for other in others]
    each = 1.0 - (1.0 - confidence) / max(1, len(pairs))
    method = method if len(pairs) == 1 else "normal"
    estimates = [_compare(one, other, each, method) for one, other in pairs]
    adjusted = holm([estimate.p for estimate in estimates])
    return [e._replace(p=float(p)) for e, p in zip(estimates, adjusted, strict=True)][: len(others)]


def _within(law: LargestT, estimate: Interval, confidence: float) -> Interval:
    """Return the estimate with the interval and p-value that the law of the largest |t| gives."""
    if not estimate.se > 0.0:
        return estimate
    reach = law.quantile(confidence) * estimate.se
    return estimate._replace(
        low=estimate.value - reach,
        high=estimate.value + reach,
        p=law.p_value(estimate.value / estimate.se),
    )


def _tables(entries: Sequence[_Entry]) -> list[Sample]:
    """Return, for each seed, the regrets of its policies in the replications that all have."""
    groups: dict[int, list[pd.Series[float]]] = {}
    for entry in entries:
        groups.setdefault(entry.result.seed, []).append(entry.regret)
    tables = []
    for columns in groups.values():
        common = columns[0].index
        for column in columns[1:]:
            common = common.intersection(column.index)
        tables.append(np.column_stack([column.loc[common].to_numpy() for column in columns]))
    return tables


def _compare(one: _Entry, other: _Entry, confidence: float, method: Method = "normal") -> Interval:
    a, b = _samples(one, other)
    difference = paired_difference if _are_paired(one, other) else welch_difference
    return difference(a, b, confidence, method)


def _are_paired(one: _Entry, other: _Entry) -> bool:
    return one.result.seed == other.result.seed


def _samples(one: _Entry, other: _Entry) -> tuple[Sample, Sample]:
    """Return the regrets to compare; if paired, those of the replications that both have."""
    x, y = one.regret, other.regret
    if _are_paired(one, other) and not x.index.equals(y.index):
        common = x.index.intersection(y.index)
        x, y = x.loc[common], y.loc[common]
    return np.asarray(x.to_numpy(np.float64)), np.asarray(y.to_numpy(np.float64))


def _variance_reduction(one: _Entry, other: _Entry) -> float:
    """Return 1 − var(a − b) / (var a + var b); NaN if not paired or without any variance."""
    if not _are_paired(one, other):
        return np.nan
    a, b = _samples(one, other)
    apart = float(a.var() + b.var())
    return 1.0 - float((a - b).var()) / apart if apart > 0.0 else np.nan
