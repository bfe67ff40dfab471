"""What a live bandit notes beside its policy's record, for its users and not for the policy.

- For each arm: the number of rewards told, their mean and spread (`told`), its traffic floor.
- Of the last round (`planned`): who leads, since which decision; how many decisions have been asked
  for, the arm of the last one and the arm that the policy wanted; and then the beginning of the
  policy's record as it was when the round was planned, with which `explain` can tell why.

The kernels write that in passing; a copy of the beginning takes some ten nanoseconds, one of the
whole record would take as long as a decision. They are plain arrays, since a kernel for one more
kind of record takes half a second to compile.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.jit import kernel
from lastblock.memory import WORD, copy_beginning
from lastblock.protocol import Record
from lastblock.state import NOBODY, leader_of

BYTES_AN_ARM = 64
"""A field with more than that, a history, ends the beginning of the record."""

LEADER, SINCE, ASKED, TAKEN, WANTED, BEGINNING = range(6)

NORMAL_95 = 1.959964
"""The 97.5 % quantile of the standard normal law."""


class Told(NamedTuple):
    """The rewards of an arm: how many, their mean, the sum of squared distances from it."""

    pulls: int
    mean: float
    spread: float

    @property
    def half_width(self) -> float:
        """Half the width of a 95 % interval for the mean, by the normal law."""
        if self.pulls < 2:
            return math.inf
        return NORMAL_95 * math.sqrt(self.spread / (self.pulls - 1) / self.pulls)


class Notes:
    """The arrays, for a record of this layout with room for so many arms."""

    def __init__(self, state: np.dtype[Any], room: int) -> None:
        self.told = np.zeros((room, 3))
        self.floor = np.zeros(room)
        self.planned = np.zeros(BEGINNING + beginning(state, room), np.uint64)
        self.planned[LEADER] = NOBODY

    @property
    def leader(self) -> int | None:
        """Who leads, if the policy has a leader."""
        leader = int(self.planned[LEADER])
        return None if leader == NOBODY else leader

    @property
    def since(self) -> int:
        """The decision for which it became the leader."""
        return int(self.planned[SINCE])

    def told_of(self, arm: int) -> Told:
        """The rewards of an arm."""
        pulls, mean, spread = self.told[arm].tolist()
        return Told(int(pulls), mean, spread)

    def copy(self) -> "Notes":
        """The same, independent."""
        other = Notes.__new__(Notes)
        other.told, other.floor = self.told.copy(), self.floor.copy()
        other.planned = self.planned.copy()
        return other

    def keep(self, new: "Notes", kept: list[int]) -> None:
        """Fill other notes, after arms came or went; the round that was planned is gone."""
        new.told[: len(kept)] = self.told[kept]
        new.told[len(kept) :] = 0.0
        new.floor[: len(kept)] = self.floor[kept]
        new.floor[len(kept) :] = 0.0
        new.planned[:] = 0
        new.planned[SINCE] = self.planned[SINCE]
        new.planned[LEADER] = kept.index(self.leader) if self.leader in kept else NOBODY

    def grow(self, new: "Notes") -> None:
        """Fill the notes of a record with longer histories."""
        new.told[:], new.floor[:], new.planned[:] = self.told, self.floor, self.planned


def beginning(state: np.dtype[Any], room: int) -> int:
    """The words of a record before its first large field."""
    offset, found = _first_large(state, room * BYTES_AN_ARM)
    return (offset if found else state.itemsize) // WORD


def _first_large(dtype: np.dtype[Any], limit: int) -> tuple[int, bool]:
    fields: Any = dtype.fields
    for name in dtype.names or ():
        part, offset = fields[name][:2]
        if part.names:
            inner, found = _first_large(part, limit)
            if found:
                return offset + inner, True
        elif part.itemsize > limit:
            return offset, True
    return 0, False


@kernel
def note_round(
    s: Record,
    planned: npt.NDArray[np.uint64],
    decision: int,
) -> None:
    """A round has been planned, to begin with this decision."""
    copy_beginning(s, planned, BEGINNING)
    leader = np.uint64(leader_of(s))
    if leader != planned[LEADER]:
        planned[LEADER] = leader
        planned[SINCE] = np.uint64(decision)


@kernel
def note_decision(planned: npt.NDArray[np.uint64], decision: int, arm: int, wanted: int) -> None:
    """A decision has been taken: should an interrupt lose the answer, it is to be found here."""
    planned[ASKED] = np.uint64(decision + 1)
    planned[TAKEN] = np.uint64(arm)
    planned[WANTED] = np.uint64(wanted)


@kernel
def note_reward(told: npt.NDArray[np.float64], arm: int, reward: float) -> None:
    """Welford's running mean and spread."""
    told[arm, 0] += 1.0
    distance = reward - told[arm, 1]
    told[arm, 1] += distance / told[arm, 0]
    told[arm, 2] += distance * (reward - told[arm, 1])
