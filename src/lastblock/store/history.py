"""The course of a bandit's log: traffic and rewards of each arm over time, and what changed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.engine.events import ASK, ASK_AMONG, FORGET, KINDS, NOTES, TELL
from lastblock.live.labels import Label
from lastblock.store.export import event_rows
from lastblock.store.recovery import damage_explained
from lastblock.store.storage import Row, View

MOST = 96
"""The largest number of stretches of time; beyond it, two become one."""


class Happening(NamedTuple):
    """Something that changed the arms or the random numbers of a bandit."""

    time: int
    """Microseconds since 1970."""
    decision: int
    """How many decisions had been asked for."""
    kind: str
    """Such as "add_arm"; see `KINDS`."""
    arm: Label | None


@dataclass
class History:
    """The course of a log, in stretches of equally many decisions.

    Parameters
    ----------
    labels
        All arms, including retired ones.
    first
        The number of decisions before the log begins.
    """

    labels: list[Label]
    first: int
    size: int = 1
    """The number of decisions of a stretch; the last one may have fewer."""
    asked: list[npt.NDArray[np.int64]] = field(default_factory=list)
    """The decisions of each arm, one array a stretch."""
    told: list[npt.NDArray[np.float64]] = field(default_factory=list)
    """Count, sum and sum of squares of the rewards of each arm, (3, arms), one a stretch."""
    times: list[int] = field(default_factory=list)
    """When each stretch began, in microseconds since 1970."""
    happenings: list[Happening] = field(default_factory=list)
    end: int | None = None
    """The time of the last event."""
    _asks: int = 0

    @property
    def decisions(self) -> int:
        """The number of decisions in the log."""
        return self._asks

    def add(self, row: Row) -> None:
        """Take in the next event."""
        _, _, time, kind, _, arm, _ = row
        self.end = time
        if kind in (ASK, ASK_AMONG):
            if self._asks == len(self.asked) * self.size:
                self._begin(time)
            self.asked[-1][_place(arm, self.labels)] += 1
            self._asks += 1
        elif kind == TELL:
            if not self.told:
                self._begin(time)
            reward = float(row[6])
            self.told[-1][:, _place(arm, self.labels)] += 1.0, reward, reward * reward
        elif kind > FORGET and KINDS[kind] not in NOTES:
            label = None if arm is None else self.labels[_place(arm, self.labels)]
            self.happenings.append(Happening(time, self.first + self._asks, KINDS[kind], label))

    def _begin(self, time: int) -> None:
        """Begin a stretch; if there are too many, make each as long as two."""
        if len(self.asked) == MOST:
            self.size *= 2
            pairs = range(0, MOST, 2)
            self.asked = [self.asked[i] + self.asked[i + 1] for i in pairs]
            self.told = [self.told[i] + self.told[i + 1] for i in pairs]
            self.times = self.times[::2]
            # MOST is even, so that the last stretch is full, and a new one begins in any case.
        self.asked.append(np.zeros(len(self.labels), np.int64))
        self.told.append(np.zeros((3, len(self.labels))))
        self.times.append(time)

    def starts(self) -> list[int]:
        """Return the first decision of each stretch, and the decision after the last one."""
        ends = [self.first + i * self.size for i in range(len(self.asked))]
        return [*ends, self.first + self._asks]


def _place(arm: Any, labels: list[Label]) -> int:
    if not (isinstance(arm, int) and 0 <= arm < len(labels)):
        raise LookupError(f"arm {arm} has no label")
    return arm


def read_history(view: View, name: str, number: int) -> History:
    """Return the course of a bandit's log, from its earliest event on.

    Raises
    ------
    StoreError
        If the stored data are damaged.
    """
    with damage_explained(view, name):
        begun = view.snapshot(number, first=True)
        history = History(view.arms(number), begun.asked)
        for row in _rows(view, number, begun.event):
            history.add(row)
    return history


def _rows(view: View, number: int, after: int) -> Iterator[Row]:
    for part in event_rows(view, number, after):
        yield from part
