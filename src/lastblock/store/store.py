"""Many named bandits in one file: what users call."""

import math
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Literal, TypeAlias, get_args, overload

from lastblock.core.protocol import Policy
from lastblock.kernels.streams import Seed
from lastblock.live.bandit import Bandit, desk_of
from lastblock.live.decisions import Generations
from lastblock.live.labels import L
from lastblock.store import export
from lastblock.store.group_commit import Groups, Write
from lastblock.store.journal import Journal, snapshot_of
from lastblock.store.recovery import Known, Recovered, recover
from lastblock.store.sqlite import SQLiteStorage
from lastblock.store.storage import Storage
from lastblock.support.checks import line, number, whole
from lastblock.support.errors import StoreError
from lastblock.support.spelling import nearest

Durability: TypeAlias = Literal["always", "interval", "never"]
DURABILITIES = get_args(Durability)

_LISTED = 12  # names in a message


class Store:
    """Many named bandits that survive: each change is an event in an SQLite file.

    A bandit of a store is an ordinary `Bandit`. It belongs to one store at a time: as long as it is
    open here, no other process can have it.

    Parameters
    ----------
    path
        The file; a new one is made. SQLite keeps two more beside it while it is open.
    durability
        "always": a call returns when its events are on the disk. "interval": it returns at once,
        and events are written together; a crash loses those of the last moments, never one in
        between. "never": likewise, without waiting for the disk, so that a power failure may lose
        more, though a crash of the process does not.
    interval
        Seconds between two groups, for "interval" and "never".
    keep_events
        Keep all events, as an audit trail and as a log to export. Otherwise those that a snapshot
        holds are dropped.
    snapshot_every
        After how many events of a bandit a snapshot of it is written: as many are replayed when it
        is opened again, at most, and without `keep_events` as many are in the file.

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
            raise ValueError(f"interval={interval} must be more than 0 seconds")
        self._snapshot_every = whole(snapshot_every, "snapshot_every")
        if self._snapshot_every < 1:
            raise ValueError(f"snapshot_every={snapshot_every} must be at least 1")
        self._storage: Storage = SQLiteStorage(
            path, keep_events=bool(keep_events), sync=durability != "never"
        )
        self._groups: Groups | None = None
        self._write: Write = self._storage.write
        if durability != "always":
            self._groups = Groups(self._storage.write, seconds)
            self._write = self._groups.put
        self._lock = threading.RLock()
        self._journals: dict[str, Journal] = {}
        self._is_closed = False
        self._closed = f"{self._storage.label} is closed; open it again with Store()"
        self._at_exit = weakref.finalize(self, _close, self._storage, self._groups)
        _open_stores.add(self)

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
    ) -> Bandit[Any]:
        """A new bandit, on the disk when this returns. The options are those of `Bandit`."""
        line(name, "name")
        with self._lock:
            self._check_open()
            if name in self._storage.names():
                raise StoreError(
                    f"{self._storage.label} has a bandit {name!r}; take another name, "
                    "or open it with bandit()"
                )
            bandit: Bandit[Any] = Bandit(policy, arms, seed=seed, floor=floor, room=room)
            made = self._storage.create(name, snapshot_of(bandit, 0, 0), list(bandit.arms))
            return self._open(name, made, bandit)

    def bandit(self, name: str) -> Bandit[Any]:
        """A bandit of the store, as it was left: its snapshot, and the events since.

        Called again, the same object.
        """
        with self._lock:
            self._check_open()
            journal = self._journals.get(name)
            if journal is not None:
                if not journal.is_ended:
                    return journal.bandit
                self.release(name)  # which was interrupted
            found = self._find(name, self._storage.names())
            return self._open(name, found)

    def _own(self, name: str, found: int) -> None:
        owner = self._storage.own(found)
        if owner is None:
            return
        where = f"process {owner}" if owner else "another process"
        if owner == os.getpid():
            where = "another Store of this process"
        raise StoreError(
            f"bandit {name!r} in {self._storage.label} is open in {where}; close it there first"
        )

    def _open(self, name: str, found: int, new: Bandit[Any] | None = None) -> Bandit[Any]:
        try:
            self._own(name, found)
            made = Recovered(new, 0, 0, 0) if new else self._recover(name, found)
            bandit = made.bandit
            if new is None:
                desk = desk_of(bandit)
                oldest = min(desk.out, default=desk.next_id)
                desk.enter(Generations(self._storage.begin(found, desk.next_id, oldest)))
            every, write = self._snapshot_every, self._write
            self._journals[name] = Journal(
                found, made, every, write, partial(self._recover, name, found)
            )  # which has the store: it lives as long as any of its bandits
        except BaseException:
            self._storage.disown(found)
            raise
        return bandit

    def _recover(self, name: str, found: int, known: Known | None = None) -> Recovered:
        waiting = [] if self._groups is None else self._groups.waiting()  # look there first
        with self._storage.view(even_lost=known is not None) as view:
            return recover(view, name, found, waiting, known=known)

    def _find(self, name: str, names: Mapping[str, int]) -> int:
        if name in names:
            return names[name]
        near = nearest(str(name), names)
        hint = f"did you mean {near!r}? " if near else ""
        listed = ", ".join(list(names)[:_LISTED]) + (", …" if len(names) > _LISTED else "")
        raise StoreError(
            f"{self._storage.label} has no bandit {name!r}; {hint}"
            f"It has: {listed or 'none; create one'}"
        )

    def names(self) -> tuple[str, ...]:
        """Of all bandits in the file, whoever owns them."""
        with self._lock:
            self._check_open()
            return tuple(self._storage.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def snapshot(self, name: str) -> None:
        """Write a snapshot now. It is on the disk when this returns."""
        with self._lock:
            self.bandit(name)
            journal = self._journals[name]
            with journal.bandit.locked():
                journal.bandit.tell_many((), ())  # after an interrupt: first it must be sure
                journal.save()
            self.flush()

    def flush(self) -> None:
        """Wait until all events so far are on the disk."""
        self._check_open()
        if self._groups is not None:
            self._groups.flush()

    def release(self, name: str) -> None:
        """Close one bandit, so that others can have it."""
        with self._lock:
            self._check_open()
            journal = self._journals.get(name)
            if journal is None:
                return
            with journal.bandit.locked():
                self.flush()
                journal.end(f"bandit {name!r} was released; open it again with bandit()")
            self._storage.disown(journal.number)
            del self._journals[name]

    def delete(self, name: str) -> None:
        """Remove a bandit and all its events from the file."""
        with self._lock:
            self._check_open()
            found = self._find(name, self._storage.names())
            if name in self._journals:
                self.release(name)
            try:
                self._own(name, found)
                self._storage.delete(found)
            finally:
                self._storage.disown(found)

    def verify(self, name: str) -> int:
        """Replay all events in the file, from the earliest snapshot, and compare with the latest.

        Returns how many they are; a `StoreError` if the result is not the same, byte for byte.
        """
        self.flush()
        with self._storage.view() as view:
            found = self._find(name, view.names())
            latest = recover(view, name, found)
            again = recover(view, name, found, first=True)
        if (again.event, again.bandit.to_bytes()) != (latest.event, latest.bandit.to_bytes()):
            raise StoreError(
                f"bandit {name!r} in {self._storage.label} is damaged: its events lead to "
                "another state than its snapshot; restore the file from a copy"
            )
        return again.event - again.saved

    def export(
        self, name: str, path: str | os.PathLike[str], what: export.What = export.DECISIONS
    ) -> int:
        """Write a Parquet file; returns its number of rows. It needs pyarrow.

        "decisions": those that were told, with arm, probability and reward, for `Replay`; "events":
        all that happened. Of the events that are in the file: keep them with `keep_events`.
        """
        self.flush()
        with self._storage.view() as view:
            return export.export(view, name, self._find(name, view.names()), path, what)

    def close(self) -> None:
        """Write what is to be written, and let others have the bandits. Twice is no error."""
        with self._lock:
            if not self._at_exit.alive:
                return
            lost: StoreError | None = None
            if self._groups is not None:
                try:
                    self._groups.close()  # if that fails, the store stays open …
                except StoreError as error:
                    if not self._storage.is_lost:
                        raise
                    self._groups.give_up()  # … but not where it can never succeed
                    lost = error
            self._is_closed = True
            for journal in self._journals.values():
                journal.end(self._closed)
            self._storage.close()
            self._at_exit.detach()  # last: after an interrupt all of this can be done again
            if lost is not None:
                raise lost

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(self._closed)

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store of {self._storage.label}>"


def _close(storage: Storage, groups: Groups | None) -> None:
    """Also at the end of the process, and when nobody has the store or its bandits any more."""
    try:
        if groups is not None:
            groups.close()
    finally:
        storage.close()


_open_stores: Any = weakref.WeakSet()


def _abandon() -> None:
    """A fork has the parent's locks, connection and bandits, but none of its threads."""
    for store in tuple(_open_stores):
        if store._at_exit.detach() is None:
            continue
        store._is_closed = True
        store._lock = threading.RLock()
        reason = (
            f"{store._storage.label} was opened before a fork and belongs to the parent process; "
            "start workers by spawn, or open the store after the fork only"
        )
        store._closed = reason
        for journal in store._journals.values():
            desk_of(journal.bandit).renew_lock()
            journal.end(reason)
        store._storage.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon)
