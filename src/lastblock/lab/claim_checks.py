"""Checks of whether results show a claim.

A claim consists of comparisons of two policies. Results show it ("seen") if every comparison is
significant on its own: paired by replication, with 95 % confidence. A single replication shows
nothing.

A claim names its policies before there are results, and all of its comparisons must hold. So we do
not adjust for their number: if a claim is false, at least one comparison is false, and the claim is
wrongly seen only if that one is wrongly significant.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.lab.intervals import (
    Interval,
    Sample,
    mean_of,
    paired_difference,
    paired_ratio,
    resample,
)
from lastblock.support.rounding import rounded

CONFIDENCE = 0.95
_RESAMPLES = 400  # few, since each resample of a quartile band costs a sort


class Finding(NamedTuple):
    """Whether a claim is seen, and the figures behind that, in words."""

    seen: bool
    figures: str


Regrets = Mapping[str, Sample]
"""The final regret of every replication, by policy."""


def best(regrets: Regrets, policies: Sequence[str], margin: float | None) -> Finding:
    """Check that the first policy has the least regret; with `margin`, below that share."""
    first, *_ = policies
    ranking = [label for label in _ranking(regrets) if label != first]
    if not ranking:
        return _ALONE
    figures = f"{_show(regrets, first)}, {_next(regrets, ranking[0], first, ranking[0])}"
    notes = _notes(regrets, [(first, other) for other in ranking])
    if margin is not None and not notes:
        ratios = {
            other: paired_ratio(regrets[first], regrets[other], CONFIDENCE) for other in ranking
        }
        widest = max(ratios, key=lambda other: _or_infinite(ratios[other].high))
        ratio = ratios[widest]
        figures += f": {_show_share(ratio)} of {widest}"
        if ratio.high < margin:
            figures += f", below {margin:.0%}"
        else:
            notes = [f"not below {margin:.0%}"]
    return _finding(figures, notes)


def last(regrets: Regrets, policies: Sequence[str], margin: float | None) -> Finding:
    """Check that the first policy has the largest regret."""
    first, *_ = policies
    ranking = [label for label in _ranking(regrets) if label != first]
    if not ranking:
        return _ALONE
    figures = f"{_show(regrets, first)}, {_next(regrets, ranking[-1], ranking[-1], first)}"
    return _finding(figures, _notes(regrets, [(other, first) for other in reversed(ranking)]))


def leading(regrets: Regrets, policies: Sequence[str], margin: float | None) -> Finding:
    """Check that each of the policies has less regret than every other policy."""
    ranking = _ranking(regrets)
    ahead = [label for label in ranking if label in policies]
    others = [label for label in ranking if label not in policies]
    if not others:
        return _ALONE
    shown = ", ".join(_show(regrets, label) for label in ahead)
    figures = f"{shown}, {_next(regrets, others[0], ahead[-1], others[0])}"
    pairs = [(small, large) for small in reversed(ahead) for large in others]
    return _finding(figures, _notes(regrets, pairs))


def order(regrets: Regrets, policies: Sequence[str], margin: float | None) -> Finding:
    """Check that the policies have increasing regret, in their order."""
    figures = ", ".join(_show(regrets, label) for label in policies)
    return _finding(figures, _notes(regrets, list(pairwise(policies))))


def close(regrets: Regrets, policies: Sequence[str], margin: float | None) -> Finding:
    """Check that the first policy's regret differs by at most `margin` from the second's."""
    first, second = policies
    assert margin is not None
    ratio = paired_ratio(regrets[first], regrets[second], CONFIDENCE)
    change = Interval(ratio.value - 1.0, ratio.se, ratio.low - 1.0, ratio.high - 1.0, ratio.p)
    figures = f"{_show(regrets, first)}, {_show(regrets, second)}: {_show_share(change, '+')}"
    if math.isnan(change.low):
        return _finding(figures, [_no_interval(regrets[first])])
    if -margin <= change.low and change.high <= margin:
        return Finding(True, f"{figures}, within ±{margin:.0%}")
    apart = change.low > margin or change.high < -margin
    note = f"not within ±{margin:.0%}" if apart else f"more than ±{margin:.0%} is not ruled out"
    return _finding(figures, [note])


def widest(regrets: Regrets, policies: Sequence[str], margin: float | None) -> Finding:
    """Check that the first policy has the widest band between the quartiles of its regret."""
    first, *_ = policies
    bands = {label: np.quantile(regret, [0.25, 0.75]) for label, regret in regrets.items()}
    widths = {label: float(high - low) for label, (low, high) in bands.items()}
    others = sorted((label for label in regrets if label != first), key=widths.__getitem__)
    if not others:
        return _ALONE

    def show(label: str) -> str:
        low, high = bands[label]
        return f"{label} {widths[label]:.1f} [{low:.1f}, {high:.1f}]"

    if widths[others[-1]] >= widths[first]:
        return Finding(False, f"width {show(first)}, but {show(others[-1])}")
    figures = f"width {show(first)}, next {show(others[-1])}"
    if regrets[first].size < 2:
        return _finding(figures, [_no_interval(regrets[first])])

    def lead(rows: npt.NDArray[np.int64]) -> Sample:
        """Return how much wider the first band is than every other, for each resample."""
        drawn = {label: _widths(regret[rows]) for label, regret in regrets.items()}
        return np.stack([drawn[first] - drawn[label] for label in others], axis=1)

    leads = resample(lead, regrets[first].size, _RESAMPLES)
    lowest = np.quantile(leads, 0.5 - CONFIDENCE / 2, axis=0)
    rival = others[int(lowest.argmin())]
    notes = [] if (lowest > 0.0).all() else [f"not significantly wider than {rival}"]
    return _finding(figures, notes)


CHECKS: dict[str, Callable[[Regrets, Sequence[str], float | None], Finding]] = {
    function.__name__: function for function in (best, last, leading, order, close, widest)
}
"""The checks by name; each takes the regrets, the policies of the claim, and its margin."""

_ALONE = Finding(False, "there is no other policy to compare with")


def _ranking(regrets: Regrets) -> list[str]:
    """Return the policies by increasing mean regret."""
    return sorted(regrets, key=lambda label: float(regrets[label].mean()))


def _notes(regrets: Regrets, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return why the first policy of some pair does not surely have less regret; else nothing."""
    for small, large in pairs:
        a, b = regrets[small], regrets[large]
        difference = paired_difference(a, b, CONFIDENCE)
        if difference.high < 0.0:
            continue
        if math.isnan(difference.high):
            return [_no_interval(a)]
        if difference.low <= 0.0:
            value, low, high = (_minus(f"{x:.2f}") for x in (difference.value, *difference[2:4]))
            return [f"{small} − {large} = {value} [{low}, {high}] is not significant"]
        return [f"{small} is behind {large}"]
    return []


def _finding(figures: str, notes: Sequence[str]) -> Finding:
    return Finding(not notes, "; ".join([figures, *notes]))


def _no_interval(regret: Sample) -> str:
    return "one replication shows nothing" if regret.size < 2 else "the regret is 0"


def _next(regrets: Regrets, label: str, small: str, large: str) -> str:
    """Show `label`, which follows the claimed gap: "but" if `small` is not below `large`."""
    as_claimed = regrets[small].mean() < regrets[large].mean()
    return f"{'next' if as_claimed else 'but'} {_show(regrets, label)}"


def _show(regrets: Regrets, label: str) -> str:
    """Show a policy's mean regret with its standard error, to two digits of the error."""
    mean = mean_of(regrets[label], CONFIDENCE)
    if math.isnan(mean.se):
        return f"{label} {mean.value:.1f}"
    number, error = rounded(mean.value, mean.se)
    return f"{label} {number} ± {error}"


def _show_share(ratio: Interval, sign: str = "") -> str:
    if math.isnan(ratio.value):
        return "no ratio"
    value, low, high = (_minus(f"{x:{sign}.1%}") for x in (ratio.value, ratio.low, ratio.high))
    return value if math.isnan(ratio.low) else f"{value} [{low}, {high}]"


def _minus(figure: str) -> str:
    return figure.replace("-", "−")


def _or_infinite(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _widths(samples: Sample) -> Sample:
    low, high = np.quantile(samples, [0.25, 0.75], axis=1)
    return np.asarray(high - low)
