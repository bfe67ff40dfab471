"""Tables of results: means with intervals, differences on common random numbers, delays."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lastblock.lab.intervals import (
    Estimate,
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


def summary(result: "Result", level: float = 0.95, method: Method = "normal") -> "pd.DataFrame":
    """The final regret of every policy.

    The columns are policy, mean, se, the bounds `low` and `high` of the mean's confidence interval,
    and the quartiles q25 and q75 of the regret itself.

    Parameters
    ----------
    level
        Of the confidence interval.
    method
        "normal" for Student's interval, or "bootstrap" (bias-corrected and accelerated).
    """
    import pandas as pd  # optional dependencies, and slow to import  # noqa: PLC0415

    level = check_method(level, method)
    rows = []
    for label in result.labels:
        regret = final_regret(result, label)
        mean, se, low, high, _ = mean_of(regret, level, method)
        q25, q75 = np.quantile(regret, [0.25, 0.75])
        rows.append((label, mean, se, low, high, float(q25), float(q75)))
    columns = ["policy", "mean", "se", "low", "high", "q25", "q75"]
    return pd.DataFrame(rows, columns=columns)


def differences(
    results: "Result | Sequence[Result]",
    baseline: str | None = None,
    level: float = 0.95,
    method: Method = "normal",
) -> "pd.DataFrame":
    """The final regret of every policy less that of the baseline.

    Replications of the same number and seed met the same draws, so policies are compared
    replication by replication, which takes the luck of the draw out: `variance_reduction` is the
    share of the variance that this saves. Results of different seeds are compared by Welch's test
    (`paired` is False).

    The columns are policy, baseline, difference, se, the bounds `low` and `high` of its confidence
    interval, p (Student's, adjusted by Holm's method for the number of rows), significant (p is
    below 1 − level), variance_reduction and paired.

    Parameters
    ----------
    results
        One result or several, of the same environment and horizon. A policy that is in two of them
        is shown with the scenario's name, or a number.
    baseline
        The policy to compare with; by default the one with the smallest mean.
    level, method
        As for `summary`.
    """
    import pandas as pd  # noqa: PLC0415  # optional, and slow to import

    level = check_method(level, method)
    entries = _entries(_as_list(results))
    base = _baseline(entries, baseline)
    others = [entry for entry in entries if entry is not base]
    rows: list[dict[str, Any]] = []
    for other in others:
        estimate, reduction, paired = _compare(other, base, level, method)
        rows.append(
            {
                "policy": other.label,
                "baseline": base.label,
                "difference": estimate.value,
                "se": estimate.se,
                "low": estimate.low,
                "high": estimate.high,
                "p": estimate.p,
                "significant": False,
                "variance_reduction": reduction,
                "paired": paired,
            }
        )
    frame = pd.DataFrame(rows, columns=_DIFFERENCES)
    frame["p"] = holm(frame["p"])
    frame["significant"] = frame["p"] < 1.0 - level  # never where it is NaN
    return frame


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
]


def delay_summary(result: "Result") -> "pd.DataFrame":
    """How long every policy took to find a best arm, in each phase.

    The columns are policy, phase, start (the time of the change; 0 for the first phase), found (the
    share of replications that did), and the median and quartiles q25 and q75 of the delay, where
    those that did not count as infinite. A delay is the number of pulls until a best arm had 32 of
    the last 64.
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
    """The regret of each replication at the horizon."""
    return np.asarray(_final(result, label).to_numpy(dtype=np.float64))


def _final(result: "Result", label: str) -> "pd.Series[float]":
    mine = result.final[result.final["policy"] == label]
    series: pd.Series[float] = mine.set_index("replication")["regret"].sort_index()
    return series


def _quantile(ordered: Sample, q: float) -> float:
    """The smallest value that a share q lies at or below: nothing is taken between ∞ and others."""
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
    """All policies of all results, by labels that tell them apart."""
    labels = Counter(label for result in results for label in result.labels)
    names = Counter(result.name for result in results)
    seen: Counter[str] = Counter()
    entries = []
    for result in results:
        seen[result.name] += 1
        name = result.name if names[result.name] == 1 else f"{result.name} {seen[result.name]}"
        for label in result.labels:
            shown = label if labels[label] == 1 else f"{label} ({name})"
            entries.append(_Entry(shown, result, _final(result, label)))
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


def _compare(
    one: _Entry, other: _Entry, level: float, method: Method
) -> tuple[Estimate, float, bool]:
    """The difference, the share of variance saved by pairing, and whether it was paired."""
    a, b = (np.asarray(entry.regret.to_numpy(dtype=np.float64)) for entry in (one, other))
    if one.result.seed != other.result.seed:
        return welch_difference(a, b, level, method), np.nan, False
    if not one.regret.index.equals(other.regret.index):  # pair the replications that both have
        common = one.regret.index.intersection(other.regret.index)
        a, b = (entry.regret.loc[common].to_numpy(dtype=np.float64) for entry in (one, other))
    return paired_difference(a, b, level, method), _variance_reduction(a, b), True


def _variance_reduction(a: Sample, b: Sample) -> float:
    """1 − var(a − b) / (var a + var b)"""
    apart = float(a.var() + b.var())
    return 1.0 - float((a - b).var()) / apart if apart > 0.0 else np.nan
