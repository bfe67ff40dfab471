"""A view of a PostgreSQL database as it was at one moment, while others go on writing."""

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from lastblock.engine.events import ASK, ASK_AMONG, FORGET, TELL
from lastblock.store.postgres_ahead import COLUMNS, COLUMNS_SENT, Ahead, read_ahead, read_columns
from lastblock.store.postgres_connections import Connection, Connections, end, last_rows, run
from lastblock.store.postgres_errors import explained
from lastblock.store.postgres_leases import Leases
from lastblock.store.shared_queries import NOTE, SharedQueries
from lastblock.store.storage import (
    NoteRow,
    Out,
    Part,
    Row,
    Snapshot,
    Tally,
)
from lastblock.support.errors import StoreError

_MODE = "ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_IDLE = 600  # seconds that a reader may compute between two reads

_PART = (
    f"SELECT {COLUMNS_SENT} FROM (SELECT {COLUMNS} "
    "FROM events WHERE bandit = %s AND event > %s AND event <= %s ORDER BY event) AS part"
)


class PostgresView(SharedQueries):
    """A read transaction on a connection of the pool; `View` explains the methods."""

    def __init__(self, connections: Connections, leases: Leases) -> None:
        self.label = connections.label
        self._connections, self._leases = connections, leases
        self._connection: Connection | None = None
        self._ahead: dict[int, Ahead] = {}

    def __enter__(self) -> "PostgresView":
        begin = self._connections.begin(_MODE, idle=_IDLE)
        self._connection = self._connections.take(begin)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._connections.give(connection)

    def move_on(self) -> None:
        """Move to a later moment, so that the server can remove rows that were deleted."""
        connection = self._open()
        self._ahead = {}
        with explained(self.label):
            end(connection)
            last_rows(connection, f"{self._connections.begin(_MODE, idle=_IDLE)}; SELECT 1")

    def _open(self) -> Connection:
        if self._connection is None:
            raise StoreError(f"{self.label}: this view has ended; take another one")
        return self._connection

    def _read(self, query: str, *values: Any) -> list[Any]:
        with explained(self.label):
            return list(run(self._open(), query.replace("?", "%s"), values).fetchall())

    def names(self) -> dict[str, int]:
        """Return the number of each bandit, by name."""
        return dict(self._read('SELECT name, bandit FROM bandits ORDER BY name COLLATE "C"'))

    def read_ahead(self, bandits: Sequence[int]) -> None:
        """Read what opening these bandits takes with few queries, since each is a round trip."""
        with explained(self.label):
            self._ahead = read_ahead(self._open(), bandits)

    def snapshot(self, bandit: int, *, first: bool = False) -> Snapshot:
        """Return the latest snapshot; with `first`, the earliest whose later events all exist."""
        if bandit in self._ahead and not first:
            return self._ahead[bandit].snapshot
        which = "asked, snapshot, last_event"
        if first:
            which = (
                "coalesce(first_asked, asked), coalesce(beginning, snapshot), "
                "coalesce(first_event, last_event)"
            )
        with explained(self.label):  # binary, since text would double the bytes of a snapshot
            cursor = self._open().execute(
                f"SELECT policy, layout, {which} FROM bandits WHERE bandit = %s".encode(),
                [bandit],
                binary=True,
            )
            row = cursor.fetchone()
        if row is None:
            raise StoreError(
                f"{self.label} no longer has this bandit (number {bandit}): it was deleted"
            )
        policy, layout, asked, body, event = row
        return Snapshot(bandit, event, asked, policy, layout, bytes(body))

    def pending(self, bandit: int, *, first: bool = False) -> list[Out]:
        """Return the decisions that were out at the snapshot that `snapshot` returns, in order."""
        if bandit in self._ahead and not first:
            return self._ahead[bandit].pending
        which, values = "answered IS NULL", [bandit]
        if first:
            which = (
                "decision < coalesce((SELECT first_asked FROM bandits WHERE bandit = ?), 1::bigint"
                " << 62)"
            )
            values = [bandit, bandit]
        return self._read(
            'SELECT decision, arm, probability, "time" FROM pending '
            f"WHERE bandit = ? AND {which} ORDER BY decision",
            *values,
        )

    def check_owned(self, bandit: int) -> None:
        """Raise a `TakenOverError` if the storage did not own the bandit at this moment."""
        found = self._read("SELECT epoch FROM owners WHERE bandit = ?", bandit)
        if found != [(self._leases.epoch(bandit),)]:
            raise self._leases.lose([bandit])

    def lease(self, bandit: int) -> tuple[int | None, str | None, str | None, float] | None:
        """Return process, host and identity of the owner, and the seconds left; None if free."""
        found = self._read(
            "SELECT process, host, identity, extract(epoch FROM expires - clock_timestamp())"
            "::float8 FROM owners WHERE bandit = ? AND holder IS NOT NULL",
            bandit,
        )
        return found[0] if found else None

    def last(self, bandit: int) -> int:
        """Return the number of the last event; 0 if there is none."""
        if bandit in self._ahead:
            return self._ahead[bandit].last
        return super().last(bandit)

    def part(self, bandit: int, after: int, size: int) -> Part:
        """Return up to `size` events after event `after`."""
        ahead = self._ahead.get(bandit)
        if ahead is not None and ahead.part is not None and after == ahead.snapshot.event:
            if len(ahead.part.run) <= size:
                return ahead.part
        values = bandit, after, after + size
        with explained(self.label):
            columns = self._open().execute(_PART.encode(), values, binary=True).fetchone()
        run, times = read_columns(columns or ())
        changes: list[tuple[int, NoteRow]] = []
        if (run[:, 0] > FORGET).any():
            rows = self._read(
                f"{NOTE} WHERE bandit = ? AND event > ? AND event <= ? AND kind > {FORGET} "
                "ORDER BY event",
                *values,
            )
            changes = [(row[0] - after - 1, row) for row in rows]
        return Part(run, times, changes)

    def rows(self, bandit: int, after: int, size: int) -> list[Row]:
        """Return up to `size` events after event `after`, as complete rows."""
        found = self._read(
            'SELECT bandit, event, "time", kind, decision, arm, '
            "coalesce(reward, probability), extra "
            "FROM events WHERE bandit = ? AND event > ? ORDER BY event LIMIT ?",
            bandit,
            after,
            size,
        )
        return [(*row[:6], row[7] if row[6] is None else row[6]) for row in found]

    def tally(self, bandit: int, after: int, until: int, length: int) -> list[Tally]:
        """Count decisions and rewards of the events after `after` up to `until`."""
        found = self._read(
            f'SELECT "time" / ?::bigint, arm, count(*) FILTER (WHERE kind <> {TELL}), '
            f"count(*) FILTER (WHERE kind = {TELL}), coalesce(sum(reward), 0), "
            # PostgreSQL refuses a square that is too large for a number.
            "coalesce(sum(CASE WHEN abs(reward) < 1e150 THEN reward * reward END), 0) "
            "FROM events WHERE bandit = ? AND event > ? AND event <= ? "
            f"AND kind IN ({ASK}, {TELL}, {ASK_AMONG}) GROUP BY 1, 2",
            length,
            bandit,
            after,
            until,
        )
        return list(map(Tally._make, found))
