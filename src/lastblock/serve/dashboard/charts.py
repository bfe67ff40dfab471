"""The course of a bandit: its decisions and rewards over time, and what the charts draw of them."""

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.reward_stats import Told
from lastblock.core.support import Support
from lastblock.drawing.styles import COLOURS, SHAPES, Look, looks
from lastblock.live.changes import Change
from lastblock.live.labels import Label
from lastblock.live.mean_rewards import mean_rewards, model_of
from lastblock.store.storage import MOST_MILESTONES, Tally
from lastblock.store.store import Store
from lastblock.theory.confidence_sequences import Model

MOST_STRETCHES: Final = 180
MOST_EVENTS: Final = 1_000_000
MOST_TIMELINES: Final = 32
"""How many bandits' timelines are kept; those that nobody has looked at for longest go first."""

_SECOND = 1_000_000
LENGTHS: Final[tuple[int, ...]] = tuple(
    seconds * _SECOND for seconds in (1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400)
) + tuple(604_800 * _SECOND << 2 * k for k in range(8))
"""Lengths of stretches: each is a multiple of the one before, so that stretches can be merged."""

ASKED, TOLD, TOTAL, SQUARES = range(4)
_COLUMNS = 4


class TimelineCounts(NamedTuple):
    """The decisions and rewards of each arm over time."""

    labels: Sequence[Label]
    """All arms, including retired ones."""
    starts: npt.NDArray[np.int64]
    """When each stretch begins, in microseconds since 1970; all stretches from first to last."""
    length: int
    """The length of a stretch, in microseconds."""
    counts: npt.NDArray[np.float64]
    """For each stretch and arm: decisions, rewards, the sum of rewards, and of their squares."""
    milestones: Sequence[tuple[int, str, Label | None]] = ()
    """When arms or floors changed: the time in microseconds, the kind of the event, the arm."""


def length_for(span: float) -> int:
    """Return the shortest length of which few enough stretches fill a span of microseconds."""
    for length in LENGTHS:
        if span / length < MOST_STRETCHES - 1:
            return length
    return LENGTHS[-1]


class Timeline:
    """The timeline of one bandit, which is counted further at each look.

    Parameters
    ----------
    store
        The store that has the bandit.
    name
        The name of the bandit.
    """

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._lock = threading.Lock()
        self._event: int | None = None
        self._length: int = LENGTHS[0]
        self._stretches: dict[int, npt.NDArray[np.float64]] = {}
        self._labels: list[Label] = []
        self._milestones: deque[tuple[int, str, Label | None]] = deque(maxlen=MOST_MILESTONES)

    def look(self) -> TimelineCounts:
        """Count the events since the last look, and return all counts; it may take a second."""
        with self._lock:
            found = self._store.tally(
                self._name,
                length=length_for if self._event is None else self._same,
                after=self._event,
                most=MOST_EVENTS,
            )
            self._event, self._length, self._labels = found.until, found.length, found.labels
            for tally in found.tallies:
                self._add(tally)
            self._milestones += found.milestones
            self._shorten()
            return self._counted()

    def _same(self, span: float) -> int:
        return self._length

    def _add(self, tally: Tally) -> None:
        counts = self._stretches.get(tally.stretch)
        if counts is None or len(counts) < len(self._labels):
            more = np.zeros((len(self._labels), _COLUMNS))
            if counts is not None:
                more[: len(counts)] = counts
            counts = self._stretches[tally.stretch] = more
        counts[tally.arm] += tally[2:]

    def _shorten(self) -> None:
        """Merge stretches until they are few enough."""
        while self._stretches and self._is_long() and self._length < LENGTHS[-1]:
            longer = LENGTHS[LENGTHS.index(self._length) + 1]
            merged: dict[int, npt.NDArray[np.float64]] = {}
            for stretch in sorted(self._stretches):
                counts = self._stretches[stretch]
                at = stretch * self._length // longer
                if at in merged:  # later stretches have at least as many arms
                    before, counts = merged[at], counts.copy()
                    size = max(len(before), len(counts))
                    sums = np.zeros((size, _COLUMNS))
                    sums[: len(before)] += before
                    sums[: len(counts)] += counts
                    counts = sums
                merged[at] = counts
            self._stretches, self._length = merged, longer

    def _is_long(self) -> bool:
        return max(self._stretches) - min(self._stretches) >= MOST_STRETCHES

    def _counted(self) -> TimelineCounts:
        marks = list(self._milestones)
        if not self._stretches:
            empty = np.zeros((0, len(self._labels), _COLUMNS))
            return TimelineCounts(self._labels, np.zeros(0, np.int64), self._length, empty, marks)
        first, last = min(self._stretches), max(self._stretches)
        counts = np.zeros((last - first + 1, len(self._labels), _COLUMNS))
        for stretch, found in self._stretches.items():
            counts[stretch - first, : len(found)] = found
        starts = np.arange(first, last + 1, dtype=np.int64) * self._length
        return TimelineCounts(self._labels, starts, self._length, counts, marks)


class Timelines:
    """The timelines of the bandits that somebody looks at.

    Parameters
    ----------
    store
        The store that has the bandits.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int], Timeline] = OrderedDict()

    def of(self, name: str, number: int) -> Timeline:
        """Return the timeline of the bandit of this name and number."""
        with self._lock:
            found = self._kept.pop((name, number), None) or Timeline(self._store, name)
            self._kept[name, number] = found
            while len(self._kept) > MOST_TIMELINES:
                self._kept.popitem(last=False)
            return found


MOST_CURVES = 10
"""How many arms have a curve of their own; those with less traffic share one."""


LEAST_STRETCHES = 12
ENOUGH = 40
"""A stretch has so many rewards, on average, if there are many stretches. Of rewards of 0 and 1
those count twice of which there are fewer: a click says more than one of a hundred visits without.
"""


def mark(place: int) -> dict[str, Any]:
    """Return the look of the arm at a place among all arms: the same in all tables and charts."""
    return _mark(looks([str(each) for each in range(place + 1)])[str(place)])


def _mark(look: Look) -> dict[str, Any]:
    return {
        "colour": COLOURS.index(look.colour),
        "shape": SHAPES[look.marker],
        "dash": list(look.dash),
    }


def chart(
    counted: TimelineCounts, changes: Sequence[Change[Any]], asked: int, support: Support
) -> dict[str, Any]:
    """Return what the charts draw.

    Parameters
    ----------
    counted
        The counts over time.
    changes
        The changes that the policy has noticed.
    asked
        The number of decisions that the bandit has taken.
    support
        The rewards that its policy takes.
    """
    counted = coarser(counted)
    counts = counted.counts
    totals = counts[:, :, ASKED].sum(axis=1)
    by_traffic = np.argsort(-counts[:, :, ASKED].sum(axis=0), kind="stable")
    seen = [int(k) for k in by_traffic if counts[:, k, :2].any()]
    own = sorted(seen if len(seen) <= MOST_CURVES + 1 else seen[:MOST_CURVES])
    # Of an arm without a sale one cannot tell that its rewards are sales.
    model = model_of([_told(*row) for row in counts[:, :, TOLD:].reshape(-1, 3)], support, None)
    arms = [
        {"label": str(counted.labels[k]), "mark": mark(k), **_curves(counts[:, k], totals, model)}
        for k in own
    ]
    others = [k for k in seen if k not in own]
    if others:
        label = f"{len(others)} others"
        arms.append({"label": label, **_curves(counts[:, others].sum(axis=1), totals, model)})
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
    asked, told, total, squares = (float(each) for each in counts.sum(axis=(0, 1)))
    says = (asked + told) / 2.0
    if squares == total and 0.0 < total <= told:  # rewards of 0 and 1, as good as always
        says = min(says, 2.0 * min(total, told - total))
    wanted, factor = max(LEAST_STRETCHES, says / ENOUGH), 1
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
    counts: npt.NDArray[np.float64], totals: npt.NDArray[np.float64], model: Model
) -> dict[str, list[float | None]]:
    """Return the shares of the traffic, the mean rewards and their intervals."""
    share = [_finite(a / b) if b else None for a, b in zip(counts[:, ASKED], totals, strict=True)]
    told = [_told(*row) for row in counts[:, TOLD:].tolist()]
    found = mean_rewards(model, told)
    return {
        "share": share,
        "mean": [None if each.mean is None else _finite(each.mean) for each in found],
        "low": [_finite(each.low) if each.rewards else None for each in found],
        "high": [_finite(each.high) if each.rewards else None for each in found],
    }


def _told(n: float, total: float, squares: float) -> Told:
    """Return the statistics of the rewards of a stretch, from their sums."""
    if not n:
        return Told(0, 0.0, 0.0)
    mean = total / n
    return Told(int(n), mean, max(0.0, squares - n * mean * mean))


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
