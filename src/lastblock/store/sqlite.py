"""Bandits and events in one SQLite file."""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from lastblock.errors import StoreError
from lastblock.events import ASK, FORGET, KINDS, TELL
from lastblock.labels import Label
from lastblock.store.owners import Owners
from lastblock.store.storage import Part, Row, Snapshot

VERSION = 1
APPLICATION = 0x6C617374  # "last": SQLite's mark for whose file it is

PATIENCE = 60.0
"""Seconds to wait while other processes write to the same file."""

PAGES_FREE = 1024
"""Empty pages that are kept for later; if there are more, and more than full ones, they go."""

_COLUMNS = 7
_ROWS = (*(2**k for k in range(12)), 4000)  # × 7 parameters: below SQLite's limit of 32 766

_SCHEMA = f"""
CREATE TABLE bandits (
    bandit INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    policy TEXT NOT NULL,           -- JSON
    layout TEXT NOT NULL,           -- of the record in the snapshot
    snapshot BLOB NOT NULL,
    last_event INTEGER NOT NULL,    -- the last one that the snapshot holds
    beginning BLOB,                 -- where events are kept: the snapshot before all of them …
    first_event INTEGER             -- … and the last one that it holds
);
CREATE TABLE arms (
    bandit INTEGER NOT NULL,
    arm INTEGER NOT NULL,
    label TEXT NOT NULL,            -- JSON
    PRIMARY KEY (bandit, arm)
) WITHOUT ROWID;
CREATE TABLE kinds (kind INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO kinds VALUES {", ".join(f"({code}, '{kind}')" for code, kind in enumerate(KINDS))};
CREATE TABLE events (
    bandit INTEGER NOT NULL,
    event INTEGER NOT NULL,
    time INTEGER NOT NULL,          -- microseconds since 1970
    kind INTEGER NOT NULL,
    decision INTEGER,
    arm INTEGER,
    reward REAL,
    probability REAL,
    extra TEXT,                     -- JSON
    PRIMARY KEY (bandit, event)
) WITHOUT ROWID;
CREATE VIEW log AS                  -- the same, to read
    SELECT bandits.name AS bandit, event, datetime(time / 1e6, 'unixepoch') AS time,
        kinds.name AS kind, decision, json_extract(label, '$') AS arm, reward, probability, extra
    FROM events JOIN bandits USING (bandit) JOIN kinds USING (kind)
        LEFT JOIN arms ON arms.bandit = events.bandit AND arms.arm = events.arm;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""

# One statement for many rows: the interpreter's lock is taken and given back once for each. To hand
# over a value takes as long as to write it.
_INSERT = {
    rows: "INSERT INTO events SELECT column1, column2, column3, column4, column5, column6, "
    f"iif(column4 = {TELL}, column7, NULL), iif(column4 = {ASK}, column7, NULL), "
    f"iif(column4 > {FORGET}, column7, NULL) FROM (VALUES "
    + ",".join([f"({','.join('?' * _COLUMNS)})"] * rows)
    + ") LIMIT ?"
    for rows in _ROWS
}


class SQLiteStorage:
    """A file, opened. With `keep_events` all events stay; with `sync` it waits for the disk."""

    def __init__(self, path: str | os.PathLike[str], *, keep_events: bool, sync: bool) -> None:
        self._path = Path(path).absolute()
        self._keep_events = keep_events
        self._lock = threading.RLock()
        self._check_place()
        try:
            self._owners = Owners(self._path.with_name(f"{self._path.name}-owners"))
        except OSError as error:
            raise StoreError(
                f"{self.label} cannot be used: {error.strerror} ({self._path.name}-owners beside "
                "it must be writable); give it a folder that you may write to"
            ) from error
        try:
            self._owners.take(0, wait=True)  # one at a time
            with self._explained():
                self._open(sync)
        except BaseException:
            self.close()
            raise
        self._owners.give(0)

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"the store {str(self._path)!r}"

    def _check_place(self) -> None:
        try:
            if self._path.is_dir():
                raise StoreError(f"{self.label} is a folder; give the name of a file")
            if not self._path.parent.is_dir():
                raise StoreError(f"{self.label} cannot be made: it has no folder; make that first")
            # Not by opening it: closing it again would give up the locks of others in here.
            if self._path.exists() and not os.access(self._path, os.R_OK | os.W_OK):
                raise StoreError(f"{self.label} is read-only; change its permissions, or copy it")
        except OSError as error:
            raise StoreError(f"{self.label} cannot be reached: {error.strerror}") from error

    def _open(self, sync: bool) -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        self._connection = sqlite3.connect(
            self._path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        run = self._connection.execute
        if size == 0:
            run("PRAGMA auto_vacuum = INCREMENTAL")  # before the first table
            run("PRAGMA journal_mode = WAL")
        ((application,),) = run("PRAGMA application_id")
        ((version,),) = run("PRAGMA user_version")
        ((tables,),) = run("SELECT count(*) FROM sqlite_schema")
        if application != APPLICATION and tables:
            raise StoreError(f"{self.label} is another program's database; give another file")
        if version > VERSION:
            raise StoreError(
                f"{self.label} has format {version}, this lastblock reads up to {VERSION}; "
                "upgrade lastblock to open it"
            )
        run("PRAGMA journal_mode = WAL")
        run(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
        run(f"PRAGMA journal_size_limit = {1 << 22}")
        with self._transaction():  # also tells whether the file can be written
            if not tables:
                for statement in _SCHEMA.split(";"):
                    run(statement)

    def close(self) -> None:
        """Give everything back. Twice is no error."""
        with self._lock:
            if hasattr(self, "_connection"):
                self._connection.close()
            self._owners.close()

    def abandon(self) -> None:
        """In a child of the process that opened it: touch nothing, own nothing."""
        _left_alone.append(self._connection)  # closing it could hurt the parent's
        self._owners.abandon()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors, in words."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.label} {_meaning(error)}") from error

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._lock, self._explained():
            run = self._connection.execute
            run("BEGIN IMMEDIATE")
            try:
                yield run
                run("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    with suppress(sqlite3.Error):  # the first error says more
                        run("ROLLBACK")
                raise

    def _read(self, query: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._connection.execute(query, values).fetchall()

    def names(self) -> dict[str, int]:
        """The numbers of all bandits."""
        return dict(self._read("SELECT name, bandit FROM bandits ORDER BY name"))

    def create(self, name: str, snapshot: Snapshot, arms: Sequence[Label]) -> int:
        """A new bandit's number. The name must be free."""
        with self._transaction() as run:
            if run("SELECT 1 FROM bandits WHERE name = ?", (name,)).fetchone():
                raise StoreError(f"{self.label} has a bandit {name!r} already; take another name")
            number = run(
                "INSERT INTO bandits (name, policy, layout, snapshot, last_event)"
                " VALUES (?, ?, ?, ?, ?)",
                (name, snapshot.policy, snapshot.layout, snapshot.body, snapshot.event),
            ).lastrowid
            for arm, label in enumerate(arms):
                run("INSERT INTO arms VALUES (?, ?, ?)", (number, arm, _json(label)))
            return int(number)

    def delete(self, bandit: int) -> None:
        """Forget a bandit and its events."""
        with self._transaction() as run:
            for table in ("bandits", "arms", "events"):
                run(f"DELETE FROM {table} WHERE bandit = ?", (bandit,))
        self._shrink()

    def own(self, bandit: int) -> int | None:
        """Take a bandit; if somebody has it, returns the number of that process."""
        with self._lock:
            return self._owners.take(bandit)

    def disown(self, bandit: int) -> None:
        """Let others own it."""
        with self._lock:
            self._owners.give(bandit)

    def snapshot(self, bandit: int, *, first: bool = False) -> Snapshot:
        """The latest one, or the earliest one from which all later events are there."""
        which = "snapshot, last_event"
        if first:
            which = "ifnull(beginning, snapshot), ifnull(first_event, last_event)"
        rows = self._read(f"SELECT policy, layout, {which} FROM bandits WHERE bandit = ?", bandit)
        if not rows:
            raise StoreError(f"{self.label} has no bandit number {bandit} any more")
        policy, layout, body, event = rows[0]
        return Snapshot(bandit, event, policy, layout, body)

    def last(self, bandit: int) -> int:
        """The last event; 0 if there is none."""
        ((last,),) = self._read("SELECT max(event) FROM events WHERE bandit = ?", bandit)
        return last or 0

    def part(self, bandit: int, after: int, size: int) -> Part:
        """The next so many events after one of them, at most."""
        wanted = "FROM events WHERE bandit = ? AND event > ? AND event <= ?"
        values = bandit, after, after + size
        with self._lock, self._explained():
            cursor = self._connection.execute(
                "SELECT kind, ifnull(decision, -1), ifnull(arm, -1), "
                f"ifnull(reward, ifnull(probability, -1.0)) {wanted} ORDER BY event",
                values,
            )
            numbers = np.fromiter(chain.from_iterable(cursor), np.float64)
            changes = self._connection.execute(
                f"SELECT event - ? - 1, arm, extra {wanted} AND kind > 2 ORDER BY event",
                (after, *values),
            ).fetchall()
        return Part(numbers.reshape(-1, 4), changes)

    def rows(self, bandit: int, after: int, size: int) -> list[Row]:
        """The same, with all there is to say of them."""
        return self._read(
            "SELECT bandit, event, time, kind, decision, arm, coalesce(reward, probability, extra) "
            "FROM events WHERE bandit = ? AND event > ? ORDER BY event LIMIT ?",
            bandit,
            after,
            size,
        )

    def arms(self, bandit: int) -> list[Label]:
        """The labels of all arms that there ever were."""
        found = self._read("SELECT label FROM arms WHERE bandit = ? ORDER BY arm", bandit)
        return [json.loads(label) for (label,) in found]

    def write(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """All of it or nothing."""
        with self._transaction() as run:
            for first in range(0, len(rows), _ROWS[-1]):
                part = rows[first : first + _ROWS[-1]]
                room = next(size for size in _ROWS if size >= len(part))
                values: list[Any] = list(chain.from_iterable(part))
                values += [None] * (_COLUMNS * (room - len(part)))
                values.append(len(part))
                run(_INSERT[room], values)
            for bandit, _, _, kind, _, arm, label in rows:
                if kind == _ADD_ARM:
                    run("INSERT INTO arms VALUES (?, ?, ?)", (bandit, arm, label))
            for snapshot in snapshots:
                self._keep(run, snapshot)
        if snapshots and not self._keep_events:
            self._shrink()

    def _keep(self, run: Any, snapshot: Snapshot) -> None:
        if self._keep_events:
            before = "ifnull(beginning, snapshot), ifnull(first_event, last_event)"
        else:
            before = "NULL, NULL"
            run(
                "DELETE FROM events WHERE bandit = ? AND event <= ?",
                (snapshot.bandit, snapshot.event),
            )
        run(
            f"UPDATE bandits SET (beginning, first_event) = ({before}),"
            " policy = ?, layout = ?, snapshot = ?, last_event = ? WHERE bandit = ?",
            (snapshot.policy, snapshot.layout, snapshot.body, snapshot.event, snapshot.bandit),
        )

    def _shrink(self) -> None:
        """Give empty pages back to the disk, if they are many."""
        with self._lock, suppress(sqlite3.Error):  # there is another time
            ((free,),) = self._connection.execute("PRAGMA freelist_count")
            ((pages,),) = self._connection.execute("PRAGMA page_count")
            if free > PAGES_FREE and 2 * free > pages:
                # As a script: `execute` would take one step, which is one page.
                self._connection.executescript(f"PRAGMA incremental_vacuum({free - PAGES_FREE})")


_ADD_ARM = KINDS.index("add_arm")

_left_alone: list[sqlite3.Connection] = []


def _json(label: Label) -> str:
    return json.dumps(label, ensure_ascii=False)


def _meaning(error: sqlite3.Error) -> str:
    """What is wrong, and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if isinstance(error, sqlite3.ProgrammingError):
        return "is closed"
    meanings = {
        sqlite3.SQLITE_FULL: "cannot grow: the disk is full; free some space and call again",
        sqlite3.SQLITE_IOERR: f"cannot be read or written ({error}); look after the disk",
        sqlite3.SQLITE_READONLY: "is read-only; change its permissions, or copy it",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened; look after its folder and permissions",
        sqlite3.SQLITE_PERM: "is read-only; change its permissions, or copy it",
        sqlite3.SQLITE_NOTADB: "is not a store: it is no SQLite file; give another file",
        sqlite3.SQLITE_CORRUPT: "is damaged, perhaps cut short; restore it from a copy",
        sqlite3.SQLITE_BUSY: f"is busy: others have been writing for {PATIENCE:g} s; call again",
    }
    return meanings.get(code, f"failed: {error}")
