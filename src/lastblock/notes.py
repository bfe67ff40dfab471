"""What a live bandit notes beside its policy's record, for its users and not for the policy.

Per arm: rewards told, their mean and spread, the traffic floor. Who leads, and since when. And the
beginning of the policy's record as it was when the last round was planned, with which `explain`
can tell why. The kernels write all that in passing; a copy of the beginning takes some ten
nanoseconds, one of the whole record would take as long as a decision.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lastblock.jit import kernel
from lastblock.protocol import Record, States
from lastblock.state import ARM, leader_of, record

BYTES_AN_ARM = 64
"""A field with more than that, a history, ends the beginning of the record."""

WORD = 8

NORMAL_95 = 1.959964
"""The 97.5 % quantile of the standard normal law."""


def notes_dtype(room: int, words: int) -> np.dtype[Any]:
    """The notes of a bandit with room for so many arms, whose record begins with so many words."""
    return record(
        [
            ("leader", ARM),
            ("since", np.int64),  # the decision for which it became the leader
            ("told", np.int64, (room,)),
            ("mean", np.float64, (room,)),
            ("spread", np.float64, (room,)),  # the sum of squared distances from the mean
            ("floor", np.float64, (room,)),
            ("planned", np.uint64, (words,)),
        ]
    )


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


def told(note: Record, arm: int) -> Told:
    """The rewards of an arm so far."""
    return Told(int(note.told[arm]), float(note.mean[arm]), float(note.spread[arm]))


@kernel
def note_round(states: States, i: int, note: Record, decision: int) -> None:
    """A round has been planned in record i, to begin with this decision."""
    words = states.view(np.uint64)
    first = i * (states.itemsize // WORD)
    for j in range(note.planned.shape[0]):
        note.planned[j] = words[first + j]
    leader = leader_of(states[i])
    if leader != note.leader:
        note.leader = leader
        note.since = decision


@kernel
def note_reward(note: Record, arm: int, reward: float) -> None:
    """Welford's running mean and spread."""
    note.told[arm] += 1
    distance = reward - note.mean[arm]
    note.mean[arm] += distance / note.told[arm]
    note.spread[arm] += distance * (reward - note.mean[arm])
