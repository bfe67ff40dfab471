"""A storage that keeps bandits and events in one SQLite file."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Literal, TypeVar

from lastblock.engine.events import ASK, FORGET, KINDS, TELL
from lastblock.live.labels import Label
from lastblock.store import queries
from lastblock.store.messages import place_of
from lastblock.store.queries import Run
from lastblock.store.schema import (
    Migration,
    check_format,
    check_not_newer,
    complete,
    migrations,
    read_secret,
)
from lastblock.store.sqlite_connections import PATIENCE, Connection, connect, explained
from lastblock.store.sqlite_file import SQLiteFile
from lastblock.store.sqlite_view import BorrowedView, SQLiteView
from lastblock.store.storage import BanditHolder, Copy, Cut, Kept, Row, Snapshot
from lastblock.support.errors import StoreError

Made = TypeVar("Made")

APPLICATION = 0x6C617374  # "last": SQLite keeps this mark to say which program's file it is

PAGES_FREE = 1024
"""How many empty pages to keep. Further ones go back to the disk if they outnumber full pages."""

_ADD_ARM = KINDS.index("add_arm")
_ROWS = (*(2**k for k in range(12)), 4000)  # × 7 parameters is below SQLite's limit of 32 766

# One statement inserts many rows, since each statement releases and takes the interpreter's lock
# once. It has few parameters, since passing a value takes as long as writing it.
_INSERTS = {
    "events": "INSERT INTO events SELECT column1, column2, column3, column4, column5, column6, "
    f"iif(column4 = {TELL}, column7, NULL), iif(column4 = {ASK}, column7, NULL), "
    f"iif(column4 > {FORGET}, column7, NULL) FROM (VALUES ",
    "pending": "INSERT INTO pending SELECT column1, column2, column3, column4, column5, column6 "
    "FROM (VALUES ",
}
_STATEMENTS = {
    (table, rows): insert + ",".join([f"(?{',?' * (columns - 1)})"] * rows) + ") LIMIT ?"
    for (table, insert), columns in zip(_INSERTS.items(), (7, 6), strict=True)
    for rows in _ROWS
}


class SQLiteStorage:
    """An open SQLite file with the bandits of a store; `Storage` explains the methods.

    Parameters
    ----------
    path
        The file; it is created if need be.
    keep_events
        Whether to keep events that a snapshot includes.
    sync
        Whether `write` waits for the disk.
    migrate
        Whether to bring the tables of an older lastblock up to date.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keep_events: bool,
        sync: bool,
        migrate: bool = False,
    ) -> None:
        self._keep_events, self._sync = keep_events, sync
        self._lock = threading.RLock()
        self._is_changing = False
        self._file = SQLiteFile(path)
        try:
            self._file.open()
            with explained(self.label):
                self.migrated = self._open(migrate)
        except BaseException:
            self.close()
            raise

    @property
    def label(self) -> str:
        """The name of the storage in messages."""
        return self._file.label

    def _open(self, migrate: bool) -> list[Migration]:
        """Open the file, and return the migrations that were applied to it."""
        size = self._file.size
        self._connection: Connection = connect(self._file.path, self._lock, timeout=PATIENCE)
        run = self._connection.execute
        if size == 0:
            run("PRAGMA auto_vacuum = INCREMENTAL")  # it must come before the first table
        ((application,),) = run("PRAGMA application_id")
        ((found,),) = run("PRAGMA user_version")
        ((tables,),) = run("SELECT count(*) FROM sqlite_schema")
        if tables and application != APPLICATION:
            raise StoreError(f"{self.label} is another program's database; give another file")
        check_not_newer(self.label, found, "sqlite")
        missing = [each for each in migrations("sqlite") if each.number > found]
        if tables and missing:
            if not migrate:
                check_format(self.label, found, "sqlite")
            self._use_alone()
        run("PRAGMA journal_mode = WAL")
        self._synchronise(self._sync)
        run(f"PRAGMA journal_size_limit = {1 << 22}")
        # Even without tables to make, this raises an error if the file is read-only.
        self._change(lambda run: _apply(run, missing))
        self.secret = read_secret(run, self.label)
        self._file.is_ready()
        return missing

    def _use_alone(self) -> None:
        """Raise a `StoreError` if another program has the file open."""
        run = self._connection.execute
        run("PRAGMA busy_timeout = 1000")
        try:
            run("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{self.label} is in use; close it everywhere, then migrate it"
            ) from error
        run(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")

    def _synchronise(self, is_synchronous: bool) -> None:
        self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_synchronous else 'NORMAL'}")

    @property
    def is_lost(self) -> bool:
        """Whether the file or its log was moved, deleted or replaced."""
        return self._file.is_lost

    @property
    def is_remote(self) -> bool:
        """Return False: each call may as well write its own events, and locks last."""
        return False

    def close(self) -> None:
        """Close the file and release its locks; closing twice is not an error."""
        with self._lock:
            try:
                if hasattr(self, "_connection"):
                    if self.is_lost:  # in that case SQLite would not empty the log
                        self._empty_log()
                    self._connection.close()
            finally:
                self._file.close()

    def abandon(self) -> None:
        """In the child of a fork: own nothing, and leave the parent's connection alone."""
        self._lock = threading.RLock()
        self._file.abandon()

    def _change(self, work: Callable[[Run], Made]) -> Made:
        """Do `work` in a transaction: all of it or nothing, even after an interrupt."""
        # Not a context manager: an interrupt might come after its begin and before the `with`.
        with self._lock:
            if self._is_changing:  # then a signal handler calls us in the middle of a change
                raise StoreError(
                    f"{self.label} is in the middle of a change; call again when it has ended"
                )
            try:
                self._is_changing = True
                self._roll_back()
                with explained(self.label):
                    run = self._connection.execute
                    run("BEGIN IMMEDIATE")
                    made = work(run)
                    self._file.check_found()
                    run("COMMIT")
                return made
            except StoreError:
                if self.is_lost:
                    self._roll_back()
                    self._empty_log()
                raise
            finally:
                self._is_changing = False
                self._roll_back()

    def _empty_log(self) -> None:
        """Write all that was committed into the file, even if it has been moved.

        So the log keeps nothing that another file in its place could take for its own.
        """
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _roll_back(self) -> None:
        """End a transaction that was left open."""
        with suppress(sqlite3.Error):  # the error that left it open says more
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def view(self, *, even_lost: bool = False) -> SQLiteView:
        """Return a view of the file as it is at one moment; see `Storage.view`."""
        if not self._file.is_open:
            raise StoreError(f"{self.label} is closed; open it again with Store()")
        if even_lost and self.is_lost:
            return BorrowedView(self._connection, self.label)
        self._file.check_found()
        return SQLiteView.of(self._file.path, self.label)

    def create(self, name: str, snapshot: Snapshot, arms: Sequence[Label]) -> int:
        """Add a bandit and return its number; the name must be new."""

        def work(run: Run) -> int:
            number = queries.add_bandit(run, self.label, name, Kept.of(snapshot), arms)
            _note_owner(run, [number])
            return number

        return self._change(work)

    def receive(self, name: str, copy: Copy, parts: Iterable[Sequence[Row]]) -> None:
        """Add a bandit that another storage has, with all its events."""
        self._change(lambda run: queries.receive(run, putting(run), self.label, name, copy, parts))

    def delete(self, bandit: int) -> None:
        """Remove a bandit and its events."""
        self._change(lambda run: queries.remove_bandit(run, bandit))
        self._shrink()

    @property
    def holder(self) -> str:
        """Nothing: locks of a file have no names."""
        return ""

    def holders(self) -> dict[str, BanditHolder]:
        """Return nothing: a file cannot tell who has which bandit."""
        return {}

    def own(self, bandits: Sequence[int]) -> dict[int, str]:
        """Take bandits; return words for where some of them are open already."""
        with self._lock:
            taken = [bandit for bandit in bandits if not self._file.take(bandit)]
        if not taken:
            return {}
        with self.view() as view:
            return {bandit: place_of(view.owner(bandit) or 0) for bandit in taken}

    def check_owned(self, bandit: int) -> None:
        """Do nothing: the system's locks last as long as the process."""

    @property
    def losses(self) -> Sequence[str]:
        """Nothing: a file that was replaced takes no events."""
        return ()

    def reserve(self, ends: Mapping[int, int]) -> None:
        """Note up to which id some bandits may give decisions; see `Storage.reserve`."""

        def work(run: Run) -> None:
            queries.reserve(run, ends)
            _note_owner(run, ends)

        with self._lock:
            try:
                self._synchronise(True)  # or a power failure could make us give ids twice
                self._change(work)
            finally:
                self._synchronise(self._sync)

    def disown(self, bandit: int) -> None:
        """Let others own a bandit."""
        with self._lock:
            self._file.give(bandit)

    def write(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """Write everything or nothing."""

        def work(run: Run) -> None:
            put = putting(run)
            put("events", rows)
            for bandit, _, _, kind, _, arm, label in rows:
                if kind == _ADD_ARM:
                    queries.add_arm(run, bandit, arm, label)
            for snapshot in snapshots:
                queries.keep_snapshot(run, put, self.label, snapshot, self._keep_events)

        self._change(work)
        if snapshots and not self._keep_events:
            self._shrink()

    def cut_off(self, bandit: int, cut: Cut) -> None:
        """Remove a bandit's events after one; see `Storage.cut_off`."""
        self._change(lambda run: queries.cut_off(run, bandit, cut))

    def put_document(self, collection: str, name: str, body: str, expected: int | None) -> int:
        """Write a document and return its version; see `Storage.put_document`."""
        return self._change(lambda run: queries.put_document(run, collection, name, body, expected))

    def drop_document(self, collection: str, name: str) -> bool:
        """Remove a document; return whether there was one."""
        return self._change(lambda run: queries.drop_document(run, collection, name))

    def _shrink(self) -> None:
        """Give empty pages back to the disk if there are many."""
        with self._lock, suppress(sqlite3.Error):  # the next snapshot tries again
            ((free,),) = self._connection.execute("PRAGMA freelist_count")
            ((pages,),) = self._connection.execute("PRAGMA page_count")
            if free > PAGES_FREE and 2 * free > pages:
                # Not with `execute`, which would take one step and free one page.
                self._connection.executescript(f"PRAGMA incremental_vacuum({free - PAGES_FREE})")


def _note_owner(run: Run, bandits: Iterable[int]) -> None:
    for bandit in bandits:
        run("UPDATE bandits SET owner = ? WHERE bandit = ?", (os.getpid(), bandit))


def _apply(run: Run, missing: Sequence[Migration]) -> None:
    """Bring the tables of a file up to date; make them in an empty one."""
    for each in missing:
        for statement in each.script.split(";"):
            run(statement, ())
        run(f"PRAGMA application_id = {APPLICATION}", ())
        run(f"PRAGMA user_version = {each.number}", ())
    if missing:
        complete(run)


def putting(run: Run) -> queries.Put:
    """Return a function that inserts many rows with few statements."""

    def put(table: Literal["events", "pending"], rows: Sequence[Sequence[Any]]) -> None:
        for first in range(0, len(rows), _ROWS[-1]):
            part = rows[first : first + _ROWS[-1]]
            room = next(size for size in _ROWS if size >= len(part))
            values: list[Any] = list(chain.from_iterable(part))
            values += [None] * (len(part[0]) * (room - len(part)))
            values.append(len(part))
            run(_STATEMENTS[table, room], values)

    return put
