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

from lastblock.engine.events import FORGET, NO_CHANCE, TELL
from lastblock.store.queries import NOTE, SharedView
from lastblock.store.sqlite_connections import PATIENCE, Connection, connect, explained
from lastblock.store.storage import Part


class SQLiteView(SharedView):
    """A read transaction on a connection of its own, so that writers do not wait for it.

    `View` explains the methods.
    """

    def __init__(self, connection: Connection, label: str) -> None:
        self.label = label
        self._connection, self._lock = connection, connection.lock
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

    def read_ahead(self, bandits: Sequence[int]) -> None:
        """Do nothing: a query of a file takes microseconds."""

    def owner(self, bandit: int) -> int:
        """Return the number of the last process that opened the bandit; 0 if unknown."""
        return next(iter(self._read("SELECT owner FROM bandits WHERE bandit = ?", bandit)), [0])[0]

    def check_owned(self, bandit: int, event: int) -> None:
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
