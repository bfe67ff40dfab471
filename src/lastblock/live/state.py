"""A bandit's record, its notes, and the kernels for both: plain Python until they are compiled.

Arms are places in the record here; labels and decisions belong to the desk.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core import resizing
from lastblock.core.failures import soon_compiled
from lastblock.core.last_round import (
    ASKED,
    BEGINNING,
    LEADER,
    SINCE,
    TAKEN,
    WANTED,
    beginning,
    note_round,
)
from lastblock.core.layout import (
    FIRST_ROOM,
    NOBODY,
    grows,
    layout_id,
    record_of,
    room_for,
    slots,
    state_dtype,
)
from lastblock.core.protocol import Policy, Record, States, resized
from lastblock.core.registry import require_policy
from lastblock.core.reward_stats import COLUMNS, Told
from lastblock.engine.live import (
    ask_floored_live,
    ask_live,
    chance_of,
    forget_live,
    full_live,
    open_live,
    tell_live,
)
from lastblock.engine.sound_records import check_record
from lastblock.kernels.background import SoonCompiled
from lastblock.kernels.jit import DISABLED, plain
from lastblock.kernels.record_arrays import RecordArray
from lastblock.kernels.record_memory import WORD
from lastblock.kernels.streams import Stream, key_of
from lastblock.live.absence import RecordMap
from lastblock.live.labels import SLACK

_KEY = key_of(0)

LARGEST_EXACT = 2.0**53
"""Counts are floats, which are exact up to this number."""


class Notes:
    """Rewards and floors of each arm, and the last round, as arrays.

    Parameters
    ----------
    state
        The layout of the record.
    room
        The number of arms that the record has room for.
    """

    def __init__(self, state: np.dtype[Any], room: int) -> None:
        self.told = np.zeros((room, COLUMNS))
        self.floor = np.zeros(room)
        self.planned = np.zeros(BEGINNING + beginning(state, room), np.uint64)
        self.planned[LEADER] = NOBODY

    @property
    def leader(self) -> int | None:
        """The place of the leader in the record; None if the policy has no leader."""
        leader = int(self.planned[LEADER])
        return None if leader == NOBODY else leader

    @property
    def since(self) -> int:
        """The decision for which the leader became the leader."""
        return int(self.planned[SINCE])

    def told_of(self, arm: int) -> Told:
        """Return the statistics of an arm's rewards."""
        pulls, *others = self.told[arm].tolist()
        return Told(int(pulls), *others)

    def copy(self) -> "Notes":
        """Return an independent copy."""
        other = Notes.__new__(Notes)
        other.told, other.floor = self.told.copy(), self.floor.copy()
        other.planned = self.planned.copy()
        return other

    def check(self, arms: int) -> None:
        """Raise a ValueError unless these can be the notes of a bandit with `arms` arms."""
        counts, floor = self.told[:, 0], self.floor
        if not np.all((counts >= 0.0) & (counts <= LARGEST_EXACT) & (counts % 1.0 == 0.0)):
            raise ValueError("its counts of rewards are not whole numbers")
        if not (np.all(floor >= 0.0) and floor.sum() <= 1.0 + SLACK):  # NaN fails as well
            raise ValueError("its traffic floors do not lie between 0 and 1")
        leader, taken, wanted = self.planned[[LEADER, TAKEN, WANTED]].tolist()
        if (leader >= arms and leader != NOBODY) or max(taken, wanted) >= arms:
            raise ValueError("its last round names an arm that does not exist")

    def keep(self, new: "Notes", kept: list[int]) -> None:
        """Fill `new`, the notes after arms came or went; `kept` are the places of those that stay.

        The last round is not kept.
        """
        new.told[: len(kept)] = self.told[kept]
        new.told[len(kept) :] = 0.0
        new.floor[: len(kept)] = self.floor[kept]
        new.floor[len(kept) :] = 0.0
        new.planned[:] = 0
        new.planned[SINCE] = self.planned[SINCE]
        new.planned[LEADER] = kept.index(self.leader) if self.leader in kept else NOBODY

    def grow(self, new: "Notes") -> None:
        """Fill `new`, the notes of a record with longer histories."""
        new.told[:], new.floor[:], new.planned[:] = self.told, self.floor, self.planned


class Live:
    """A record with its notes and kernels.

    Operations that are slow or may fail return a new object; `become` then takes its contents
    over quickly and without failing.

    While a kernel is being compiled, plain Python does its work: `ask` and `tell_at_once` look for
    the compiled code at every call, and are replaced as soon as there is some.

    Parameters
    ----------
    policy
        The policy.
    arms
        The number of arms.
    width
        The number of arms that fit; by default, the next of 2, 4, 8, 16 …
    depth
        The number of rewards per arm that fit, for a policy that keeps all rewards.
    floored
        Whether there are traffic floors.
    """

    def __init__(
        self,
        policy: Policy,
        arms: int,
        *,
        width: int | None = None,
        depth: int | None = None,
        floored: bool = False,
    ) -> None:
        self.policy = policy
        self.width = room_for(arms) if width is None else slots(width)
        self.depth = FIRST_ROOM if depth is None and grows(policy, arms) else depth
        self.states = np.zeros(1, state_dtype(policy, arms, self.depth, self.width))
        self.records = RecordArray(self.states)
        self._note(Notes(self.states.dtype, self.width))
        self.is_floored = floored
        record = (policy, self.records)
        self._ask = self._asking()
        self._tell = soon_compiled(tell_live, *record, self.told, 0, 0.0)
        self._forget = soon_compiled(forget_live, self.records, 0)
        self._open = soon_compiled(open_live, *record, 0, _KEY, 0)
        self._full = soon_compiled(full_live, *record, 0)
        self._map: RecordMap | None = None  # of this layout; made when it is needed
        self.bind()

    def _asking(self) -> SoonCompiled:
        """Return the kernel of `ask`, which is another one if there are traffic floors."""
        ask: Any = ask_floored_live if self.is_floored else ask_live
        return soon_compiled(ask, self.policy, self.records, *self._noted, 0)

    @property
    def s(self) -> Record:
        """The record itself."""
        return self.states[0]

    @property
    def _noted(self) -> tuple[npt.NDArray[Any], ...]:
        """The notes that asking needs."""
        return (self.planned, self.notes.floor) if self.is_floored else (self.planned,)

    def _note(self, notes: Notes) -> None:
        self.notes, self.told, self.planned = notes, notes.told, notes.planned

    def bind(self) -> None:
        """Bind the arrays to the kernels of `ask` and `tell` once, which makes calls faster."""
        record = (self.policy, self.records)
        self.ask: Callable[[int], Any] = self._bound(self._ask, *record, *self._noted)
        """Take the decision with this number: return its arm; with floors, its probability too."""
        self.tell_at_once: Callable[[int, float], bool] = self._bound(
            self._tell, *record, self.told
        )
        """Learn a reward of an arm; return False if the reward is too large or the record full."""
        self.tell_compiled = self.tell_at_once if self._tell.code else None
        """The same if it is compiled, and so cannot be interrupted; else None."""

    def _bound(self, kernel: SoonCompiled, *arguments: Any) -> Callable[..., Any]:
        if kernel.code is not None:
            return partial(kernel.code, *arguments)
        if DISABLED:  # nothing to look for; and no reference to `self`, so that records are let go
            return partial(kernel.run, *arguments)

        def run(*others: Any) -> Any:
            self._look()
            if kernel.code is not None:
                self.bind()  # from the next call on, there is nothing to look for
            return kernel.run(*arguments, *others)

        return run

    @property
    def kernels(self) -> tuple[SoonCompiled, ...]:
        """What every bandit needs: the kernels of `ask`, `tell` and `forget`."""
        return self._ask, self._tell, self._forget

    @property
    def is_compiled(self) -> bool:
        """Whether `ask`, `tell` and `forget` have their compiled code."""
        return all(kernel.code is not None for kernel in self.kernels)

    def compile_soon(self) -> None:
        """Have `ask`, `tell` and `forget` compiled in the background, if they are not yet."""
        self._look()
        self.bind()

    def _look(self) -> None:
        for kernel in self.kernels:
            kernel.look()

    def compile(self) -> None:
        """Wait until `ask`, `tell` and `forget` are compiled; they are bound at the next call."""
        for kernel in self.kernels:
            kernel.wait()

    def start(self, arms: int, key: Stream, replication: int = 0) -> None:
        """Start the policy in the record, with the random stream of this replication."""
        self._start(self.states, arms, key, replication)
        self.note_start()

    def note_start(self) -> None:
        """Start the notes, for a record that has started."""
        plain(note_round)(self.s, self.planned, 0)

    def _start(self, states: States, arms: int, key: Stream, replication: int = 0) -> None:
        """Start the policy in a record, in plain Python: this happens rarely."""
        self._open.run_plain(self.policy, states, arms, key, replication)

    @property
    def last_asked(self) -> tuple[int, int, float | None]:
        """How many decisions have been asked for, the arm of the last one and its probability."""
        asked, arm, wanted = self.planned[[ASKED, TAKEN, WANTED]].astype(int).tolist()
        if not self.is_floored:
            return asked, arm, None
        return asked, arm, plain(chance_of)(self.notes.floor, int(self.s.arms), arm, wanted)

    def tell(self, arm: int, reward: float) -> None:
        """Learn a reward of an arm; make room for it if need be."""
        while not self.tell_at_once(arm, reward):
            self.become(self.grown())

    def forget(self, arm: int) -> None:
        """Drop a decision for this arm whose reward will never come."""
        self._forget.run(self.records, arm)

    def copy(self, states: States | None = None) -> "Live":
        """Return an independent copy, in an array of its own; or with another record, `states`."""
        other = Live.__new__(Live)
        other.__dict__.update(self.__dict__)
        other.states = self.states.copy() if states is None else states
        other.records = RecordArray(other.states)
        other._note(self.notes.copy())
        other.bind()
        return other

    def become(self, other: "Live") -> None:
        """Take over the contents and arrays of `other`."""
        self.__dict__.update(other.__dict__)
        self.bind()

    def with_arm(self) -> "Live":
        """Return a copy with one more arm, in a larger record if need be."""
        arms = int(self.s.arms)
        if arms < self.width:
            new = self.copy()
            new.states[:] = np.zeros(1, new.states.dtype)
        else:
            new = Live(self.policy, arms + 1, depth=self.depth, floored=self.is_floored)
        self._keep(new, list(range(arms)))
        started = np.zeros(1, new.states.dtype)
        new._start(started, arms + 1, _KEY)
        resizing.enter(new.s, started[0], new._wider())
        resized(self.policy, new.s, self.s, arms)
        return new

    def without_arm(self, arm: int) -> "Live":
        """Return a copy without this arm; the arms after it move up by one place."""
        new = self.copy()
        new.states[:] = np.zeros(1, new.states.dtype)
        self._keep(new, [k for k in range(int(self.s.arms)) if k != arm])
        resized(self.policy, new.s, self.s, arm)
        return new

    def with_floors(self, shares: Sequence[float] | None) -> "Live":
        """Return a copy with these traffic floors of its arms; None for none."""
        new = self.copy()
        new.notes.floor[:] = 0.0
        if shares is not None:
            new.notes.floor[: len(shares)] = shares
        if new.is_floored != (shares is not None):
            new.is_floored = shares is not None
            new._ask = new._asking()
            new.compile_soon()
        return new

    @property
    def record_map(self) -> RecordMap:
        """Where the layout of the record has entries of arms."""
        if self._map is None:
            self._map = RecordMap(self.policy, self.states.dtype, self._wider())
        return self._map

    def _keep(self, new: "Live", kept: list[int]) -> None:
        resizing.keep(self.s, new.s, self._wider(), kept)
        self.notes.keep(new.notes, kept)

    def _wider(self) -> np.dtype[Any]:
        """Return the layout of the record with room for one more arm."""
        return record_of(self.policy, self.width + 1, self.depth)

    def grown(self) -> "Live":
        """Return a copy with room for twice as many rewards."""
        if self.depth is None:
            raise ValueError(
                "this bandit's record is full and cannot grow; its policy must declare grows=True"
            )
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
        """Return whether the record must grow before it takes another reward of this arm."""
        if self.depth is None:
            return False
        return bool(self._full.run(self.policy, self.records, arm))

    def reseed(self, key: Stream) -> None:
        """Replace the random streams by those of a bandit that starts with this key."""
        started = np.zeros(1, self.states.dtype)
        self._start(started, int(self.s.arms), key)
        resizing.copy_streams(started[0], self.s)

    @property
    def layout(self) -> str:
        return layout_id(self.states.dtype)

    def to_bytes(self) -> bytes:
        """Return record and notes, little-endian, padded with zeros: equal states, equal bytes."""
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
        """Fill record and notes with what `to_bytes` returned."""
        state, notes = self.states.dtype, self.notes
        told = notes.told
        sizes = [state.itemsize, told.nbytes, notes.floor.nbytes, notes.planned.nbytes]
        ends = np.cumsum(sizes).tolist()
        if len(data) != ends[-1]:
            raise ValueError(f"its record has {len(data)} bytes instead of {ends[-1]}")
        self.states[:] = from_little(data[: ends[0]], state)
        told[:] = np.frombuffer(data[ends[0] : ends[1]], "<f8").reshape(told.shape)
        notes.floor[:] = np.frombuffer(data[ends[1] : ends[2]], "<f8")
        head, rest = np.split(np.frombuffer(data[ends[2] :], np.uint8), [BEGINNING * WORD])
        notes.planned[:BEGINNING] = head.view("<u8")
        planned = from_little(rest.tobytes() + bytes(state.itemsize - rest.size), state)
        notes.planned[BEGINNING:] = planned.view(np.uint64)[: rest.size // WORD]

    def check(self, arms: int) -> None:
        """Raise a ValueError unless record and notes can be those of a bandit with `arms` arms."""
        check_record(self.states, arms)
        self.notes.check(arms)
        planned = np.zeros(1, self.states.dtype)
        size = self.planned[BEGINNING:].nbytes
        planned.view(np.uint8)[:size] = self.planned[BEGINNING:].view(np.uint8)
        if planned[0]["round"] != 0:
            check_record(planned, arms, size)


def to_little(record: States) -> bytes:
    """Return a record as bytes, little-endian, with zeros between the fields."""
    little = np.zeros(1, record.dtype.newbyteorder("<"))
    little[:] = record
    return (little.view(np.uint8) & _occupied(record.dtype)).tobytes()


def from_little(data: bytes, dtype: np.dtype[Any]) -> States:
    """Return the record that `to_little` turned into bytes."""
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype)


@cache
def _occupied(dtype: np.dtype[Any]) -> npt.NDArray[np.uint8]:
    """Return a mask: bytes of ones where a record has a field, zeros between the fields."""
    fields: Any = dtype.fields
    ones = np.zeros(dtype.itemsize, np.uint8)
    for name in dtype.names or ():
        part, offset = fields[name][:2]
        ones[offset : offset + part.itemsize] = _occupied(part) if part.names else 0xFF
    return ones


def state_size(
    policy: Policy, arms: int, horizon: int | None = None, *, room: int | None = None
) -> int:
    """Return the size of a live bandit's state in bytes; it stays the same whatever happens later.

    The state has room for 2, 4, 8, 16 … arms: as many as there are, or more.

    Parameters
    ----------
    policy
        A policy of the library, or your own.
    arms
        The number of arms.
    horizon
        The number of steps, as in a simulation or fleet; without one, the state of a `Bandit`.
    room
        The number of arms to reserve room for, as in `Bandit`.

    Returns
    -------
    int
        The number of bytes.

    Raises
    ------
    ValueError
        If `policy` is not a policy or cannot play this number of arms, or the record would be too
        large.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.state_size(lb.LBSDALM(), arms=4) // 4 < 5 * 1024
    True
    """
    require_policy(policy)
    return state_dtype(policy, arms, horizon, room_for(max(arms, room or 0))).itemsize
