"""What the charts of a bandit draw, as values for JSON."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.drawing.styles import COLOURS, SHAPES, Look, looks
from lastblock.live.changes import Change
from lastblock.live.labels import Label
from lastblock.live.summary import wilson
from lastblock.serve.dashboard.glance import CONFIDENCE
from lastblock.serve.dashboard.timelines import ASKED, SQUARES, TOLD, TOTAL, TimelineCounts
from lastblock.support.intervals import normal_reach

MOST_CURVES = 10
"""How many arms have a curve of their own; those with less traffic share one."""


LEAST_STRETCHES = 24
ENOUGH = 40
"""A stretch has so many decisions and rewards, on average, if there are many stretches."""


def mark(place: int) -> dict[str, Any]:
    """Return the look of the arm at a place among all arms: the same in all tables and charts."""
    return _mark(looks([str(each) for each in range(place + 1)])[str(place)])


def _mark(look: Look) -> dict[str, Any]:
    return {
        "colour": COLOURS.index(look.colour),
        "shape": SHAPES[look.marker],
        "dash": list(look.dash),
    }


def chart(counted: TimelineCounts, changes: Sequence[Change[Any]], asked: int) -> dict[str, Any]:
    """Return what the charts draw.

    Parameters
    ----------
    counted
        The counts over time.
    changes
        The changes that the policy has noticed.
    asked
        The number of decisions that the bandit has taken.
    """
    counted = coarser(counted)
    counts = counted.counts
    totals = counts[:, :, ASKED].sum(axis=1)
    by_traffic = np.argsort(-counts[:, :, ASKED].sum(axis=0), kind="stable")
    seen = [int(k) for k in by_traffic if counts[:, k, :2].any()]
    own = sorted(seen if len(seen) <= MOST_CURVES + 1 else seen[:MOST_CURVES])
    arms = [
        {"label": str(counted.labels[k]), "mark": mark(k), **_curves(counts[:, k], totals)}
        for k in own
    ]
    others = [k for k in seen if k not in own]
    if others:
        label = f"{len(others)} others"
        arms.append({"label": label, **_curves(counts[:, others].sum(axis=1), totals)})
    return {
        "times": [start / 1e6 for start in counted.starts.tolist()],
        "length": counted.length / 1e6,
        "arms": arms,
        "decisions": [int(each) for each in totals],
        "milestones": [_milestone(*each) for each in counted.milestones],
        "changes": [_change(each, counted, totals, asked) for each in changes],
    }


def coarser(counted: TimelineCounts) -> TimelineCounts:
    """Return the counts of stretches that are long enough for curves to say something.

    Means of a handful of rewards, one in twenty of which is a 1, would jump between 0 and 1.
    """
    counts, starts = counted.counts, counted.starts
    events = float(counts[:, :, :2].sum()) / 2.0
    wanted, factor = max(LEAST_STRETCHES, events / ENOUGH), 1
    while len(starts) > wanted * factor:
        factor *= 2  # so that curves change their shape only now and then
    if factor == 1:
        return counted
    length = counted.length * factor
    places = starts // length - starts[0] // length
    merged = np.zeros((int(places[-1]) + 1, *counts.shape[1:]))
    np.add.at(merged, places, counts)
    begun = (starts[0] // length + np.arange(len(merged), dtype=np.int64)) * length
    return counted._replace(counts=merged, starts=begun, length=length)


def _curves(
    counts: npt.NDArray[np.float64], totals: npt.NDArray[np.float64]
) -> dict[str, list[float | None]]:
    """Return the shares of the traffic, the mean rewards and their intervals."""
    share = [_finite(a / b) if b else None for a, b in zip(counts[:, ASKED], totals, strict=True)]
    mean, low, high = zip(*map(_rate, counts), strict=True) if len(counts) else ((), (), ())
    return {"share": share, "mean": list(mean), "low": list(low), "high": list(high)}


def _rate(row: npt.NDArray[np.float64]) -> tuple[float | None, float | None, float | None]:
    n, total, squares = float(row[TOLD]), float(row[TOTAL]), float(row[SQUARES])
    if not n:
        return None, None, None
    mean = total / n
    if squares == total and 0.0 <= mean <= 1.0:  # rewards of 0 and 1, as good as always
        low, high = wilson(mean, n, CONFIDENCE)
    elif n > 1 and math.isfinite(squares):
        spread = max(0.0, squares - n * mean * mean) / (n - 1)
        half = normal_reach(CONFIDENCE) * math.sqrt(spread / n)
        low, high = mean - half, mean + half
    else:
        low = high = math.nan
    return _finite(mean), _finite(low), _finite(high)


def _finite(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) else None


_WORDS = {
    "add_arm": "added",
    "retire_arm": "retired",
    "pause_arm": "paused",
    "resume_arm": "resumed",
    "set_floors": "floors set",
}


def _milestone(time: int, kind: str, arm: Label | None) -> dict[str, Any]:
    """Return when an arm came, went, was paused or resumed, or the floors were set."""
    name = "" if arm is None else f"{arm} "
    return {"time": time / 1e6, "kind": kind, "text": name + _WORDS[kind]}


def _change(
    change: Change[Any], counted: TimelineCounts, totals: npt.NDArray[np.float64], asked: int
) -> dict[str, Any]:
    """Return a change, with the time around which it happened, as far as the log knows it.

    Decisions are counted back from the last one: the history may not begin with the first.
    """
    after = asked - np.cumsum(totals[::-1])[::-1]  # decisions before each stretch
    time = None
    if len(totals) and change.decision >= after[0]:
        k = int(np.searchsorted(after, change.decision, side="right")) - 1
        part = (change.decision - after[k]) / max(1.0, totals[k])
        time = (float(counted.starts[k]) + min(1.0, float(part)) * counted.length) / 1e6
    at = [str(label) for label in counted.labels]
    known = change.arm is not None and str(change.arm) in at
    return {
        "time": time,
        "arm": None if change.arm is None else str(change.arm),
        "mark": mark(at.index(str(change.arm))) if known else None,
        "old": _finite(change.old),
        "new": _finite(change.new),
        "text": str(change),
    }
