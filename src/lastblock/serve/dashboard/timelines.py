"""What happened to a bandit over time, in a fixed number of stretches.

The database counts the events of each stretch; later looks count only what has come since. So a
timeline takes the same memory for a thousand events and for a billion.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.live.labels import Label
from lastblock.store.storage import MOST_MILESTONES, Tally
from lastblock.store.store import Store

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
