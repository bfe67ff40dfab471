"""The last round of a live bandit, kept so that `explain` can say why its arms were pulled.

It is an array of words. They say who leads and since which decision, how many decisions have been
asked for, the arm of the last one and the arm that the policy wanted. The other words are the
beginning of the policy's record as it was when the round was planned. Kernels write the array at
every round: copying the beginning takes some ten nanoseconds, while copying the whole record would
take as long as a decision.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import HEADER
from lastblock.core.protocol import Record
from lastblock.core.rounds import leader_of
from lastblock.kernels.jit import kernel, kernel_of
from lastblock.kernels.record_memory import WORD, copy_beginning

BYTES_AN_ARM = 64
"""The beginning of a record ends before the first field with more bytes an arm, a history."""

LEADER, SINCE, ASKED, TAKEN, WANTED, BEGINNING = range(6)


def beginning(state: np.dtype[Any], room: int) -> int:
    """Return the number of words of a record before its first large field."""
    offset, found = _first_large(state, room * BYTES_AN_ARM)
    return (offset if found else state.itemsize) // WORD


def _first_large(dtype: np.dtype[Any], limit: int) -> tuple[int, bool]:
    fields: Any = dtype.fields
    for part, offset, *_ in sorted(fields.values(), key=lambda field: int(field[1])):
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
    """Note a round that has just been planned and that begins with this decision."""
    _note_beginning(s, planned, decision, np.uint64(leader_of(s)))


@kernel_of(HEADER)
def _note_beginning(
    s: Record, planned: npt.NDArray[np.uint64], decision: int, leader: np.uint64
) -> None:
    copy_beginning(s, planned, BEGINNING)
    if leader != planned[LEADER]:
        planned[LEADER] = leader
        planned[SINCE] = np.uint64(decision)


@kernel
def note_decision(planned: npt.NDArray[np.uint64], decision: int, arm: int, wanted: int) -> None:
    """Note a decision, so that it can be found here if an interrupt loses the answer."""
    planned[ASKED] = np.uint64(decision + 1)
    planned[TAKEN] = np.uint64(arm)
    planned[WANTED] = np.uint64(wanted)
