"""The store: many named bandits in one database."""

import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

from lastblock.core.protocol import Policy
from lastblock.core.registry import describe, require_policy
from lastblock.kernels.streams import Seed
from lastblock.live.bandit import Bandit, desk_of
from lastblock.live.decisions import Decision, Pending
from lastblock.live.explanation import Explanation
from lastblock.live.labels import L, check_labels
from lastblock.live.ledger import Rewards
from lastblock.live.memory import Remember
from lastblock.live.tokens import BanditTokens, TokenMaker
from lastblock.store import event_logs, export
from lastblock.store.documents import Documents
from lastblock.store.event_logs import LoggedEvent, Tallied
from lastblock.store.export_formats import Format
from lastblock.store.group_commit import Backlog, Groups, Write
from lastblock.store.journal import BLOCK, EventLog, snapshot_of
from lastblock.store.messages import number_of, open_elsewhere
from lastblock.store.opening import Queue, open_storage, queue_of
from lastblock.store.recovery import Known, Recovered, recover, verify
from lastblock.store.sqlite_connections import INHERITED
from lastblock.store.storage import BanditHolder, DamagedError, Row, Storage, TakenOverError
from lastblock.store.unwritten import finish
from lastblock.support.checks import at_least, line, number, whole
from lastblock.support.errors import BanditInUseError, StoreError, TokenError, short

if TYPE_CHECKING:
    from lastblock.store.reading import About
    from lastblock.store.repairing import Damage

Durability: TypeAlias = Literal["always", "interval", "never"]
DURABILITIES = get_args(Durability)

TOGETHER = 200
"""How many bandits are read and opened together when many are opened."""

_PAUSE = 0.05
"""Seconds between two attempts to open a bandit that another process has open."""


class Store:
    """Named bandits that survive crashes: every change is written to a database as an event.

    A bandit of a store is an ordinary `Bandit`. While it is open in one store, no other store or
    process can open it.

    Parameters
    ----------
    path
        An SQLite file, which is created if need be, or ``postgresql://user@host/database``.
    durability
        "always": a call returns when its events are on the disk. "interval": a call returns at
        once, and events are written in groups; a crash loses the latest events, but never one
        before an event that is kept. "never": as "interval", but groups do not wait for the disk; a
        power failure may lose more events, a crash of the process does not.
    interval
        Seconds between two groups, for "interval" and "never".
    keep_events
        Whether to keep all events, for audits and `export`. Otherwise the events that a snapshot
        includes are dropped.
    snapshot_every
        Write a snapshot of a bandit after this number of events. Opening the bandit replays at most
        this number; without `keep_events` the file keeps at most this number.

    Raises
    ------
    StoreError
        If the database cannot be used: the message says why, and what to do.
    ValueError
        If an option is out of range.

    Examples
    --------
    >>> import tempfile
    >>> import lastblock as lb
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = lb.Store(f"{folder.name}/shop.db")
    >>> bandit = store.create("checkout-button", lb.LBSDAGM(), arms=["a", "b", "c"], seed=7)
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> store.close()
    >>> with lb.Store(f"{folder.name}/shop.db") as store:
    ...     sum(store.bandit("checkout-button").pulls.values())
    1
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "always",
        interval: float = 0.010,
        keep_events: bool = False,
        snapshot_every: int = 10_000,
    ) -> None:
        if durability not in DURABILITIES:
            raise ValueError(f"durability={durability!r} must be one of {', '.join(DURABILITIES)}")
        seconds = number(interval, "interval")
        if not 0.0 < seconds < math.inf:
            raise ValueError(f"interval={interval} must be positive and finite, in seconds")
        self._snapshot_every = whole(snapshot_every, "snapshot_every")
        if self._snapshot_every < 1:
            raise ValueError(f"snapshot_every={snapshot_every} must be at least 1")
        self._storage: Storage = open_storage(
            path, keep_events=bool(keep_events), sync=durability != "never"
        )
        self._groups = queue_of(self._storage, None if durability == "always" else seconds)
        self._block = BLOCK if isinstance(self._groups, Groups) else 0
        self._write: Write = self._storage.write if self._groups is None else self._groups.put

        self._tokens = TokenMaker(self._storage.secret, self._storage.label)
        self._lock = threading.RLock()
        self._journals: dict[str, EventLog] = {}
        self._reserved: set[int] = set()  # the bandits that have ids in reserve
        self._numbered: dict[int, str] = {}  # the names of all that were open
        self._folder = Path() if self._storage.is_remote else Path(path).absolute().parent
        self._closed: str | None = None  # why the store is closed
        self._at_exit = weakref.finalize(
            self, _end, self._storage, self._groups, self._reserved, self._numbered, self._folder
        )
        _open_stores.add(self)

    # Making and opening bandits.

    @overload
    def create(
        self,
        name: str,
        policy: Policy,
        arms: int,
        *,
        seed: Seed = None,
        floor: float | Mapping[int, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
    ) -> Bandit[int]: ...
    @overload
    def create(
        self,
        name: str,
        policy: Policy,
        arms: Sequence[L],
        *,
        seed: Seed = None,
        floor: float | Mapping[L, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
    ) -> Bandit[L]: ...
    def create(
        self,
        name: str,
        policy: Policy,
        arms: Sequence[Any] | int,
        *,
        seed: Seed = None,
        floor: float | Mapping[Any, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
    ) -> Bandit[Any]:
        """Create a bandit; it is on the disk when this returns.

        Parameters
        ----------
        name
            A new name: one line of text.
        policy, arms, seed, floor, room, rewards, remember
            As for `Bandit`.

        Returns
        -------
        Bandit
            The open bandit.

        Raises
        ------
        StoreError
            If the store has a bandit of this name.
        """
        line(name, "name")
        return self._create(
            name,
            lambda: Bandit(
                policy,
                arms,
                seed=seed,
                floor=floor,
                room=room,
                rewards=rewards,
                remember=remember,
            ),
        )

    @overload
    def get_or_create(
        self,
        name: str,
        policy: Policy,
        arms: int,
        *,
        seed: Seed = None,
        floor: float | Mapping[int, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
        wait: float = 0.0,
    ) -> Bandit[int]: ...
    @overload
    def get_or_create(
        self,
        name: str,
        policy: Policy,
        arms: Sequence[L],
        *,
        seed: Seed = None,
        floor: float | Mapping[L, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
        wait: float = 0.0,
    ) -> Bandit[L]: ...
    def get_or_create(
        self,
        name: str,
        policy: Policy,
        arms: Sequence[Any] | int,
        *,
        seed: Seed = None,
        floor: float | Mapping[Any, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
        wait: float = 0.0,
    ) -> Bandit[Any]:
        """Open a bandit, or create it if there is none of this name.

        Several processes may do this at once: one of them creates the bandit. It belongs to one
        process at a time, so the others get an error, or wait for it.

        Parameters
        ----------
        name
            The name of the bandit: one line of text.
        policy, arms
            As for `Bandit`. An existing bandit must have this policy and these arms; arms that it
            has had besides, and retired ones, are fine.
        seed, floor, room, rewards, remember
            As for `Bandit`, if the bandit is created; those of an existing one stay.
        wait
            The most seconds to wait while the bandit is open elsewhere, as in an old process that
            this one replaces.

        Returns
        -------
        Bandit
            The open bandit.

        Raises
        ------
        BanditInUseError
            If the bandit is open elsewhere.
        StoreError
            If the existing bandit has another policy, or lacks an arm.
        """
        line(name, "name")
        require_policy(policy)
        labels = check_labels(arms)
        until = time.monotonic() + number(wait, "wait")
        while True:
            exists = name in self.names()
            try:
                if exists:
                    return self._found(name, policy, labels)
                return self.create(
                    name,
                    policy,
                    arms,
                    seed=seed,
                    floor=floor,
                    room=room,
                    rewards=rewards,
                    remember=remember,
                )
            except BanditInUseError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_PAUSE)
            except StoreError:
                if (name in self.names()) == exists:
                    raise
                # Another process has created the bandit meanwhile, or deleted it: try again.

    def _found(self, name: str, policy: Policy, labels: Sequence[Any]) -> Bandit[Any]:
        """Return an existing bandit, if it is the one that the user means."""
        was_open = name in self._journals
        bandit = self.bandit(name)
        missing = [label for label in labels if label not in bandit.arms]
        problem = None
        if describe(bandit.policy) != describe(policy):
            problem = f"has the policy {bandit.policy}, not {policy}; open it with bandit()"
        elif missing:
            problem = (
                f"has no arm {missing[0]!r}; open it with bandit(), then add_arm({missing[0]!r})"
            )
        if problem is None:
            return bandit
        if not was_open:
            self.release(name)
        raise StoreError(
            f"bandit {name!r} in {self.label} {problem}, or take another name for a new bandit"
        )

    def _create(self, name: str, new: Callable[[], Bandit[Any]]) -> Bandit[Any]:
        """Add the bandit that `new` makes, or raise a `StoreError` if the name is taken."""
        with self._lock:
            if name in self._names() or self._is_usable(name):
                raise StoreError(
                    f"{self.label} has a bandit {name!r}; take another name, or open it with "
                    "bandit()"
                )
            bandit = new()
            first = snapshot_of(bandit, 0, 0)._replace(reserved=self._block)
            found = self._storage.create(name, first, list(bandit.arms))
            try:
                self._own(name, found)
                self._attach(name, found, Recovered(bandit, 0, 0, 0), self._block)
            except BaseException:
                self._storage.disown(found)
                raise
            return bandit

    def bandit(self, name: str) -> Bandit[Any]:
        """Open a bandit in the state in which it was left.

        Parameters
        ----------
        name
            The name of the bandit.

        Returns
        -------
        Bandit
            The same object at each call, until the bandit is released.

        Raises
        ------
        StoreError
            If there is no bandit of this name, or it is open elsewhere, or its data are damaged.
        """
        with self._lock:
            self._check_open()
            if not self._is_usable(name):
                found = self._find(name)
                elsewhere = self._open_each({name: found})
                if elsewhere:
                    raise open_elsewhere(self.label, name, elsewhere[found])
            return self._journals[name].bandit

    def bandits(self, names: Iterable[str]) -> dict[str, Bandit[Any]]:
        """Open several bandits at once, which takes less time than one after the other.

        Parameters
        ----------
        names
            The names of the bandits.

        Returns
        -------
        dict
            The bandits by name, without those that are open elsewhere.

        Raises
        ------
        StoreError
            If one of them does not exist. If the data of some are damaged, it is a `DamagedError`
            with the reasons by name, and all others are open.
        """
        with self._lock:
            known, given = self._names(), list(dict.fromkeys(names))
            closed = {
                name: number_of(self.label, name, known)
                for name in given
                if not self._is_usable(name)
            }
            damaged: dict[str, str] = {}
            for part in range(0, len(closed), TOGETHER):
                try:
                    self._open_each(dict(list(closed.items())[part : part + TOGETHER]))
                except DamagedError as error:
                    damaged |= error.reasons
            if damaged:
                raise DamagedError(damaged)
            opened = self._journals
            return {name: opened[name].bandit for name in given if name in opened}

    def _is_usable(self, name: str) -> bool:
        """Return whether a bandit is open; release it first if it takes no changes any more."""
        journal = self._journals.get(name)
        if journal is not None:
            with suppress(StoreError):  # it is ended if it is another's, or the database went back
                journal.confirm()
            if journal.is_ended:
                self.release(name)
        return name in self._journals

    def _own(self, name: str, found: int) -> None:
        owners = self._storage.own([found])
        if owners:
            raise open_elsewhere(self.label, name, owners[found])

    def _open_each(self, numbers: Mapping[str, int]) -> dict[int, str]:
        """Open bandits; return words for where some of them are open already.

        If some are damaged, open the others and raise a `DamagedError`.
        """
        made: dict[str, Recovered] = {}
        damaged: dict[str, str] = {}
        try:
            elsewhere = self._storage.own(list(numbers.values()))
            free = {name: found for name, found in numbers.items() if found not in elsewhere}
            waiting = self._waiting()  # first, to miss none
            with self._storage.view() as view:
                view.read_ahead(list(free.values()))
                for name, found in free.items():
                    try:
                        made[name] = recover(view, name, found, waiting)
                    except DamagedError as error:
                        damaged |= error.reasons
            ends = {
                free[name]: max(each.reserved, desk_of(each.bandit).next_id) + self._block
                for name, each in made.items()
            }
            if ends:
                self._storage.reserve(ends)
            for name, each in made.items():
                self._attach(name, free[name], each, ends[free[name]])
            if damaged:
                raise DamagedError(damaged)
        except BaseException:
            for name, found in numbers.items():
                if name not in self._journals:
                    self._storage.disown(found)
            raise
        return elsewhere

    def _attach(self, name: str, found: int, made: Recovered, reserved: int) -> None:
        if self._block:
            self._reserved.add(found)
        self._numbered[found] = name
        self._journals[name] = EventLog(
            found,
            made,
            self._snapshot_every,
            self._write,
            partial(self._recover, name, found),  # so the store lives as long as its bandits
            self._storage.check_owned if self._storage.is_remote else None,
            BanditTokens(self._tokens, found, name),
            self._storage.reserve if self._block else None,
            reserved,
        )

    def _recover(self, name: str, found: int, known: Known) -> Recovered:
        saving = self._groups.saving(found) if isinstance(self._groups, Groups) else 0
        waiting = self._waiting()
        with self._storage.view(even_lost=True) as view:
            made = recover(view, name, found, waiting, known=known)
        # So the next snapshot comes when it would have come, however quick the thread was.
        return made._replace(saved=max(made.saved, saving))

    def _waiting(self) -> list[Row]:
        return [] if self._groups is None else self._groups.waiting()

    def _names(self) -> dict[str, int]:
        """Return the number of each bandit, by name."""
        self._check_open()
        with self._storage.view() as view:
            return view.names()

    def _find(self, name: str) -> int:
        return number_of(self.label, name, self._names())

    def names(self) -> tuple[str, ...]:
        """Return the names of all bandits in the file, including those open elsewhere."""
        return tuple(self._names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def snapshot(self, name: str) -> None:
        """Write a snapshot of a bandit now; it is on the disk when this returns.

        Parameters
        ----------
        name
            The name of the bandit.

        Raises
        ------
        StoreError
            As for `bandit`, or if the file cannot be written.
        """
        with self._lock:
            self.bandit(name)
            self._journals[name].save()
            self.flush()

    def snapshot_all(self, *, behind: int = 0) -> int:
        """Write snapshots of all bandits that are open here, so that they are opened sooner.

        Parameters
        ----------
        behind
            Only of those that have had more events than this since their last one.

        Returns
        -------
        int
            How many were written.

        Raises
        ------
        StoreError
            If they cannot be written.
        """
        written = 0
        with self._lock:
            self._check_open()
            for journal in list(self._journals.values()):
                if not journal.is_ended and journal.event - journal.saved > behind:
                    journal.save()
                    written += 1
            self.flush()
        return written

    def release(self, name: str) -> None:
        """Close one bandit, so that others can open it; do nothing if it is not open here.

        Parameters
        ----------
        name
            The name of the bandit.
        """
        with self._lock:
            self._check_open()
            journal = self._journals.get(name)
            if journal is None:
                return
            with journal.bandit.locked():
                self._flush_for(journal)
                if journal.number in self._reserved and not journal.is_ended:
                    _give_back(self._storage, {journal.number})
                self._reserved.discard(journal.number)
                journal.end(f"bandit {name!r} was released; open it again with bandit()")
            self._storage.disown(journal.number)
            del self._journals[name]

    def _flush_for(self, journal: EventLog) -> None:
        """Flush; that events of an ended bandit are lost was said when it ended."""
        while True:
            try:
                self.flush()
                return
            except StoreError as error:
                if not (journal.is_ended and isinstance(error.__cause__, TakenOverError)):
                    raise

    def delete(self, name: str) -> None:
        """Remove a bandit and all its events.

        Parameters
        ----------
        name
            The name of the bandit.

        Raises
        ------
        StoreError
            If there is no bandit of this name, or it is open elsewhere.
        """
        with self._lock:
            found = self._find(name)
            if name in self._journals:
                self.release(name)
            try:
                self._own(name, found)
                self._storage.delete(found)
            finally:
                self._storage.disown(found)

    # Tokens: finding a bandit by a decision.

    def read_token(self, token: str) -> tuple[int, int]:
        """Return the number of the bandit that made a token, and the id of the decision.

        Parameters
        ----------
        token
            The `token` of a decision.

        Raises
        ------
        TokenError
            If the token is damaged or forged, or of another store.
        """
        return self._tokens.read(token)

    def name_of(self, number: int) -> str | None:
        """Return the name of the bandit with this number; None if it was deleted.

        Parameters
        ----------
        number
            The number, as `read_token` returns it.
        """
        with self._lock:
            self._check_open()
            for name, journal in self._journals.items():
                if journal.number == number:
                    return name
            return next((name for name, found in self._names().items() if found == number), None)

    def bandit_of(self, token: str) -> Bandit[Any]:
        """Open the bandit that made a token; its methods take the token as a decision.

        Parameters
        ----------
        token
            The `token` of a decision.

        Raises
        ------
        TokenError
            If the token is damaged or forged, of another store, or of a bandit that was deleted.
        BanditInUseError
            If another process has the bandit open, or another store of this one.
        """
        number, _ = self._tokens.read(token)
        name = self.name_of(number)
        if name is None:
            raise TokenError(
                f"the token {short(token)} is of a bandit that was deleted; drop its reward"
            )
        return self.bandit(name)

    def tell(
        self, token: str, reward: float, *, key: str | None = None, defer: bool = False
    ) -> None:
        """Learn the reward of a decision of any bandit in the store, given by its token.

        Parameters
        ----------
        token
            The `token` of a decision. It may be told again: with the same reward this does nothing.
        reward, key, defer
            As for `Bandit.tell`.

        Raises
        ------
        TokenError, BanditInUseError
            As for `bandit_of`.
        SettledDecisionError, ValueError
            As for `Bandit.tell`.
        """
        self.bandit_of(token).tell(token, reward, key, defer)

    # Reading logs.

    def events(self, name: str, *, after: int = 0, limit: int = 1000) -> list[LoggedEvent]:
        """Return events of a bandit from its log, in order; the store need not have it open.

        The log holds all events if the store is opened with `keep_events`; otherwise those since
        the last snapshot.

        Parameters
        ----------
        name
            The name of the bandit.
        after
            Return events after the one with this number.
        limit
            The most events to return.

        Raises
        ------
        StoreError
            If there is no bandit of this name.
        """
        begin, size = at_least(0, after, "after"), at_least(1, limit, "limit")
        with self._storage.view() as view:
            number = number_of(self.label, name, view.names())
            return event_logs.read_events(view, name, number, begin, size)

    def last_event(self, name: str) -> int:
        """Return the number of the last event in the log of a bandit; 0 if there is none.

        Parameters
        ----------
        name
            The name of the bandit.
        """
        with self._storage.view() as view:
            number = number_of(self.label, name, view.names())
            return max(view.last(number), view.snapshot(number).event)

    def explain(
        self, name: str, decision: "Decision[Any] | Pending[Any] | int"
    ) -> "Explanation[Any]":
        """Explain a past decision: the events up to it are replayed from the log.

        Parameters
        ----------
        name
            The name of the bandit.
        decision
            What `ask` returned, or its id.

        Returns
        -------
        Explanation
            What `Bandit.explain` said when the decision had just been taken.

        Raises
        ------
        UnknownDecisionError
            If the log does not have the decision: it was never asked for, or the store was opened
            without `keep_events`.
        StoreError
            If there is no bandit of this name.
        """
        id = decision if isinstance(decision, int) else decision.id
        self.flush()
        with self._storage.view() as view:
            number = number_of(self.label, name, view.names())
            return event_logs.explain(view, name, number, id)

    def about(self, names: Sequence[str]) -> "dict[str, About]":
        """Return what the store knows of some bandits without opening them.

        Parameters
        ----------
        names
            The names of bandits, which others may have open. Those that are not there are left out.

        Returns
        -------
        dict
            The policy, and how many arms and decisions each has, by name.
        """
        from lastblock.store.reading import Reading  # noqa: PLC0415  # rarely used

        with self._storage.view() as view:
            there = view.names()
            reader = Reading(view, lambda number: None)
            return {name: reader.about(name) for name in names if name in there}

    def tally(
        self,
        name: str,
        *,
        length: Callable[[float], int],
        after: int | None = None,
        most: int = 1_000_000,
    ) -> Tallied:
        """Count the decisions and rewards of a bandit's arms in stretches of time.

        The database does it, so that a log of a million events takes a second and no memory. The
        store need not have the bandit open.

        Parameters
        ----------
        name
            The name of the bandit.
        length
            Is given the microseconds from the first event that is counted to the last one, and
            returns the length of a stretch, in microseconds.
        after
            Count the events after the one with this number; None for as many as there are.
        most
            The most events to count: the latest ones.

        Raises
        ------
        StoreError
            If there is no bandit of this name.
        """
        most = at_least(1, most, "most")
        with self._storage.view() as view:
            number = number_of(self.label, name, view.names())
            return event_logs.tally(view, number, length, after, most)

    def verify(self, name: str) -> int:
        """Replay a bandit's events from the earliest snapshot, and compare with the latest state.

        Parameters
        ----------
        name
            The name of the bandit.

        Returns
        -------
        int
            The number of events replayed.

        Raises
        ------
        StoreError
            If there is no bandit of this name, or the two states are not the same, byte for byte,
            or the tables have another policy or other arms than the state.
        """
        self.flush()
        with self._storage.view() as view:
            return verify(view, name, number_of(self.label, name, view.names()))

    def damage(self, name: str) -> "Damage | None":
        """Say what is wrong with a bandit, and what `repair` would cut off; change nothing.

        Parameters
        ----------
        name
            The name of the bandit, which nobody may have open.

        Returns
        -------
        Damage or None
            None if nothing is wrong.

        Raises
        ------
        BanditInUseError
            If the bandit is open.
        StoreError
            If there is no bandit of this name, or it cannot be repaired.
        """
        return self._repair(name, None)

    def repair(self, name: str, path: str | os.PathLike[str]) -> "Damage | None":
        """Repair a bandit whose log has a hole: keep what comes before it, export what follows.

        The bandit is then as it was after the last event that it keeps. Ids of decisions that were
        cut off are not given again, and their rewards are refused. Labels and policies that were
        edited in the tables are put right.

        Parameters
        ----------
        name
            The name of the bandit, which nobody may have open.
        path
            A new file for the events that are cut off: .jsonl, .csv or .parquet. If none are, it is
            not written.

        Returns
        -------
        Damage or None
            What was wrong, and which events were cut off; None if nothing was wrong.

        Raises
        ------
        BanditInUseError
            If the bandit is open.
        StoreError
            If there is no bandit of this name, or it cannot be repaired.
        OSError
            If the file exists, or cannot be written; the bandit is as it was.
        """
        return self._repair(name, Path(path))

    def _repair(self, name: str, path: Path | None) -> "Damage | None":
        from lastblock.store import repairing  # noqa: PLC0415  # rarely used

        with self._lock:
            number = self._find(name)
            if name in self._journals:
                raise open_elsewhere(self.label, name, "this Store")
            self._own(name, number)
            try:
                with self._storage.view() as view:
                    found = repairing.find_damage(view, name, number)
                    if found is None:
                        return None
                    damage, cut = found
                    if path is not None and damage.events:
                        repairing.export_rest(view, number, cut, path)
                if path is not None:
                    self._storage.cut_off(number, cut)
                    with self._storage.view() as view:
                        verify(view, name, number)
            finally:
                self._storage.disown(number)
            return damage

    def export(
        self,
        name: str,
        path: str | os.PathLike[str],
        what: export.What = export.DECISIONS,
        *,
        format: Format | None = None,
    ) -> int:
        """Write the log of a bandit to a file: Parquet (which needs pyarrow), CSV or JSON lines.

        The log holds the events that are in the file: open the store with `keep_events`.

        Parameters
        ----------
        name
            The bandit.
        path
            The file to write.
        what
            "decisions": each decision that has its reward, with arm and probability, for `Replay`;
            "events": everything that happened.
        format
            "parquet", "csv" or "jsonl"; by default what the suffix of `path` says.

        Returns
        -------
        int
            The number of rows.

        Raises
        ------
        StoreError
            If there is no bandit of this name, or its data are damaged.
        ValueError
            If the suffix names no format.
        """
        self.flush()
        with self._storage.view() as view:
            number = number_of(self.label, name, view.names())
            return export.export(view, name, number, path, what, format)

    # What services build on.

    @property
    def label(self) -> str:
        """The name of the store in messages: its path, or its URL without a password."""
        return self._storage.label

    def when_written(self, function: Callable[[StoreError | None], object]) -> None:
        """Have all events so far written now, without waiting, and call a function afterwards.

        A server answers its clients then. Many calls may share one write.

        Parameters
        ----------
        function
            It gets None when all events so far are written, or a `StoreError` if they could not be;
            the store then tries again by itself. Another thread may call it, and waits for it.
        """
        self._check_open()
        if isinstance(self._groups, Groups):
            self._groups.when_written(function)
        else:
            function(None)  # each call has written its own events

    @property
    def position(self) -> int:
        """A number that grows with each change; see `dropped_since`."""
        return self._groups.position if isinstance(self._groups, Groups) else 0

    def dropped_since(self, position: int) -> StoreError | None:
        """Return why changes that were made after a position were dropped; None if none were.

        That happens if another store has taken their bandit over, or if the database went back to
        an earlier state. The changes of other bandits may be written.

        Parameters
        ----------
        position
            What `position` was before the changes.
        """
        groups = self._groups
        return groups.dropped_since(position) if isinstance(groups, Groups) else None

    @property
    def backlog(self) -> Backlog:
        """The events that wait to be written, and why they do if writing has failed."""
        if isinstance(self._groups, Groups):
            return Backlog(len(self._groups), self._groups.problem)
        return Backlog(0, None)

    @property
    def losses(self) -> tuple[str, ...]:
        """What was lost since the database went back to an earlier state: the latest sentences.

        A PostgreSQL database goes back if a copy is restored, or a replica promoted that was
        behind. Each sentence names a bandit and its events.
        """
        dropped = self._groups.dropped if isinstance(self._groups, Groups) else ()
        return (*self._storage.losses, *dropped)

    @property
    def holder(self) -> str:
        """The name of this store among those that share a server; empty for a file."""
        return self._storage.holder

    def holders(self) -> dict[str, BanditHolder]:
        """Return which store has each bandit, by the bandit's name.

        Returns
        -------
        dict
            The number of each bandit, and its holder, as `holder` has it: empty for a bandit that
            nobody has now. A file cannot tell, and returns nothing.
        """
        self._check_open()
        return self._storage.holders()

    def check_owned(self, number: int) -> None:
        """Raise a `StoreError` if another store may have a bandit that is open here.

        A file's bandits are this store's as long as they are open; on a server, leases end.

        Parameters
        ----------
        number
            The number of the bandit.
        """
        self._storage.check_owned(number)

    @property
    def documents(self) -> Documents:
        """Small JSON documents beside the bandits, for programs that build on the store."""
        return Documents(self._storage)

    # The end.

    def flush(self) -> None:
        """Wait until all events so far are written; raise a `StoreError` if they cannot be."""
        self._check_open()
        if self._groups is not None:
            self._groups.flush()

    def close(self) -> None:
        """Write all events and close the bandits; closing a store twice is not an error.

        If the database does not take the events, this waits for it for half a minute. What is left
        then is in a file, which `lastblock store import` adds to the store.

        Raises
        ------
        StoreError
            If events could not be written; it names the file. The store is closed all the same.
        """
        with self._lock:
            if not self._at_exit.alive:
                return
            lost: StoreError | None = None
            gone = {each.number for each in self._journals.values() if each.is_ended}
            try:
                _finish(
                    self._storage, self._groups, self._reserved - gone, self._numbered, self._folder
                )
            except StoreError as error:
                lost = error
            self._closed = f"{self.label} is closed; open it again with Store()"
            for journal in self._journals.values():
                journal.end(self._closed)
            self._storage.close()
            self._at_exit.detach()  # last, so that after an interrupt close() does all this again
            if lost is not None:
                raise lost

    def _check_open(self) -> None:
        if self._closed is not None:
            raise StoreError(self._closed)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store of {self.label}>"

    def _abandon(self) -> None:
        """Refuse everything in the child of a fork, which has none of the parent's threads."""
        self._at_exit.detach()
        self._lock = threading.RLock()  # a thread of the parent may hold the old one
        if self._closed is None:
            self._closed = f"{self.label} {INHERITED}"
        for journal in self._journals.values():
            desk_of(journal.bandit).renew_lock()
            journal.end(self._closed)
        self._storage.abandon()


_open_stores: weakref.WeakSet[Store] = weakref.WeakSet()
"""Every store of this process."""


def _end(
    storage: Storage,
    groups: Queue | None,
    reserved: set[int],
    names: Mapping[int, str],
    folder: Path,
) -> None:
    """Close a store at the end of the process, or when nothing refers to it or its bandits."""
    try:
        _finish(storage, groups, reserved, names, folder)
    finally:
        storage.close()


def _finish(
    storage: Storage,
    groups: Queue | None,
    reserved: set[int],
    names: Mapping[int, str],
    folder: Path,
) -> None:
    """Write all events and end the queue, or raise an error that names the file that has them."""
    if isinstance(groups, Groups):
        finish(groups, storage, names, folder)
    elif groups is not None:
        groups.close()
    _give_back(storage, reserved)  # only here: ids of events that are not written are not free


def _give_back(storage: Storage, bandits: set[int]) -> None:
    """Give back the ids that these have reserved and not given: all their decisions are written."""
    if bandits:
        try:
            storage.reserve(dict.fromkeys(bandits, 0))
        except TakenOverError as error:
            _give_back(storage, bandits - error.bandits)
        except StoreError:
            pass  # then the ids are skipped


def _abandon() -> None:
    for store in tuple(_open_stores):
        store._abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon)
