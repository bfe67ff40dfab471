"""One bandit of a fleet, as a live bandit: the record is the fleet's, and so is the lock."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn, overload
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from lastblock.core import resizing
from lastblock.core.last_round import BEGINNING, LEADER, SINCE
from lastblock.core.protocol import Policy, States
from lastblock.core.rounds import leader_of
from lastblock.engine.events import Event, Journal
from lastblock.engine.fleet import BLOCK, Flags
from lastblock.kernels.record_memory import WORD
from lastblock.kernels.seals import Memory, break_seal, seal_beginning
from lastblock.kernels.streams import Stream
from lastblock.live.bandit import Bandit
from lastblock.live.decisions import Decision, Pending
from lastblock.live.explanation import Explanation
from lastblock.live.state import Live
from lastblock.live.summary import Summary
from lastblock.support.errors import UnknownDecisionError

FEW_OUT = 1024
"""Up to so many nobody looks whether the fleet has answered what is out."""

CLOSED = "this fleet is closed; open its file again, or make a new one"


class Records(NamedTuple):
    """The records of a fleet, as kernels take them."""

    states: States
    memory: Memory
    """The same as words."""
    touched: Flags
    """Which blocks of records have been changed since the last flush."""
    sealed: int
    """Words of a record that are sealed with every change."""


class RecordSeal:
    """The seal of one record of a fleet."""

    def __init__(self, records: Records, number: int) -> None:
        self._records, self._number = records, number

    @contextmanager
    def broken(self) -> Iterator[None]:
        """While the record is changed: whoever finds it half changed shall see it."""
        states, memory, touched, sealed = self._records
        s = states[self._number]
        break_seal(s)
        try:
            yield
        finally:
            seal_beginning(s, memory, sealed, self._number)
            touched[self._number // BLOCK] = 1


class FleetBandits:
    """The bandits of a fleet that are in use, and those that have decisions out.

    Such a bandit must not be forgotten, even if nobody holds it: it knows its decisions. Of others
    only the id of the next decision is kept, so that no id is given twice. What the fleet itself
    answers a bandit does not see; now and then those for which nothing is out any more are let go.
    """

    def __init__(self) -> None:
        self._known: WeakValueDictionary[int, FleetBandit] = WeakValueDictionary()
        self._out: dict[int, FleetBandit] = {}
        self._next_ids: dict[int, int] = {}
        self._enough = FEW_OUT

    def get(self, number: int) -> "FleetBandit | None":
        """The bandit of this number, if there is one."""
        return self._known.get(number)

    def add(self, number: int, bandit: "FleetBandit") -> None:
        """A new one; its ids go on where those of the last one of this number ended."""
        self._known[number] = bandit
        bandit.join(self, number, self._next_ids.get(number, 0))

    def note(self, number: int, bandit: "FleetBandit") -> None:
        """A bandit has asked, or was answered."""
        self._next_ids[number] = bandit.asked
        if not bandit.has_out:
            self._out.pop(number, None)
        elif number not in self._out:
            self._out[number] = bandit
            if len(self._out) > self._enough:
                self._sweep()

    def _sweep(self) -> None:
        for number, bandit in list(self._out.items()):
            bandit.drop_answered()
            if not bandit.has_out:
                del self._out[number]
        self._enough = max(FEW_OUT, 2 * len(self._out))

    def close(self, reason: str) -> None:
        """Let go of all records: whoever uses a bandit afterwards is told the reason."""
        for bandit in list(self._known.values()):
            bandit.close(reason)
        self._out.clear()


class _Closed:
    """In place of a record and a lock: every use is an error."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> NoReturn:
        raise ValueError(self._reason)

    def __enter__(self) -> NoReturn:
        raise ValueError(self._reason)

    def __exit__(self, *_: object) -> None: ...


class FleetBandit(Bandit[int]):
    """A live bandit on a record of a fleet. The fleet may change the record at any time."""

    @classmethod
    def of(
        cls,
        policy: Policy,
        states: States,
        arms: int,
        *,
        depth: int | None,
        largest_reward: float,
        lock: threading.RLock,
        seal: RecordSeal,
    ) -> "FleetBandit":
        """The bandit of one record, which has been started."""
        self = cls.__new__(cls)
        width = states.dtype["queue"].shape[0]
        self._begin(Live(policy, arms, width=width, depth=depth, states=states), range(arms))
        self._lock = lock
        self._acquire, self._release = lock.acquire, lock.release
        self._largest_reward = largest_reward
        self._seal = seal
        self._refresh()
        return self

    def join(self, bandits: FleetBandits, number: int, id: int) -> None:
        """Whom to tell when decisions went out or were answered, and the id of the first one."""
        self._bandits, self._place, self._next_id = bandits, number, id
        self._many = FEW_OUT

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """While the record may be changed, and decisions go out or are answered."""
        with self._lock, self._seal.broken():
            try:
                yield
            finally:
                self._note()

    def _note(self) -> None:
        """Decisions went out, or were answered."""
        if len(self._out) > self._many:
            self.drop_answered()
            self._many = max(FEW_OUT, 2 * len(self._out))
        self._bandits.note(self._place, self)

    @property
    def has_out(self) -> bool:
        """Whether there are decisions without an answer, as far as the bandit knows."""
        return bool(self._out)

    def drop_answered(self) -> None:
        """Forget the decisions that the fleet has been told, or told to forget.

        It does not say which: of each arm, as many of the oldest as are no longer out.
        """
        surplus = Counter(self._out.values())
        surplus.subtract(dict(enumerate(self._live.s.unanswered[: len(self._active)].tolist())))
        for id, arm in list(self._out.items()):
            if surplus[arm] > 0:
                surplus[arm] -= 1
                del self._out[id]

    def close(self, reason: str) -> None:
        """Let go of the record."""
        closed: Any = _Closed(reason)
        self._live = self._lock = self._seal = closed
        self._acquire = self._release = closed.__enter__

    def __repr__(self) -> str:
        return "<Bandit of a closed fleet>" if self.is_closed else super().__repr__()

    @property
    def is_closed(self) -> bool:
        """Whether the fleet has been closed."""
        return isinstance(self._live, _Closed)

    @property
    def asked(self) -> int:
        """How many decisions have been asked for; the next one has this id."""
        with self._lock:
            return self._next_id

    @overload
    def ask(self) -> Decision[int]: ...
    @overload
    def ask(self, n: int) -> list[Decision[int]]: ...
    def ask(self, n: int | None = None) -> Decision[int] | list[Decision[int]]:
        """The next decision; with n, a list of the next n."""
        with self._changing():
            return super().ask() if n is None else super().ask(n)

    def _refresh(self) -> None:
        """Bring the notes up to date with what the fleet did in the meantime.

        It does not note means, nor how a round was planned.
        """
        s, notes = self._live.s, self._live.notes
        counts = np.asarray(s.told, np.float64)
        notes.told[counts != notes.told[:, 0], 1:] = np.nan
        notes.told[:, 0] = counts
        leader = leader_of(s)
        if leader != notes.planned[LEADER]:
            notes.planned[LEADER] = leader
            notes.planned[SINCE] = self._next_id
        planned = notes.planned[BEGINNING:]
        fields: Any = s.dtype.fields
        if planned[fields["round"][1] // WORD] != s.round:
            planned[:] = 0

    @property
    def pulls(self) -> Mapping[int, int]:
        """How many rewards each arm has had, from whomever."""
        with self._lock:
            self._refresh()
            return super().pulls

    def explain(self) -> Explanation[int]:
        """Why the last round was what it was, if this bandit planned it, and not the fleet."""
        with self._lock:
            self._refresh()
            return super().explain()

    def summary(self) -> Summary[int]:
        """Where the bandit stands; means of all rewards are known where it was told them all."""
        with self._lock:
            self._refresh()
            return super().summary()

    def tell(self, decision: Decision[int] | Pending[int] | int, reward: float) -> None:
        """The reward of a decision, unless the fleet has been told it. Errors change nothing."""
        self.tell_many([decision], [reward])

    def tell_many(
        self, decisions: Iterable[Decision[int] | Pending[int] | int], rewards: Iterable[float]
    ) -> None:
        """The rewards of many decisions, in this order; if one of them is wrong, none counts."""
        with self._changing():
            super().tell_many(decisions, rewards)

    def forget(self, decision: Decision[int] | Pending[int] | int) -> None:
        """Drop a decision whose reward will never come."""
        with self._changing():
            super().forget(decision)

    def expire(self, *, older_than: int, reward: float | None = None) -> tuple[Pending[int], ...]:
        """Drop the decisions that have waited for more than `older_than` later ones.

        Those that the fleet has answered meanwhile are no longer pending, and not returned.
        """
        with self._changing():
            before = dict(self._out)
            self.drop_answered()
            try:
                return super().expire(older_than=older_than, reward=reward)
            except BaseException:
                self._out = before
                raise

    def apply_run(self, run: npt.NDArray[np.float64]) -> None:
        """Make many asks, tells and forgets at once."""
        with self._changing():
            super().apply_run(run)

    def apply(self, event: Event) -> None:
        """Make a change that another bandit's journal was told."""
        with self._changing():
            super().apply(event)

    def _reseed(self, key: Stream) -> None:
        with self._changing():
            super()._reseed(key)

    def attach(
        self, journal: Journal | None, reload: Callable[[], Bandit[int]] | None = None
    ) -> None:
        """Call `journal` with the events of every change; see `Bandit.attach`."""
        if reload is not None:
            raise ValueError(
                "a bandit of a fleet cannot be reloaded; attach the journal without reload"
            )
        super().attach(journal)

    def _as_it_is(self) -> Bandit[int]:
        return super().copy()  # the record as it lies there: it must fit when it is put back

    def _tell_each(self, answers: list[tuple[int, int, float]]) -> None:
        self._check_out([arm for _, arm, _ in answers])
        if self._live.depth is not None:  # is there room for all of them?
            trial = self._live.copy()
            trial.is_foreign = True  # it cannot grow
            for _, arm, value in answers:
                trial.tell(arm, value)
        super()._tell_each(answers)

    def _check_out(self, arms: list[int]) -> None:
        for arm, n in Counter(arms).items():
            if self._live.s.unanswered[arm] < n:
                raise UnknownDecisionError(
                    f"a decision for arm {arm} has been told or forgotten through the fleet; "
                    "tell each decision once"
                )

    def _forget_arm(self, id: int, arm: int) -> None:
        if self._live.s.unanswered[arm] > 0:  # else the fleet has answered it
            self._live.forget(arm)
        del self._out[id]

    def _check_resizable(self, arms: int) -> None:
        raise ValueError("the arms of one bandit of a fleet cannot come or go")

    def copy(self) -> Bandit[int]:
        """An independent, ordinary bandit that would decide alike."""
        with self._lock:
            self._refresh()
            old = self._live
            arms = int(old.s.arms)
            depth = None if old.depth is None else max(old.depth, int(max(old.s.told)))
            new = Live(self.policy, arms, width=old.width, depth=depth)
            resizing.unpack(self.policy, old.s, new.s)
            old.notes.keep(new.notes, list(range(arms)))
            other: Bandit[int] = Bandit.__new__(Bandit)
            other._begin(new, self._labels)
            other._out = dict(self._out)
            other._next_id = self._next_id
            other._last = super().explain()
            return other

    def to_bytes(self) -> bytes:
        """An independent, ordinary bandit, versioned and checksummed."""
        return self.copy().to_bytes()

    def to_json(self) -> str:
        """The same as text."""
        return self.copy().to_json()

    def __reduce__(self) -> tuple[Any, ...]:
        return self.copy().__reduce__()
