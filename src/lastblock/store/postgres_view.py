"""A view of a PostgreSQL database as it was at one moment, while others go on writing."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.engine.events import FORGET, NO_CHANCE, TELL
from lastblock.store.holders import Holder
from lastblock.store.postgres_connections import (
    Connection,
    Connections,
    end,
    explained,
    last_rows,
    read_address,
)
from lastblock.store.postgres_leases import Leases
from lastblock.store.postgres_schema import version
from lastblock.store.queries import NOTE, SharedView
from lastblock.store.schema import check_format
from lastblock.store.storage import NoteRow, Out, Part, Snapshot
from lastblock.support.errors import StoreError

_MODE = "ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_IDLE = 600  # seconds that a reader may compute between two reads

MOST_AHEAD = 1000
"""The most events of a bandit that are read ahead, so that little is in memory at a time."""

_COLUMNS = (
    "bandit, event, kind::float8, coalesce(decision, -1)::float8 AS decision, "
    "coalesce(arm, -1)::float8 AS arm, "
    f"CASE kind WHEN {TELL} THEN coalesce(reward, 'NaN') "
    f'ELSE coalesce(probability, {NO_CHANCE}) END AS value, "time"::float8 AS times'
)
_SENT = ", ".join(
    f"array_send(array_agg({name} ORDER BY event))"
    for name in ("kind", "decision", "arm", "value", "times")
)
"""The events of a bandit as arrays, which `_read_columns` reads."""

_PART = (
    f"SELECT {_SENT} FROM (SELECT {_COLUMNS} "
    "FROM events WHERE bandit = ? AND event > ? AND event <= ?) AS part"
)
_SNAPSHOTS = (
    "SELECT bandit, last_event, next_id, policy, layout, snapshot, reserved, coalesce((SELECT "
    "max(event) FROM events WHERE events.bandit = bandits.bandit), 0) FROM bandits "
    "WHERE bandit = ANY(?)"
)
_PENDING = (
    'SELECT bandit, decision, arm, probability, "time" FROM pending '
    "WHERE bandit = ANY(?) AND answered IS NULL ORDER BY bandit, decision"
)
_SINCE = (
    "FROM events JOIN unnest(?::bigint[], ?::bigint[]) AS opened (number, after) "
    "ON bandit = number AND event > after"
)
_PARTS = f"SELECT bandit, {_SENT} FROM (SELECT {_COLUMNS} {_SINCE}) AS part GROUP BY bandit"
_NOTES = (
    f'SELECT bandit, event, "time", kind, decision, arm, extra {_SINCE} WHERE kind > {FORGET} '
    "ORDER BY bandit, event"
)
_ELEMENT = np.dtype([("size", ">i4"), ("value", ">f8")])
_HEAD = 20  # bytes before the elements of an array: dimensions, flags, type, length, lower bound


class Ahead(NamedTuple):
    """What was read of a bandit before it was asked for."""

    snapshot: Snapshot
    last: int
    """Its last event; 0 if there is none."""
    pending: list[Out]
    part: Part | None
    """Its events since the snapshot; None if there are none, or too many."""


class PostgresView(SharedView):
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
        with explained(self.label):  # binary, since text would double the bytes of a snapshot
            words = query.replace("?", "%s").encode()
            return list(self._open().execute(words, values, binary=True).fetchall())

    def read_ahead(self, bandits: Sequence[int]) -> None:
        """Read what opening these bandits takes with few queries, since each is a round trip."""
        wanted = list(bandits)
        pending: dict[int, list[Out]] = {bandit: [] for bandit in wanted}
        for bandit, *out in self._read(_PENDING, wanted):
            pending[bandit].append((out[0], out[1], out[2], out[3]))
        found: dict[int, tuple[Snapshot, int]] = {}
        for *begin, body, reserved, last in self._read(_SNAPSHOTS, wanted):
            bandit, event, next_id, policy, layout = begin
            made = Snapshot(bandit, event, next_id, policy, layout, body, reserved=reserved)
            found[bandit] = made, last
        few = {
            bandit: made.event
            for bandit, (made, last) in found.items()
            if 0 < last - made.event <= MOST_AHEAD
        }
        parts = self._parts(few) if few else {}
        self._ahead = {
            bandit: Ahead(made, last, pending[bandit], parts.get(bandit))
            for bandit, (made, last) in found.items()
        }

    def _parts(self, after: dict[int, int]) -> dict[int, Part]:
        """Return the events of bandits after some event of each."""
        values = list(after), list(after.values())
        changes: dict[int, list[tuple[int, NoteRow]]] = {bandit: [] for bandit in after}
        for bandit, *note in self._read(_NOTES, *values):
            event, time, kind, decision, arm, extra = note
            place = event - after[bandit] - 1
            changes[bandit].append((place, (event, time, kind, decision, arm, extra)))
        return {
            bandit: Part(*_read_columns(columns), changes[bandit])
            for bandit, *columns in self._read(_PARTS, *values)
        }

    def snapshot(self, bandit: int, *, first: bool = False) -> Snapshot:
        """Return the latest snapshot; with `first`, the earliest whose later events all exist."""
        if bandit in self._ahead and not first:
            return self._ahead[bandit].snapshot
        return super().snapshot(bandit, first=first)

    def pending(self, bandit: int, *, first: bool = False) -> list[Out]:
        """Return the decisions that were out at the snapshot that `snapshot` returns, in order."""
        if bandit in self._ahead and not first:
            return self._ahead[bandit].pending
        return super().pending(bandit, first=first)

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
        run, times = _read_columns(self._read(_PART, *values)[0])
        changes: list[tuple[int, NoteRow]] = []
        if (run[:, 0] > FORGET).any():
            rows = self._read(
                f"{NOTE} WHERE bandit = ? AND event > ? AND event <= ? AND kind > {FORGET} "
                "ORDER BY event",
                *values,
            )
            changes = [(row[0] - after - 1, row) for row in rows]
        return Part(run, times, changes)

    def check_owned(self, bandit: int, event: int) -> None:
        """Raise a `TakenOverError` if the storage did not own the bandit at this moment."""
        found = self._read(self._leases.standing([bandit]))
        if lost := self._leases.missing(
            found, {bandit: self._leases.epoch(bandit)}, {bandit: event}
        ):
            raise self._leases.lose(lost)

    def lease(self, bandit: int) -> tuple[int | None, str | None, str | None, float] | None:
        """Return process, host and identity of the owner, and the seconds left; None if free."""
        found = self._read(
            "SELECT process, host, identity, extract(epoch FROM expires - clock_timestamp())"
            "::float8 FROM owners WHERE bandit = ? AND holder IS NOT NULL",
            bandit,
        )
        return found[0] if found else None


def _read_columns(
    columns: Sequence[bytes],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return events as rows of numbers, and their times."""
    *numbers, times = [_read_array(column) for column in columns]
    return np.column_stack(numbers), times


def _read_array(data: bytes | None) -> npt.NDArray[np.float64]:
    """Return the numbers of an array, as `array_send` makes it from double precision."""
    if data is None or len(data) <= _HEAD:
        return np.empty(0)
    return np.frombuffer(data, _ELEMENT, offset=_HEAD)["value"].astype(np.float64)


@contextmanager
def open_view(url: str) -> Iterator[tuple[PostgresView, Callable[[int], str | None]]]:
    """Open a view of a database, and a function that says who has a bandit open."""
    connections = Connections(read_address(url), "reading")
    try:
        with connections.transaction("READ ONLY") as connection:
            found = version(connection, connections.address.schema)
        check_format(connections.label, found, "postgresql")
        with PostgresView(connections, Leases(connections, "reading")) as view:
            yield view, lambda bandit: _owner(view, bandit)
    finally:
        connections.close()


def _owner(view: PostgresView, bandit: int) -> str | None:
    """Return words for the process that has a lease of a bandit; None if nobody has."""
    found = view.lease(bandit)
    if found is None or found[3] <= 0.0:
        return None
    holder = Holder(found[0] or 0, found[1] or "", found[2] or "")
    return None if holder.has_ended() else holder.place()
