"""A storage that keeps bandits and events in a PostgreSQL database."""

import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import psycopg

from lastblock.engine.events import ASK, ASK_AMONG, KINDS, TELL
from lastblock.live.labels import Label
from lastblock.store import queries
from lastblock.store.holders import this_process
from lastblock.store.postgres_connections import (
    Connection,
    Connections,
    DedicatedConnection,
    explained,
    is_broken,
    last_rows,
    read_address,
    run,
    running,
    unknown,
)
from lastblock.store.postgres_leases import LEASE, Leases
from lastblock.store.postgres_schema import prepare
from lastblock.store.postgres_view import PostgresView
from lastblock.store.queries import Put
from lastblock.store.schema import read_secret
from lastblock.store.storage import BanditHolder, Copy, Cut, Kept, Row, Snapshot
from lastblock.support.errors import StoreError

Made = TypeVar("Made")

_COPY = {
    "events": b'COPY events (bandit, event, "time", kind, decision, arm, reward, probability, '
    b"extra) FROM STDIN",
    "pending": b'COPY pending (bandit, decision, arm, probability, answered, "time") FROM STDIN',
}
_ADD_ARM = KINDS.index("add_arm")
_ASKS = (ASK, ASK_AMONG)

_NEW_OWNER = (
    "INSERT INTO owners (bandit, epoch, holder, process, host, identity, expires) VALUES "
    "(%s, 0, %s, %s, %s, %s, clock_timestamp() + make_interval(secs => %s))"
)


class PostgresStorage:
    """The tables of a store in a PostgreSQL database; `Storage` explains the methods.

    Readers share a pool of connections. The thread that writes and the one that renews leases have
    one each, so that readers cannot hold them up.

    Parameters
    ----------
    url
        The database; its tables are created if need be.
    keep_events
        Whether to keep events that a snapshot includes.
    sync
        Whether `write` waits for the disk.
    """

    def __init__(self, url: str, *, keep_events: bool, sync: bool) -> None:
        self._keep_events = keep_events
        address = read_address(url)
        holder = uuid.uuid4().hex
        self._holder = holder
        self.label = address.label
        self._connections = Connections(address, holder)
        self._writer = DedicatedConnection(self._connections)
        self._leases = Leases(self._connections, holder)
        self._lock = threading.RLock()
        self._unsure: set[int] = set()  # bandits of transactions whose end we did not see
        self._is_sent = False  # whether the last commit was sent and not answered
        self._is_closed = False
        try:
            prepare(self._connections)
            self._sync = self._setting(sync)
            with self._connections.transaction() as connection:
                self.secret = read_secret(running(connection), self.label)
        except BaseException:
            self.close()
            raise

    def _setting(self, sync: bool) -> str:
        """Return a statement for the beginning of a transaction, which sets how it commits."""
        if not sync:
            return "SET LOCAL synchronous_commit = off"
        with self._connections.transaction() as connection:
            ((found,),) = run(connection, "SHOW synchronous_commit")
        # Whoever has chosen a stronger setting than `on`, for standby servers, keeps it.
        return "SET LOCAL synchronous_commit = on" if found == "off" else "SELECT 1"

    @property
    def is_lost(self) -> bool:
        """Return False: a server that is gone may come back."""
        return False

    @property
    def is_remote(self) -> bool:
        """Return True: a commit is a conversation with the server, and leases end."""
        return True

    def close(self) -> None:
        """Give all bandits back and close the connections; closing twice is not an error."""
        with self._lock:
            self._is_closed = True
            self._leases.close()
            self._writer.drop()
            self._connections.close()

    def abandon(self) -> None:
        """In the child of a fork: own nothing, and leave the parent's connections alone."""
        self._lock = threading.RLock()
        self._is_closed = True
        self._connections.abandon()

    # Reading.

    def view(self, *, even_lost: bool = False) -> PostgresView:
        """Return a view of the database as it is at one moment; see `Storage.view`."""
        self._check_open()
        if self._unsure:
            self._settle()
        return PostgresView(self._connections, self._leases)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"{self.label} is closed; open it again with Store()")

    def _settle(self) -> None:
        """Wait for a transaction of ours whose end we did not see: it holds the owners' rows."""
        with self._connections.transaction() as connection:
            run(connection, "SET LOCAL lock_timeout = '5s'")
            run(
                connection,
                "SELECT 1 FROM owners WHERE holder = %s ORDER BY bandit FOR UPDATE",
                [self._holder],
            )

    # Bandits and their owners.

    def create(self, name: str, snapshot: Snapshot, arms: Sequence[Label]) -> int:
        """Add a bandit and return its number; the name must be new."""
        self._check_open()
        with self._connections.transaction() as connection:
            kept = Kept.of(snapshot)
            number = queries.add_bandit(running(connection), self.label, name, kept, arms)
            run(connection, _NEW_OWNER, [number, self._holder, *this_process(), LEASE])
            return number

    def receive(self, name: str, copy: Copy, parts: Iterable[Sequence[Row]]) -> None:
        """Add a bandit that another storage has, with all its events."""
        self._check_open()
        with self._connections.transaction() as connection:
            change, put = running(connection), putting(connection)
            number = queries.receive(change, put, self.label, name, copy, parts)
            run(connection, _NEW_OWNER, [number, None, None, None, None, 0.0])

    def delete(self, bandit: int) -> None:
        """Remove a bandit and its events."""

        def remove(connection: Connection) -> None:
            queries.remove_bandit(running(connection), bandit)
            run(connection, "DELETE FROM owners WHERE bandit = %s", [bandit])

        self._change([bandit], remove)
        self._leases.forget(bandit)

    @property
    def holder(self) -> str:
        """The name of this store among the owners."""
        return self._holder

    def holders(self) -> dict[str, BanditHolder]:
        """Return who has each bandit, by its name."""
        self._check_open()
        return self._leases.holders()

    def own(self, bandits: Sequence[int]) -> dict[int, str]:
        """Take bandits; return words for where some of them are open already."""
        self._check_open()
        return self._leases.take(bandits)

    def check_owned(self, bandit: int) -> None:
        """Raise a `StoreError` if this store may not decide for a bandit; see `Storage`."""
        self._leases.check(bandit)

    @property
    def losses(self) -> Sequence[str]:
        """What the database has lost that went back to an earlier state."""
        return tuple(self._leases.losses)

    def reserve(self, ends: Mapping[int, int]) -> None:
        """Note up to which id some bandits may give decisions; see `Storage.reserve`."""
        self._leases.note_reserved(ends)
        self._change(list(ends), lambda connection: queries.reserve(running(connection), ends))

    def cut_off(self, bandit: int, cut: Cut) -> None:
        """Remove a bandit's events after one; see `Storage.cut_off`."""
        self._change([bandit], lambda c: queries.cut_off(running(c), bandit, cut))

    def disown(self, bandit: int) -> None:
        """Let others own a bandit."""
        self._leases.give(bandit)

    def _change(self, bandits: Sequence[int], work: Callable[[Connection], Made]) -> Made:
        """Do `work` in a transaction, if the bandits are still ours."""
        self._check_open()
        epochs = {bandit: self._leases.epoch(bandit) for bandit in bandits}
        written = self._leases.written
        with self._connections.transaction() as connection:
            run(connection, "SET LOCAL synchronous_commit = on")
            events = {bandit: written.get(bandit, 0) for bandit in bandits}
            lost, _ = self._leases.fence(connection, "SELECT 1", epochs, events)
            if not lost:
                return work(connection)
        raise self._leases.lose(lost)

    # Documents.

    def put_document(self, collection: str, name: str, body: str, expected: int | None) -> int:
        """Write a document and return its version; see `Storage.put_document`."""
        self._check_open()
        with self._connections.transaction() as connection:
            return queries.put_document(running(connection), collection, name, body, expected)

    def drop_document(self, collection: str, name: str) -> bool:
        """Remove a document; return whether there was one."""
        self._check_open()
        with self._connections.transaction() as connection:
            return queries.drop_document(running(connection), collection, name)

    # Events.

    def write(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """Write everything or nothing."""
        # The last event of each bandit that must be there: that before its first row.
        known = {each.bandit: each.event for each in snapshots}
        known |= {row[0]: row[1] - 1 for row in reversed(rows)}
        if not known:
            return
        with self._lock:
            self._check_open()
            epochs = {bandit: self._leases.epoch(bandit) for bandit in known}
            self._is_sent = False
            try:
                lost = self._write_again(rows, snapshots, epochs, known)
            except StoreError as error:
                if not self._is_sent:
                    raise
                advice = "make it again with its key or token, and it takes effect once"
                raise unknown(error, advice) from error
            if lost:
                raise self._leases.lose(lost)
            self._leases.note_written(
                {row[0]: (row[1], row[2]) for row in rows},
                {row[0]: row[4] + 1 for row in rows if row[3] in _ASKS and row[4] is not None},
            )

    def _write_again(
        self,
        rows: Sequence[Row],
        snapshots: Sequence[Snapshot],
        epochs: Mapping[int, int],
        known: Mapping[int, int],
    ) -> dict[int, int]:
        """Write as `_write` does; if the connection breaks, try once more.

        It may have been broken since the server was restarted. If the transaction was committed,
        what it wrote is not written again.
        """
        with explained(self.label):
            try:
                return self._write(rows, snapshots, epochs, known)
            except psycopg.OperationalError:
                if self._unsure.isdisjoint(known):
                    raise
                return self._write(rows, snapshots, epochs, known)

    def _write(
        self,
        rows: Sequence[Row],
        snapshots: Sequence[Snapshot],
        epochs: Mapping[int, int],
        known: Mapping[int, int],
    ) -> dict[int, int]:
        """Write in one transaction; return the bandits that are no longer ours, if there are any.

        A transaction of ours whose end we did not see holds a shared lock of the owners' rows. If
        there may be one, we wait for it.
        """
        with self._writer.lock:
            connection = self._writer.get()
            was_sent, is_unsure = self._is_sent, not self._unsure.isdisjoint(known)
            try:
                begin = f"{self._connections.begin()}; {self._sync}"
                lost, last = self._leases.fence(connection, begin, epochs, known, waits=is_unsure)
                if not lost:
                    new = [row for row in rows if row[1] > last[row[0]]] if is_unsure else rows
                    self._insert(connection, new, snapshots)
                    self._is_sent = True
                last_rows(connection, "ROLLBACK; SELECT 1" if lost else "COMMIT; SELECT 1")
            except BaseException:
                if is_broken(connection):
                    self._unsure.update(known)
                else:
                    self._is_sent = was_sent
                    connection.rollback()
                raise
            self._is_sent = False
            self._unsure.difference_update(known)
            return lost

    def _insert(
        self, connection: Connection, rows: Sequence[Row], snapshots: Sequence[Snapshot]
    ) -> None:
        change, put = running(connection), putting(connection)
        put("events", rows)
        for bandit, _, _, kind, _, arm, label in rows:
            if kind == _ADD_ARM:
                queries.add_arm(change, bandit, arm, label)
        for snapshot in snapshots:
            queries.keep_snapshot(change, put, self.label, snapshot, self._keep_events)


def putting(connection: Connection) -> Put:
    """Return a function that has PostgreSQL read many rows, and waits until it has."""

    def put(table: Literal["events", "pending"], rows: Sequence[Sequence[Any]]) -> None:
        if not rows:
            return
        with connection.cursor() as cursor, cursor.copy(_COPY[table]) as copy:
            for row in rows if table == "pending" else map(_columns, rows):
                copy.write_row(row)

    return put


def _columns(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return an event with its value in one of three columns: reward, probability, extra."""
    *begin, value = row
    kind = row[3]
    if kind == TELL:
        return *begin, value, None, None
    return (*begin, None, value, None) if kind == ASK else (*begin, None, None, value)
