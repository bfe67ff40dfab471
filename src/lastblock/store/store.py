"""The store: many named bandits in one database."""

import math
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

from lastblock.live.bandit import Bandit
from lastblock.live.tokens import TokenMaker
from lastblock.store import export, verifying
from lastblock.store.endings import end, open_stores
from lastblock.store.export_formats import Format
from lastblock.store.group_commit import Write
from lastblock.store.journal import EventLog, snapshot_of
from lastblock.store.logs import ReadsLogs
from lastblock.store.open_bandits import OpensBandits
from lastblock.store.opening import open_storage, queue_of
from lastblock.store.services import CarriesServices
from lastblock.store.storage import Storage
from lastblock.support.checks import number, whole
from lastblock.support.errors import StoreError

Durability: TypeAlias = Literal["always", "interval", "never"]
DURABILITIES = get_args(Durability)


class Store(OpensBandits, ReadsLogs, CarriesServices):
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
        self._write: Write = self._storage.write if self._groups is None else self._groups.put
        self._tokens = TokenMaker(self._storage.secret, self._storage.label)
        self._lock = threading.RLock()
        self._journals: dict[str, EventLog] = {}
        self._is_closed = False
        self._closed = f"{self._storage.label} is closed; open it again with Store()"
        self._at_exit = weakref.finalize(self, end, self._storage, self._groups)
        open_stores.add(self)

    def _create(self, name: str, new: Callable[[], Bandit[Any]]) -> Bandit[Any]:
        with self._lock:
            self._check_open()
            if name in self._storage.names():
                raise StoreError(
                    f"{self._storage.label} has a bandit {name!r}; take another name, "
                    "or open it with bandit()"
                )
            bandit = new()
            made = self._storage.create(name, snapshot_of(bandit, 0, 0), list(bandit.arms))
            return self._open(name, made, bandit)

    def _is_open(self, name: str) -> bool:
        return name in self._journals

    def _name_of(self, number: int) -> str | None:
        with self._lock:
            self._check_open()
            for name, journal in self._journals.items():
                if journal.number == number:
                    return name
            names = self._storage.names()
        return next((name for name, found in names.items() if found == number), None)

    @property
    def _label(self) -> str:
        return self._storage.label

    def names(self) -> tuple[str, ...]:
        """Return the names of all bandits in the file, including those open elsewhere."""
        with self._lock:
            self._check_open()
            return tuple(self._storage.names())

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
            journal = self._journals[name]
            with journal.bandit.locked():
                journal.bandit.tell_many((), ())  # after an interrupt, this settles the bandit
                journal.save()
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
                    with journal.bandit.locked():
                        journal.bandit.tell_many((), ())  # as in `snapshot`
                        journal.save()
                    written += 1
            self.flush()
        return written

    def flush(self) -> None:
        """Wait until all events so far are written; raise a `StoreError` if they cannot be."""
        self._check_open()
        if self._groups is not None:
            self._groups.flush()

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
                self.flush()
                journal.end(f"bandit {name!r} was released; open it again with bandit()")
            self._storage.disown(journal.number)
            del self._journals[name]

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
            If there is no bandit of this name, or the two states are not the same, byte for byte.
        """
        self.flush()
        with self._storage.view() as view:
            return verifying.verify(view, name, self._find(name, view.names()))

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
            number = self._find(name, view.names())
            return export.export(view, name, number, path, what, format)

    def close(self) -> None:
        """Write all events and close the bandits; closing a store twice is not an error."""
        with self._lock:
            if not self._at_exit.alive:
                return
            lost: StoreError | None = None
            if self._groups is not None:
                try:
                    self._groups.close()
                except StoreError as error:
                    if not self._storage.is_lost:
                        raise  # the store stays open, and the user can try again
                    self._groups.give_up()  # trying again could never succeed
                    lost = error
            self._is_closed = True
            for journal in self._journals.values():
                journal.end(self._closed)
            self._storage.close()
            self._at_exit.detach()  # last, so that after an interrupt close() does all this again
            if lost is not None:
                raise lost

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(self._closed)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store of {self._storage.label}>"
