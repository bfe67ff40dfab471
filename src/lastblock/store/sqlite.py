"""Bandits and events in one SQLite file."""

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from lastblock.engine.events import ASK, FORGET, KINDS, TELL
from lastblock.live.labels import Label
from lastblock.store.owners import Owners
from lastblock.store.sqlite_errors import NOT_A_STORE, PATIENCE, explained
from lastblock.store.sqlite_view import SQLiteView
from lastblock.store.storage import Row, Snapshot
from lastblock.support.errors import StoreError

Run: TypeAlias = Callable[..., sqlite3.Cursor]
Made = TypeVar("Made")

VERSION = 1
APPLICATION = 0x6C617374  # "last": SQLite's mark for whose file it is

PAGES_FREE = 1024
"""Empty pages that are kept for later; if there are more, and more than full ones, they go."""

_SMALLEST = 512  # bytes of an SQLite file that holds anything
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
        self._is_changing = False
        self._file: tuple[int, int] | None = None  # as long as it is open
        self._check_place()
        try:
            self._owners = self._beside()
            self._owners.take(0, wait=True)  # one at a time
            with explained(self.label):
                self._open(sync)
            self._owners.give(0)
        except BaseException:
            self.close()
            raise

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

    def _beside(self) -> Owners:
        try:
            return Owners(self._path.with_name(f"{self._path.name}-owners"))
        except OSError as error:
            raise StoreError(
                f"{self.label} cannot be used: {error.strerror} ({self._path.name}-owners beside "
                "it must be writable); give it a folder that you may write to"
            ) from error

    def _open(self, sync: bool) -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        if 0 < size < _SMALLEST:  # SQLite would take one byte for none
            raise StoreError(f"{self.label} {NOT_A_STORE}")
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
        missing = () if tables else _SCHEMA.split(";")
        self._change(lambda run: [run(statement) for statement in missing])  # or it is read-only
        self._file = _identity(self._path)

    def close(self) -> None:
        """Give everything back. Twice is no error."""
        with self._lock:
            self._file = None
            try:
                if hasattr(self, "_connection"):
                    self._connection.close()
            finally:
                if hasattr(self, "_owners"):
                    self._owners.close()

    def abandon(self) -> None:
        """In a child of the process that opened it: touch nothing, own nothing."""
        _left_alone.append(self._connection)  # closing it could hurt the parent's
        self._owners.abandon()

    def _change(self, work: Callable[[Run], Made]) -> Made:
        """All of it or nothing, whatever happens and whenever it is interrupted."""
        # No context manager: an interrupt may hit one after its begin and before its end is known.
        with self._lock:
            if self._is_changing:  # a signal's handler got in between
                raise StoreError(f"{self.label} is in the middle of a change; call after it")
            try:
                self._is_changing = True
                self._roll_back()
                with explained(self.label):
                    run = self._connection.execute
                    run("BEGIN IMMEDIATE")
                    made = work(run)
                    run("COMMIT")
                return made
            finally:
                self._is_changing = False
                self._roll_back()

    def _roll_back(self) -> None:
        """End a transaction that was left open."""
        with suppress(sqlite3.Error):  # the first error says more
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def names(self) -> dict[str, int]:
        """The numbers of all bandits."""
        with self.view() as view:
            return view.names()

    def view(self) -> SQLiteView:
        """All that is read in it is as it was at one moment."""
        if self._file is None:
            raise StoreError(f"{self.label} is closed")
        if _identity(self._path) != self._file:
            raise StoreError(f"{self.label} was moved or replaced; close it and open it again")
        return SQLiteView(self._path, self.label)

    def create(self, name: str, snapshot: Snapshot, arms: Sequence[Label]) -> int:
        """A new bandit's number. The name must be free."""

        def insert(run: Run) -> int:
            if run("SELECT 1 FROM bandits WHERE name = ?", (name,)).fetchone():
                raise StoreError(f"{self.label} has a bandit {name!r} already; take another name")
            number = run(
                "INSERT INTO bandits (name, policy, layout, snapshot, last_event)"
                " VALUES (?, ?, ?, ?, ?)",
                (name, snapshot.policy, snapshot.layout, snapshot.body, snapshot.event),
            ).lastrowid
            for arm, label in enumerate(arms):
                run("INSERT INTO arms VALUES (?, ?, ?)", (number, arm, _json(label)))
            return int(number or 0)

        return self._change(insert)

    def delete(self, bandit: int) -> None:
        """Forget a bandit and its events."""

        def remove(run: Run) -> None:
            for table in ("bandits", "arms", "events"):
                run(f"DELETE FROM {table} WHERE bandit = ?", (bandit,))

        self._change(remove)
        self._shrink()

    def own(self, bandit: int) -> int | None:
        """Take a bandit; if somebody has it, returns the number of that process."""
        with self._lock:
            return self._owners.take(bandit)

    def disown(self, bandit: int) -> None:
        """Let others own it."""
        with self._lock:
            self._owners.give(bandit)

    def write(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """All of it or nothing."""

        def insert(run: Run) -> None:
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

        self._change(insert)
        if snapshots and not self._keep_events:
            self._shrink()

    def _keep(self, run: Run, snapshot: Snapshot) -> None:
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


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file that is, by whatever name; None if there is none."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _json(label: Label) -> str:
    return json.dumps(label, ensure_ascii=False)
