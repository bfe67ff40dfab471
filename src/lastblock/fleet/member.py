"""One bandit of a fleet as a live bandit, which uses the fleet's record and lock."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, overload
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from lastblock.core import resizing
from lastblock.core.layout import room_for
from lastblock.engine.events import KINDS, OBSERVE, Event, Journal
from lastblock.fleet.batch_input import check_all_arms, check_no_key
from lastblock.fleet.desk import FleetDesk
from lastblock.kernels.streams import Seed
from lastblock.live.bandit import Bandit, bandit_on
from lastblock.live.decisions import Decision, Pending
from lastblock.live.journalled import JournalledDesk
from lastblock.live.state import Live
from lastblock.live.view import BanditView

FEW_OUT = 1024
"""Beyond this number of open decisions, or bandits with some, we check what the fleet answered."""

CLOSED = "this fleet is closed; open its file again, or make a new one"


class FleetBandits:
    """The bandits of a fleet that are in use, and those that have decisions out.

    A bandit with decisions out is kept, even if the user does not keep it, since it knows these
    decisions. Of other bandits only the id of the next decision is kept, so that no id is used
    twice. A bandit does not see what is answered through the fleet, so now and then we drop those
    that have nothing out any more.
    """

    def __init__(self) -> None:
        self._known: WeakValueDictionary[int, FleetBandit] = WeakValueDictionary()
        self._out: dict[int, FleetBandit] = {}
        self._next_ids: dict[int, int] = {}
        self._enough = FEW_OUT

    def get(self, number: int) -> "FleetBandit | None":
        """Return the bandit of this number if it is in use, or None."""
        return self._known.get(number)

    def make(self, number: int, desk: "FleetDesk") -> "FleetBandit":
        """Make a bandit; its ids continue those of the last bandit of this number."""
        bandit = FleetBandit(desk, self, number, self._next_ids.get(number, 0))
        self._known[number] = bandit
        return bandit

    def note(self, number: int, bandit: "FleetBandit") -> None:
        """Note that a bandit has asked, or has been told."""
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
        """Release all records; later uses of a bandit raise an error with this reason."""
        for bandit in list(self._known.values()):
            bandit.close(reason)
        self._out.clear()


class _Closed:
    """Takes the place of a desk and its lock, and raises an error on every use."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> NoReturn:
        raise ValueError(self._reason)

    def __enter__(self) -> NoReturn:
        raise ValueError(self._reason)

    def __exit__(self, *_: object) -> None: ...


class FleetBandit(BanditView[int]):
    """A live bandit that works on one record of a fleet; `Fleet.bandit` returns it.

    It is used like a `Bandit`, but its arms cannot come or go.
    """

    def __init__(self, desk: FleetDesk, bandits: FleetBandits, place: int, id: int) -> None:
        self._desk: FleetDesk = desk
        self._bandits, self._place = bandits, place
        self._many = FEW_OUT
        desk.next_id = id

    @contextmanager
    def _changing(self) -> Iterator[Bandit[int]]:
        """Within ``with``, give an ordinary bandit that may change the record."""
        with self._desk.lock, self._desk.seal.broken():
            try:
                yield bandit_on(self._desk)
            finally:
                self._note()

    def _note(self) -> None:
        """Note that decisions went out, or were answered."""
        if len(self._desk.out) > self._many:
            self._desk.drop_answered()
            self._many = max(FEW_OUT, 2 * len(self._desk.out))
        self._bandits.note(self._place, self)

    @property
    def has_out(self) -> bool:
        """Whether decisions wait for their rewards, as far as the bandit knows."""
        return bool(self._desk.out)

    def drop_answered(self) -> None:
        """Remove the decisions that were told or forgotten through the fleet."""
        self._desk.drop_answered()

    def close(self, reason: str) -> None:
        """Release the record; every later use raises an error with this reason."""
        closed: Any = _Closed(reason)
        self._desk = closed

    if not TYPE_CHECKING:  # or else any misspelt name would pass

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or not hasattr(Bandit, name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise AttributeError(
                f"one bandit of a fleet has no {name}(); take a copy of it out of the fleet: "
                f"fleet.bandit(i).copy().{name}(…)"
            )

    def __repr__(self) -> str:
        return "<Bandit of a closed fleet>" if self.is_closed else super().__repr__()

    @property
    def is_closed(self) -> bool:
        """Whether the fleet has been closed."""
        return isinstance(self._desk, _Closed)

    @overload
    def ask(self) -> Decision[int]: ...
    @overload
    def ask(self, n: int) -> list[Decision[int]]: ...
    def ask(
        self,
        n: int | None = None,
        *,
        context: object = None,
        among: None = None,
        without: None = None,
        distinct: bool = False,
        key: None = None,
    ) -> Decision[int] | list[Decision[int]]:
        """Take the next decision, even while earlier ones wait for their rewards.

        Parameters
        ----------
        n
            The number of decisions to take; without it, one.
        context, among, without, distinct, key
            Not supported; see `Bandit.ask`.

        Returns
        -------
        Decision or list of Decision
            The decision; with `n`, a list, even if n = 1.
        """
        check_all_arms(context, among, without, distinct)
        check_no_key(key)
        with self._changing() as bandit:
            return bandit.ask() if n is None else bandit.ask(n)

    def tell(
        self, decision: Decision[int] | Pending[int] | int, reward: float, *, key: None = None
    ) -> None:
        """Learn the reward of a decision. If this raises an error, the bandit has not changed.

        Parameters
        ----------
        decision
            What `ask` returned, or its id.
        reward
            A finite number.
        key
            Not supported; see `Bandit.tell`.

        Raises
        ------
        UnknownDecisionError, ValueError
            As for `Bandit.tell`.
        """
        check_no_key(key)
        self.tell_many([decision], [reward])

    def tell_many(
        self, decisions: Iterable[Decision[int] | Pending[int] | int], rewards: Iterable[float]
    ) -> None:
        """Learn the rewards of several decisions, in this order: all of them, or none on an error.

        Parameters
        ----------
        decisions, rewards
            What `ask` returned, or ids; and one finite number for each.

        Raises
        ------
        UnknownDecisionError, ValueError
            As for `Bandit.tell_many`.
        """
        with self._changing() as bandit:
            bandit.tell_many(decisions, rewards)

    def forget(self, decision: Decision[int] | Pending[int] | int) -> None:
        """Drop a decision whose reward will never come.

        Parameters
        ----------
        decision
            What `ask` returned, or its id.

        Raises
        ------
        UnknownDecisionError
            As for `Bandit.forget`.
        """
        with self._changing() as bandit:
            bandit.forget(decision)

    def expire(self, *, older_than: int, reward: float | None = None) -> tuple[Pending[int], ...]:
        """Stop waiting for old decisions: forget them, or tell each the same reward.

        Parameters
        ----------
        older_than, reward
            As for `Bandit.expire`.

        Returns
        -------
        tuple of Pending
            The old decisions, oldest first, without those that were answered through the fleet.
        """
        with self._changing() as bandit:
            before = dict(self._desk.out)
            self._desk.drop_answered()
            try:
                return bandit.expire(older_than=older_than, reward=reward)
            except BaseException:
                self._desk.out = before
                raise

    def apply(self, event: Event) -> None:
        """Make the change that another bandit has written to its journal; see `Bandit.apply`."""
        if event[0] in ("add_arm", "retire_arm"):
            raise ValueError(
                "the arms of one bandit of a fleet cannot come or go; change those of a copy()"
            )
        if event[0] in (*KINDS, OBSERVE) and event[0] not in ("ask", "tell", "forget", "reseed"):
            raise ValueError(
                f"a bandit of a fleet cannot apply the event {event[0]!r}; apply it to a copy()"
            )
        with self._changing() as bandit:
            bandit.apply(event)

    def apply_run(self, run: npt.NDArray[np.float64]) -> None:
        """Make many asks, tells and forgets in one compiled loop; see `Bandit.apply_run`."""
        with self._changing() as bandit:
            bandit.apply_run(run)

    def reseed(self, seed: Seed = None) -> None:
        """Continue with other random numbers; see `Bandit.reseed`."""
        with self._changing() as bandit:
            bandit.reseed(seed)

    def attach(self, journal: Journal | None) -> None:
        """Call `journal` with the events of every change of this bandit; see `Bandit.attach`."""
        with self._desk.lock:
            self._desk.attach(journal, None)

    def _whole(self) -> JournalledDesk[int]:
        desk = self._desk
        desk.refresh()
        old = desk.live
        arms = int(old.s.arms)
        depth = None if old.depth is None else max(old.depth, int(max(old.s.told)))
        new = Live(self.policy, arms, width=old.width, depth=depth)
        resizing.copy(old.s, new.s)
        old.notes.keep(new.notes, list(range(arms)))
        whole = JournalledDesk(new.with_room(room_for(arms)), desk.labels)
        whole.out, whole.next_id = dict(desk.out), desk.next_id
        whole.last = desk.explain()
        return whole

    def copy(self) -> Bandit[int]:
        """Return an independent, ordinary bandit in the same state."""
        with self._desk.lock:
            return bandit_on(self._whole())

    def __reduce__(self) -> tuple[Any, ...]:
        return self.copy().__reduce__()
