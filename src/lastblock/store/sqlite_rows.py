"""Write many rows into an SQLite file with few statements."""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from lastblock.engine.events import ASK, FORGET, REMEMBERED, TELL
from lastblock.store.sqlite_schema import Execute
from lastblock.store.storage import Beginning, Copy, Row, Snapshot, encoded

_ROWS = (*(2**k for k in range(12)), 4000)  # × 7 parameters is below SQLite's limit of 32 766

# One statement inserts many rows, since each statement releases and takes the interpreter's lock
# once. It has few parameters, since passing a value takes as long as writing it.
EVENTS = {
    rows: "INSERT INTO events SELECT column1, column2, column3, column4, column5, column6, "
    f"iif(column4 = {TELL}, column7, NULL), iif(column4 = {ASK}, column7, NULL), "
    f"iif(column4 > {FORGET}, column7, NULL) FROM (VALUES "
    + ",".join(["(?,?,?,?,?,?,?)"] * rows)
    + ") LIMIT ?"
    for rows in _ROWS
}
PENDING = {
    rows: "INSERT INTO pending (bandit, decision, arm, probability, answered, time) SELECT "
    "column1, column2, column3, column4, column5, column6 FROM (VALUES "
    + ",".join(["(?,?,?,?,?,?)"] * rows)
    + ") LIMIT ?"
    for rows in _ROWS
}


def insert(run: Execute, statements: Mapping[int, str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows; `statements` has one for each number of rows in `_ROWS`."""
    for first in range(0, len(rows), _ROWS[-1]):
        part = rows[first : first + _ROWS[-1]]
        room = next(size for size in _ROWS if size >= len(part))
        values: list[Any] = list(chain.from_iterable(part))
        values += [None] * (len(part[0]) * (room - len(part)))
        values.append(len(part))
        run(statements[room], values)


def begin(run: Execute, new: Beginning, *, keep_all: bool) -> list[tuple[int, int]]:
    """Begin a generation; return all that may have decisions out, or that the log needs."""
    run(
        "UPDATE bandits SET generation = generation + 1, owner = ? WHERE bandit = ?",
        (os.getpid(), new.bandit),
    )
    run(
        "INSERT OR REPLACE INTO generations "
        "SELECT bandit, ?, generation FROM bandits WHERE bandit = ?",
        (new.asked, new.bandit),
    )
    if not keep_all:
        run(
            "DELETE FROM generations WHERE bandit = ?1 AND first < "
            "(SELECT max(first) FROM generations WHERE bandit = ?1 AND first <= ?2)",
            (new.bandit, new.oldest),
        )
    return run(
        "SELECT first, generation FROM generations WHERE bandit = ? ORDER BY first", (new.bandit,)
    ).fetchall()


def drop_events(run: Execute, snapshot: Snapshot, pruned: int) -> None:
    """Remove the events that a snapshot includes, except those that the bandit's memory needs.

    Parameters
    ----------
    run
        Executes a statement.
    snapshot
        The new snapshot.
    pruned
        The event up to which they have been removed already.
    """
    bandit, first = snapshot.bandit, min(snapshot.remembers, snapshot.event + 1)
    run("DELETE FROM events WHERE bandit = ? AND event < ?", (bandit, first))
    if first <= snapshot.event:
        run(
            "DELETE FROM events WHERE bandit = ? AND event >= ? AND event <= ? "
            f"AND kind NOT IN {REMEMBERED}",
            (bandit, max(first, pruned + 1), snapshot.event),
        )


def receive(run: Execute, name: str, copy: Copy, parts: Iterable[Sequence[Row]]) -> None:
    """Write a bandit that another storage has; rows of events get its number here."""
    columns = ", ".join(copy.kept._fields)
    number = run(
        f"INSERT INTO bandits (name, {columns}) VALUES (?{', ?' * len(copy.kept)})",
        (name, *copy.kept),
    ).lastrowid
    for arm, label in enumerate(copy.arms):
        run("INSERT INTO arms VALUES (?, ?, ?)", (number, arm, encoded(label)))
    for first, generation in copy.generations:
        run("INSERT INTO generations VALUES (?, ?, ?)", (number, first, generation))
    if copy.pending:
        insert(run, PENDING, [(number, *row) for row in copy.pending])
    for rows in parts:
        insert(run, EVENTS, [(number, *row[1:]) for row in rows])
