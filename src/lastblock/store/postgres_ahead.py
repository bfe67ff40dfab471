"""Read what opening many bandits takes from PostgreSQL with few queries, not some for each."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.engine.events import FORGET, NO_CHANCE, TELL
from lastblock.store.postgres_connections import Connection, run
from lastblock.store.postgres_rows import read_array
from lastblock.store.storage import NoteRow, Out, Part, Snapshot

MOST = 1000
"""The most events of a bandit that are read ahead, so that little is in memory at a time."""

COLUMNS = (
    "bandit, event, kind::float8, coalesce(decision, -1)::float8 AS decision, "
    "coalesce(arm, -1)::float8 AS arm, "
    f"CASE kind WHEN {TELL} THEN coalesce(reward, 'NaN') "
    f'ELSE coalesce(probability, {NO_CHANCE}) END AS value, "time"::float8 AS times'
)
"""An event as numbers."""

_NAMES = ("kind", "decision", "arm", "value", "times")
COLUMNS_SENT = ", ".join(f"array_send(array_agg({name}))" for name in _NAMES)
"""The events of a bandit as arrays, which `read_columns` reads; the events must be in order."""

_COLUMNS_SORTED = COLUMNS_SENT.replace("))", " ORDER BY event))")

_SNAPSHOTS = (
    "SELECT bandit, last_event, asked, policy, layout, snapshot, coalesce((SELECT max(event) "
    "FROM events WHERE events.bandit = bandits.bandit), 0) FROM bandits WHERE bandit = ANY(%s)"
)
_PENDING = (
    'SELECT bandit, decision, arm, probability, "time" FROM pending '
    "WHERE bandit = ANY(%s) AND answered IS NULL ORDER BY bandit, decision"
)
_SINCE = (
    "FROM events JOIN unnest(%s::bigint[], %s::bigint[]) AS opened (number, after) "
    "ON bandit = number AND event > after"
)
_PARTS = (
    f"SELECT bandit, {_COLUMNS_SORTED} FROM (SELECT {COLUMNS} {_SINCE}) AS part GROUP BY bandit"
)
_NOTES = (
    f'SELECT bandit, event, "time", kind, decision, arm, extra {_SINCE} WHERE kind > {FORGET} '
    "ORDER BY bandit, event"
)


class Ahead(NamedTuple):
    """What was read of a bandit."""

    snapshot: Snapshot
    last: int
    """Its last event; 0 if there is none."""
    pending: list[Out]
    part: Part | None
    """Its events since the snapshot; None if there are none, or too many."""


def read_columns(
    columns: Sequence[bytes],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return events as rows of numbers, and their times."""
    *numbers, times = [read_array(column) for column in columns]
    return np.column_stack(numbers), times


def read_ahead(connection: Connection, bandits: Sequence[int]) -> dict[int, Ahead]:
    """Return what opening these bandits takes, as far as it is there."""
    wanted = [list(bandits)]
    pending: dict[int, list[Out]] = {bandit: [] for bandit in bandits}
    for bandit, *out in run(connection, _PENDING, wanted):
        pending[bandit].append((out[0], out[1], out[2], out[3]))
    snapshots: dict[int, tuple[Snapshot, int]] = {}
    # Binary, since text would double the bytes of a snapshot.
    for row in connection.execute(_SNAPSHOTS.encode(), wanted, binary=True):
        bandit, event, asked, policy, layout, body, last = row
        made = Snapshot(bandit, event, asked, policy, layout, bytes(body))
        snapshots[bandit] = made, last
    few = {
        bandit: made.event
        for bandit, (made, last) in snapshots.items()
        if 0 < last - made.event <= MOST
    }
    parts = _parts(connection, few) if few else {}
    return {
        bandit: Ahead(made, last, pending[bandit], parts.get(bandit))
        for bandit, (made, last) in snapshots.items()
    }


def _parts(connection: Connection, after: dict[int, int]) -> dict[int, Part]:
    """Return the events of bandits after some event of each."""
    values: list[Any] = [list(after), list(after.values())]
    changes: dict[int, list[tuple[int, NoteRow]]] = {bandit: [] for bandit in after}
    for bandit, *note in run(connection, _NOTES, values):
        event, time, kind, decision, arm, extra = note
        place = event - after[bandit] - 1
        changes[bandit].append((place, (event, time, kind, decision, arm, extra)))
    return {
        bandit: Part(*read_columns(columns), changes[bandit])
        for bandit, *columns in connection.execute(_PARTS.encode(), values, binary=True)
    }
