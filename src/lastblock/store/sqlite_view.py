"""A view of an SQLite file as it was at one moment, while others go on writing."""

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from lastblock.engine.events import ASK, ASK_AMONG, FORGET, NO_CHANCE, TELL
from lastblock.store.shared_queries import NOTE, SharedQueries
from lastblock.store.sqlite_connections import Connection, connect
from lastblock.store.sqlite_errors import PATIENCE, explained
from lastblock.store.storage import (
    Document,
    Out,
    Part,
    Row,
    Snapshot,
    Tally,
)
from lastblock.support.errors import StoreError


class SQLiteView(SharedQueries):
    """A read transaction on a connection of its own, so that writers do not wait for it.

    `View` explains the methods.
    """

    def __init__(self, connection: Connection, label: str) -> None:
        self.label = label
        self._connection, self._lock = connection, connection.use.lock
        self._begin()

    @classmethod
    def of(cls, path: Path, label: str) -> "SQLiteView":
        """Return a view of a file."""
        with explained(label):
            return cls(connect(path, threading.RLock(), timeout=PATIENCE), label)

    def _begin(self) -> None:
        with explained(self.label), self._lock:
            self._connection.execute("BEGIN")  # the view's moment is that of the first query

    def __enter__(self) -> "SQLiteView":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._connection.close()

    def move_on(self) -> None:
        """Move to a later moment, that of the next query.

        In between, the log is copied into the file. The next query then reads the file alone, so
        that writers can start the log from its beginning.
        """
        with explained(self.label), self._lock:
            self._connection.execute("COMMIT")
            with suppress(sqlite3.OperationalError):  # another process is copying it just now
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._begin()

    def _read(self, query: str, *values: Any) -> list[Any]:
        with explained(self.label), self._lock:
            return self._connection.execute(query, values).fetchall()

    def names(self) -> dict[str, int]:
        """Return the number of each bandit, by name."""
        return dict(self._read("SELECT name, bandit FROM bandits ORDER BY name"))

    def read_ahead(self, bandits: Sequence[int]) -> None:
        """Do nothing: a query of a file takes microseconds."""

    def snapshot(self, bandit: int, *, first: bool = False) -> Snapshot:
        """Return the latest snapshot; with `first`, the earliest whose later events all exist."""
        which = "asked, snapshot, last_event"
        if first:
            which = (
                "ifnull(first_asked, asked), ifnull(beginning, snapshot), "
                "ifnull(first_event, last_event)"
            )
        rows = self._read(f"SELECT policy, layout, {which} FROM bandits WHERE bandit = ?", bandit)
        if not rows:
            raise StoreError(
                f"{self.label} no longer has this bandit (number {bandit}): it was deleted"
            )
        policy, layout, asked, body, event = rows[0]
        return Snapshot(bandit, event, asked, policy, layout, body)

    def pending(self, bandit: int, *, first: bool = False) -> list[Out]:
        """Return the decisions that were out at the snapshot that `snapshot` returns, in order."""
        which = "answered IS NULL"
        if first:
            which = (
                "decision < ifnull((SELECT first_asked FROM bandits WHERE bandit = ?1), 1 << 62)"
            )
        return self._read(
            "SELECT decision, arm, probability, time FROM pending "
            f"WHERE bandit = ?1 AND {which} ORDER BY decision",
            bandit,
        )

    def owner(self, bandit: int) -> int:
        """Return the number of the last process that opened the bandit; 0 if unknown."""
        return next(iter(self._read("SELECT owner FROM bandits WHERE bandit = ?", bandit)), [0])[0]

    def check_owned(self, bandit: int) -> None:
        """Do nothing: the system's locks last as long as the process."""

    def part(self, bandit: int, after: int, size: int) -> Part:
        """Return up to `size` events after event `after`."""
        wanted = "WHERE bandit = ? AND event > ? AND event <= ?"
        values = bandit, after, after + size
        with explained(self.label), self._lock:
            cursor = self._connection.execute(
                "SELECT kind, ifnull(decision, -1), ifnull(arm, -1), "
                f"iif(kind = {TELL}, reward, ifnull(probability, {NO_CHANCE})), time "
                f"FROM events {wanted} ORDER BY event",
                values,
            )
            numbers = np.fromiter(chain.from_iterable(cursor), np.float64)
        rows = self._read(f"{NOTE} {wanted} AND kind > {FORGET} ORDER BY event", *values)
        table = numbers.reshape(-1, 5)
        changes = [(row[0] - after - 1, row) for row in rows]
        return Part(np.ascontiguousarray(table[:, :4]), table[:, 4], changes)

    def rows(self, bandit: int, after: int, size: int) -> list[Row]:
        """Return up to `size` events after event `after`, as complete rows."""
        return self._read(
            "SELECT bandit, event, time, kind, decision, arm, coalesce(reward, probability, extra) "
            "FROM events WHERE bandit = ? AND event > ? ORDER BY event LIMIT ?",
            bandit,
            after,
            size,
        )

    def tally(self, bandit: int, after: int, until: int, length: int) -> list[Tally]:
        """Count decisions and rewards of the events after `after` up to `until`."""
        found = self._read(
            f"SELECT time / ?, arm, sum(kind <> {TELL}), sum(kind = {TELL}), total(reward), "
            "total(reward * reward) FROM events WHERE bandit = ? AND event > ? AND event <= ? "
            f"AND kind IN ({ASK}, {TELL}, {ASK_AMONG}) GROUP BY 1, 2",
            length,
            bandit,
            after,
            until,
        )
        return list(map(Tally._make, found))

    def documents(self, collection: str) -> dict[str, Document]:
        """Return the documents of a collection, by name."""
        found = self._read(
            "SELECT name, version, body FROM documents WHERE collection = ? ORDER BY name",
            collection,
        )
        return {name: Document(version, body) for name, version, body in found}


class BorrowedView(SQLiteView):
    """A view on the connection that writes, for a file that is lost.

    Nothing can be committed to such a file, so all reads see the same moment anyway.
    """

    def _begin(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def move_on(self) -> None:
        """Do nothing: there is no later moment."""
