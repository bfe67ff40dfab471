"""A bandit's record with its notes and the kernels compiled for both: all that time changes.

The record may be one of an array that belongs to somebody else. Arms, rewards and random streams
are numbers here; labels and decisions are the bandit's affair.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core import resizing
from lastblock.core.last_round import ASKED, BEGINNING, TAKEN, WANTED, note_round
from lastblock.core.layout import FIRST_ROOM, layout_id, record_of, slots, state_dtype
from lastblock.core.protocol import Policy, Record, States, resized
from lastblock.engine.live import (
    ask_floored_live,
    ask_live,
    chance_of,
    forget_live,
    full_live,
    open_live,
    tell_live,
)
from lastblock.engine.record_check import check_record
from lastblock.kernels.jit import plain, specialise
from lastblock.kernels.record_memory import WORD
from lastblock.kernels.streams import Stream, key_of
from lastblock.live.notes import Notes


class Live:
    """The one record of `states`. What is slow, or may fail, makes a new one of these; `become` is
    neither.

    `width` is how many arms fit, `depth` how many rewards of an arm, for a policy that keeps them
    all. `floored` says whether there are traffic floors.
    """

    def __init__(
        self,
        policy: Policy,
        arms: int,
        *,
        width: int | None = None,
        depth: int | None = None,
        floored: bool = False,
        states: States | None = None,
    ) -> None:
        self.policy = policy
        self.width = slots(arms if width is None else width)
        self.depth = FIRST_ROOM if depth is None and getattr(policy, "grows", False) else depth
        self.is_borrowed = states is not None
        if states is None:
            states = np.zeros(1, state_dtype(policy, arms, self.depth, self.width))
        self.states = states
        self._note(Notes(states.dtype, self.width))
        self.is_floored = floored
        ask: Any = ask_floored_live if floored else ask_live
        self._ask: Any = specialise(ask, policy, states, *self._noted, 0)
        self._tell: Any = specialise(tell_live, policy, states, self.told, 0, 0.0)
        self._forget: Any = specialise(forget_live, states, 0)
        self._bind()

    @property
    def s(self) -> Record:
        """The record."""
        return self.states[0]

    @property
    def _noted(self) -> tuple[npt.NDArray[Any], ...]:
        """The notes that asking needs."""
        return (self.planned, self.notes.floor) if self.is_floored else (self.planned,)

    def _note(self, notes: Notes) -> None:
        self.notes, self.told, self.planned = notes, notes.told, notes.planned

    def _bind(self) -> None:
        """Hand the arrays to the two kernels of every decision once for all: that is faster."""
        record = (self.policy, self.states)
        self.ask: Callable[[int], Any] = partial(self._ask, *record, *self._noted)
        """The arm of the decision with this id; with traffic floors, also its probability."""
        self.tell_at_once: Callable[[int, float], bool] = partial(self._tell, *record, self.told)
        """The reward of a decision that was out; False if it is too large or the record full."""

    def start(self, arms: int, key: Stream) -> None:
        """Start the policy in the record."""
        self._start(self.states, arms, key)
        self.note_start()

    def note_start(self) -> None:
        """Begin the notes, for a record that has started."""
        plain(note_round)(self.s, self.planned, 0)

    def _start(self, states: States, arms: int, key: Stream) -> None:
        run: Any = specialise(open_live, self.policy, states, 0, key, 0)
        run(self.policy, states, arms, key, 0)  # replication 0

    @property
    def last_asked(self) -> tuple[int, int, float | None]:
        """How many decisions have been asked for, the arm of the last one and its probability."""
        asked, arm, wanted = self.planned[[ASKED, TAKEN, WANTED]].astype(int).tolist()
        if not self.is_floored:
            return asked, arm, None
        return asked, arm, plain(chance_of)(self.notes.floor, int(self.s.arms), arm, wanted)

    def tell(self, arm: int, reward: float) -> None:
        """The reward of a decision that was out."""
        while not self.tell_at_once(arm, reward):
            self.become(self.grown())

    def forget(self, arm: int) -> None:
        """A decision whose reward will never come."""
        self._forget(self.states, arm)

    def copy(self) -> "Live":
        """The same in an array of its own."""
        other = Live.__new__(Live)
        other.__dict__.update(self.__dict__)
        other.states = self.states.copy()
        other._note(self.notes.copy())
        other.is_borrowed = False
        other._bind()
        return other

    def become(self, other: "Live") -> None:
        """Take the other one's contents, and its arrays unless they must stay where they are."""
        if self.is_borrowed:
            if other.states.dtype != self.states.dtype:
                raise ValueError("this bandit's record has another layout")
            self.states[:] = other.states
            self._note(other.notes)
            self._bind()
        else:
            self.__dict__.update(other.__dict__)

    def with_arm(self) -> "Live":
        """One more arm, in a larger record if need be."""
        arms = int(self.s.arms)
        if arms < self.width:
            new = self.copy()
            new.states[:] = np.zeros(1, new.states.dtype)
        elif self.is_borrowed:
            raise ValueError(f"this bandit's record has room for {self.width} arms only")
        else:
            new = Live(
                self.policy,
                arms + 1,
                width=arms + max(1, arms // 2),
                depth=self.depth,
                floored=self.is_floored,
            )
        self._keep(new, list(range(arms)))
        started = np.zeros(1, new.states.dtype)
        self._start(started, arms + 1, key_of(0))
        resizing.enter(new.s, started[0], new._wider())
        resized(self.policy, new.s, self.s, arms)
        return new

    def without_arm(self, arm: int) -> "Live":
        """One arm less; those after it move up."""
        new = self.copy()
        new.states[:] = np.zeros(1, new.states.dtype)
        self._keep(new, [k for k in range(int(self.s.arms)) if k != arm])
        resized(self.policy, new.s, self.s, arm)
        return new

    def _keep(self, new: "Live", kept: list[int]) -> None:
        resizing.keep(self.s, new.s, self._wider(), kept)
        self.notes.keep(new.notes, kept)

    def _wider(self) -> np.dtype[Any]:
        """The layout of the record with room for one more arm."""
        return record_of(self.policy, self.width + 1, self.depth)

    def grown(self) -> "Live":
        """Twice as long a history."""
        if self.is_borrowed or self.depth is None:
            raise ValueError("this bandit's record is full and cannot grow")
        new = Live(
            self.policy,
            int(self.s.arms),
            width=self.width,
            depth=2 * self.depth + 1,
            floored=self.is_floored,
        )
        resizing.copy(self.s, new.s)
        self.notes.grow(new.notes)
        return new

    def is_full(self, arm: int) -> bool:
        """Whether the record must grow before it takes a reward of this arm."""
        if self.depth is None:
            return False
        full: Any = specialise(full_live, self.policy, self.states, 0)
        return bool(full(self.policy, self.states, arm))

    def reseed(self, key: Stream) -> None:
        """Other random streams: those of a bandit that has just started."""
        started = np.zeros(1, self.states.dtype)
        self._start(started, int(self.s.arms), key)
        resizing.copy_streams(started[0], self.s)

    @property
    def layout(self) -> str:
        return layout_id(self.states.dtype)

    def to_bytes(self) -> bytes:
        """Record and notes, little-endian; padding is zero: equal states have equal bytes."""
        planned = np.zeros(1, self.states.dtype)
        planned.view(np.uint64)[: self.planned.size - BEGINNING] = self.planned[BEGINNING:]
        parts = (
            to_little(self.states),
            self.told.astype("<f8").tobytes(),
            self.notes.floor.astype("<f8").tobytes(),
            self.planned[:BEGINNING].astype("<u8").tobytes(),
            to_little(planned)[: self.planned[BEGINNING:].nbytes],
        )
        return b"".join(parts)

    def read(self, data: bytes) -> None:
        """Fill both from `to_bytes`."""
        state, notes = self.states.dtype, self.notes
        sizes = (state.itemsize, notes.told.nbytes, notes.floor.nbytes, notes.planned.nbytes)
        ends = np.cumsum(sizes).tolist()
        if len(data) != ends[-1]:
            raise ValueError("its record has another size")
        self.states[:] = from_little(data[: ends[0]], state)
        notes.told[:] = np.frombuffer(data[ends[0] : ends[1]], "<f8").reshape(notes.told.shape)
        notes.floor[:] = np.frombuffer(data[ends[1] : ends[2]], "<f8")
        head, rest = np.split(np.frombuffer(data[ends[2] :], np.uint8), [BEGINNING * WORD])
        notes.planned[:BEGINNING] = head.view("<u8")
        planned = from_little(rest.tobytes() + bytes(state.itemsize - rest.size), state)
        notes.planned[BEGINNING:] = planned.view(np.uint64)[: rest.size // WORD]

    def check(self, arms: int) -> None:
        """Raise a ValueError unless a bandit with so many arms can work on record and notes."""
        check_record(self.policy, self.states, arms)
        self.notes.check(arms)
        planned = np.zeros(1, self.states.dtype)
        size = self.planned[BEGINNING:].nbytes
        planned.view(np.uint8)[:size] = self.planned[BEGINNING:].view(np.uint8)
        if planned[0]["round"] != 0:
            check_record(self.policy, planned, arms, size)


def to_little(record: States) -> bytes:
    """One record as bytes, little-endian, with zeros between the fields."""
    little = np.zeros(1, record.dtype.newbyteorder("<"))
    little[:] = record
    return (little.view(np.uint8) & _occupied(record.dtype)).tobytes()


def from_little(data: bytes, dtype: np.dtype[Any]) -> States:
    """The record of `to_little`."""
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype)


def _occupied(dtype: np.dtype[Any]) -> npt.NDArray[np.uint8]:
    """Ones where a record has a field, zeros between."""
    fields: Any = dtype.fields
    ones = np.zeros(dtype.itemsize, np.uint8)
    for name in dtype.names or ():
        part, offset = fields[name][:2]
        ones[offset : offset + part.itemsize] = _occupied(part) if part.names else 0xFF
    return ones
