"""A storage that keeps bandits and events in one SQLite file."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from lastblock.engine.events import KINDS
from lastblock.live.labels import Label
from lastblock.store import sqlite_schema
from lastblock.store.messages import place_of
from lastblock.store.sqlite_connections import Connection, connect
from lastblock.store.sqlite_documents import drop_document, put_document
from lastblock.store.sqlite_errors import PATIENCE, explained
from lastblock.store.sqlite_file import SQLiteFile
from lastblock.store.sqlite_rows import EVENTS, PENDING, begin, drop_events, insert, receive
from lastblock.store.sqlite_schema import (
    ADD_ASKED,
    APPLICATION,
    DROP_ANSWERED,
    KEEP_ANSWERED,
    VERSION,
    Execute,
)
from lastblock.store.sqlite_view import BorrowedView, SQLiteView
from lastblock.store.storage import BanditHolder, Beginning, Copy, Document, Row, Snapshot, encoded
from lastblock.support.errors import StoreError

Made = TypeVar("Made")

PAGES_FREE = 1024
"""How many empty pages to keep. Further ones go back to the disk if they outnumber full pages."""


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
    """

    def __init__(self, path: str | os.PathLike[str], *, keep_events: bool, sync: bool) -> None:
        self._keep_events, self._sync = keep_events, sync
        self._lock = threading.RLock()
        self._is_changing = False
        self._file = SQLiteFile(path)
        try:
            self._file.open()
            with explained(self.label):
                self._open()
        except BaseException:
            self.close()
            raise

    @property
    def label(self) -> str:
        """The name of the storage in messages."""
        return self._file.label

    def _open(self) -> None:
        size = self._file.size
        self._connection: Connection = connect(self._file.path, self._lock, timeout=PATIENCE)
        run = self._connection.execute
        if size == 0:
            run("PRAGMA auto_vacuum = INCREMENTAL")  # it must come before the first table
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
        if tables and version < VERSION:
            self._upgrade(version)
        run("PRAGMA journal_mode = WAL")
        self._synchronise(self._sync)
        run(f"PRAGMA journal_size_limit = {1 << 22}")
        # Even without tables to make, this raises an error if the file is read-only.
        self._change(sqlite_schema.make if not tables else sqlite_schema.complete)
        self.secret = sqlite_schema.read_secret(run, self.label)
        self._file.is_ready()

    def _upgrade(self, version: int) -> None:
        """Upgrade a file that nobody else has open, since others may write the old format."""
        run = self._connection.execute
        run("PRAGMA busy_timeout = 1000")
        try:
            run("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{self.label} was made by an older lastblock and is in use; close it everywhere, "
                "then open it again"
            ) from error
        run(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
        self._change(lambda run: sqlite_schema.upgrade(run, version))
        with suppress(OSError):
            os.unlink(f"{self._file.path}-owners")  # the old format noted owners there

    def _synchronise(self, is_synchronous: bool) -> None:
        self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_synchronous else 'NORMAL'}")

    @property
    def is_lost(self) -> bool:
        """Whether the file or its log was moved, deleted or replaced."""
        return self._file.is_lost

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

    def _change(self, work: Callable[[Execute], Made]) -> Made:
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

    def names(self) -> dict[str, int]:
        """Return the number of each bandit, by name."""
        with self.view() as view:
            return view.names()

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

        def work(run: Execute) -> int:
            if run("SELECT 1 FROM bandits WHERE name = ?", (name,)).fetchone():
                raise StoreError(f"{self.label} has a bandit {name!r} already; take another name")
            number = run(
                "INSERT INTO bandits (name, policy, layout, snapshot, last_event, owner)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    name,
                    snapshot.policy,
                    snapshot.layout,
                    snapshot.body,
                    snapshot.event,
                    os.getpid(),
                ),
            ).lastrowid
            run("INSERT INTO generations VALUES (?, 0, 0)", (number,))
            for arm, label in enumerate(arms):
                run("INSERT INTO arms VALUES (?, ?, ?)", (number, arm, encoded(label)))
            return int(number or 0)

        return self._change(work)

    def receive(self, name: str, copy: Copy, parts: Iterable[Sequence[Row]]) -> None:
        """Add a bandit that another storage has, with all its events."""

        def work(run: Execute) -> None:
            if run("SELECT 1 FROM bandits WHERE name = ?", (name,)).fetchone():
                raise StoreError(f"{self.label} has a bandit {name!r} already; delete it first")
            receive(run, name, copy, parts)

        self._change(work)

    def delete(self, bandit: int) -> None:
        """Remove a bandit and its events."""

        def remove(run: Execute) -> None:
            for table in ("bandits", "arms", "events", "pending", "generations"):
                run(f"DELETE FROM {table} WHERE bandit = ?", (bandit,))

        self._change(remove)
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
    def is_remote(self) -> bool:
        """Return False: each call may as well write its own events, and locks last."""
        return False

    def begin(self, beginnings: Sequence[Beginning]) -> list[list[tuple[int, int]]]:
        """Begin new generations; return all that may have decisions out. See `Storage.begin`."""

        def enter(run: Execute) -> list[list[tuple[int, int]]]:
            return [begin(run, each, keep_all=self._keep_events) for each in beginnings]

        with self._lock:
            try:
                self._synchronise(True)  # or a power failure could make us use it a second time
                return self._change(enter)
            finally:
                self._synchronise(self._sync)

    def disown(self, bandit: int) -> None:
        """Let others own a bandit."""
        with self._lock:
            self._file.give(bandit)

    def write(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """Write everything or nothing."""

        def work(run: Execute) -> None:
            insert(run, EVENTS, rows)
            for bandit, _, _, kind, _, arm, label in rows:
                if kind == _ADD_ARM:
                    run("INSERT INTO arms VALUES (?, ?, ?)", (bandit, arm, label))
            for snapshot in snapshots:
                self._keep(run, snapshot)

        self._change(work)
        if snapshots and not self._keep_events:
            self._shrink()

    def documents(self, collection: str) -> dict[str, Document]:
        """Return the documents of a collection, by name."""
        with self.view() as view:
            return view.documents(collection)

    def put_document(self, collection: str, name: str, body: str, expected: int | None) -> int:
        """Write a document and return its version; see `Storage.put_document`."""
        return self._change(partial(put_document, collection, name, body, expected))

    def drop_document(self, collection: str, name: str) -> bool:
        """Remove a document; return whether there was one."""
        return self._change(partial(drop_document, collection, name))

    def _keep(self, run: Execute, snapshot: Snapshot) -> None:
        bandit = snapshot.bandit
        found = run(
            "SELECT last_event, asked, first_asked FROM bandits WHERE bandit = ?", (bandit,)
        ).fetchone()
        if found is None:
            raise StoreError(
                f"{self.label} no longer has this bandit (number {bandit}): it was deleted"
            )
        last, asked, first_asked = found
        pruned = last if first_asked is None else 0  # earlier events were dropped before
        if self._keep_events and first_asked is None:
            run(
                "UPDATE bandits SET (beginning, first_event, first_asked)"
                " = (snapshot, last_event, asked) WHERE bandit = ?",
                (bandit,),
            )
            first_asked = asked
        elif not self._keep_events and first_asked is not None:
            run("DELETE FROM pending WHERE bandit = ? AND answered IS NOT NULL", (bandit,))
            run(
                "UPDATE bandits SET (beginning, first_event, first_asked) = (NULL, NULL, NULL)"
                " WHERE bandit = ?",
                (bandit,),
            )
            first_asked = None
        values = {
            "bandit": bandit,
            "last": last,
            "event": snapshot.event,
            "since": max(asked, snapshot.since),
            "first_asked": first_asked or 0,
        }
        # Earlier decisions that are out are stored already.
        out = [(bandit, *each[:3], None, each[3]) for each in snapshot.out if each[0] >= asked]
        insert(run, PENDING, out)
        run(ADD_ASKED, values)
        if first_asked:
            run(KEEP_ANSWERED, values)
        if run("SELECT 1 FROM pending WHERE bandit = ? LIMIT 1", (bandit,)).fetchone():
            run(DROP_ANSWERED, values)
        if not self._keep_events:
            drop_events(run, snapshot, pruned)
        run(
            "UPDATE bandits SET policy = ?, layout = ?, snapshot = ?, last_event = ?, asked = ?"
            " WHERE bandit = ?",
            (
                snapshot.policy,
                snapshot.layout,
                snapshot.body,
                snapshot.event,
                snapshot.asked,
                bandit,
            ),
        )

    def _shrink(self) -> None:
        """Give empty pages back to the disk if there are many."""
        with self._lock, suppress(sqlite3.Error):  # the next snapshot tries again
            ((free,),) = self._connection.execute("PRAGMA freelist_count")
            ((pages,),) = self._connection.execute("PRAGMA page_count")
            if free > PAGES_FREE and 2 * free > pages:
                # Not with `execute`, which would take one step and free one page.
                self._connection.executescript(f"PRAGMA incremental_vacuum({free - PAGES_FREE})")


_ADD_ARM = KINDS.index("add_arm")
