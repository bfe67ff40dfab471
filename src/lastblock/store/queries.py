"""What SQLite and PostgreSQL are asked alike: queries that both understand, with ? for a value."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from lastblock.engine.events import ASK, ASK_AMONG, REMEMBERED, TELL
from lastblock.live.labels import Label
from lastblock.store.storage import (
    MILESTONES,
    MOST_MILESTONES,
    Copy,
    Cut,
    Document,
    Kept,
    Milestone,
    NoteRow,
    Out,
    Row,
    Snapshot,
    Tally,
)
from lastblock.support.errors import StoreError

Run: TypeAlias = Callable[[str, Sequence[Any]], Any]
"""Executes a query with a sequence of values, in a transaction; returns a cursor."""

Put: TypeAlias = Callable[[Literal["events", "pending"], Sequence[Sequence[Any]]], None]
"""Inserts many rows: events as `Row`, or those of `Copy.pending` with the bandit before them."""

NOTE = 'SELECT event, "time", kind, decision, arm, extra FROM events'
"""The columns of a `NoteRow`."""

_ALL = 1 << 62
_AT_ONCE = 1000
_TABLES = ("events", "pending", "arms", "bandits")


class SharedView(ABC):
    """What a view reads in the same way from either database; `View` explains the methods."""

    label: str

    @abstractmethod
    def _read(self, query: str, *values: Any) -> list[Any]:
        """Return the rows that a query finds, with these values for its question marks."""

    def names(self) -> dict[str, int]:
        """Return the number of each bandit, by name."""
        return dict(sorted(self._read("SELECT name, bandit FROM bandits")))

    def snapshot(self, bandit: int, *, first: bool = False) -> Snapshot:
        """Return the latest snapshot; with `first`, the earliest whose later events all exist."""
        which = "last_event, next_id, policy, layout, snapshot"
        if first:
            which = (
                "coalesce(first_event, last_event), coalesce(first_id, next_id), policy, layout, "
                "coalesce(beginning, snapshot)"
            )
        rows = self._read(f"SELECT {which}, reserved FROM bandits WHERE bandit = ?", bandit)
        if not rows:
            raise deleted(self.label, bandit)
        event, next_id, policy, layout, body, reserved = rows[0]
        return Snapshot(bandit, event, next_id, policy, layout, body, reserved=reserved)

    def pending(self, bandit: int, *, first: bool = False) -> list[Out]:
        """Return the decisions that were out at the snapshot that `snapshot` returns, in order."""
        which, values = "answered IS NULL", [bandit]
        if first:
            begin = "SELECT first_id FROM bandits WHERE bandit = ?"
            which, values = f"decision < coalesce(({begin}), {_ALL})", [bandit, bandit]
        return self._read(
            'SELECT decision, arm, probability, "time" FROM pending '
            f"WHERE bandit = ? AND {which} ORDER BY decision",
            *values,
        )

    def keeps(self, bandit: int) -> bool:
        """Return whether all events after the earliest snapshot are kept."""
        found = self._read("SELECT first_event FROM bandits WHERE bandit = ?", bandit)
        return found not in ([], [(None,)])

    def last(self, bandit: int) -> int:
        """Return the number of the last event; 0 if there is none."""
        ((last,),) = self._read("SELECT max(event) FROM events WHERE bandit = ?", bandit)
        return last or 0

    def since_snapshot(self, bandit: int) -> dict[int, int]:
        """Return the number of events of each kind after the latest snapshot."""
        return dict(
            self._read(
                "SELECT kind, count(*) FROM events WHERE bandit = ? AND event > "
                "(SELECT last_event FROM bandits WHERE bandit = ?) GROUP BY kind",
                bandit,
                bandit,
            )
        )

    def last_time(self, bandit: int) -> int | None:
        """Return the time of the last event that is kept, in microseconds since 1970, or None."""
        found = self._read(
            'SELECT "time" FROM events WHERE bandit = ? ORDER BY event DESC LIMIT 1', bandit
        )
        return found[0][0] if found else None

    def asked_at(self, bandit: int, decision: int) -> int | None:
        """Return the number of the event that asked for a decision; None if it is not there."""
        found = self._read(
            "SELECT event FROM events WHERE bandit = ? AND decision = ? "
            f"AND kind IN ({ASK}, {ASK_AMONG}) ORDER BY event LIMIT 1",
            bandit,
            decision,
        )
        return found[0][0] if found else None

    def rows(self, bandit: int, after: int, size: int) -> list[Row]:
        """Return up to `size` events after event `after`, as complete rows."""
        found = self._read(
            'SELECT bandit, event, "time", kind, decision, arm, coalesce(reward, probability), '
            "extra FROM events WHERE bandit = ? AND event > ? ORDER BY event LIMIT ?",
            bandit,
            after,
            size,
        )
        return [(*row[:6], row[7] if row[6] is None else row[6]) for row in found]

    def notes(self, bandit: int, first: int, last: int) -> list[NoteRow]:
        """Return the events of the kinds `REMEMBERED` from event `first` to event `last`."""
        if first > last:
            return []
        return self._read(
            f"{NOTE} WHERE bandit = ? AND event >= ? AND event <= ? AND kind > 5 "
            f"AND kind IN {REMEMBERED} ORDER BY event",
            bandit,
            first,
            last,
        )

    def time(self, bandit: int, event: int) -> int | None:
        """Return the time of an event, in microseconds since 1970; None if it is not there."""
        found = self._read(
            'SELECT "time" FROM events WHERE bandit = ? AND event = ?', bandit, event
        )
        return found[0][0] if found else None

    def tally(self, bandit: int, after: int, until: int, length: int) -> list[Tally]:
        """Count decisions and rewards of the events after `after` up to `until`."""
        found = self._read(
            f'SELECT "time" / CAST(? AS bigint), arm, count(*) FILTER (WHERE kind <> {TELL}), '
            f"count(*) FILTER (WHERE kind = {TELL}), coalesce(sum(reward), 0.0), "
            # PostgreSQL refuses squares that are too large or too small for a number.
            "coalesce(sum(CASE WHEN abs(reward) BETWEEN 1e-150 AND 1e150 THEN reward * reward END),"
            " 0.0) "
            "FROM events WHERE bandit = ? AND event > ? AND event <= ? "
            f"AND kind IN ({ASK}, {TELL}, {ASK_AMONG}) GROUP BY 1, 2",
            length,
            bandit,
            after,
            until,
        )
        return list(map(Tally._make, found))

    def milestones(self, bandit: int, after: int, until: int) -> list[Milestone]:
        """Return the events that change a bandit's arms or floors, oldest first."""
        found = self._read(
            'SELECT "time", kind, arm FROM events WHERE bandit = ? AND event > ? '
            f"AND event <= ? AND kind IN {MILESTONES} ORDER BY event DESC "
            f"LIMIT {MOST_MILESTONES}",
            bandit,
            after,
            until,
        )
        return [Milestone(*row) for row in reversed(found)]

    def arms(self, bandit: int) -> list[Label]:
        """Return the labels of all arms, including retired ones."""
        found = self._read("SELECT label FROM arms WHERE bandit = ? ORDER BY arm", bandit)
        return [json.loads(label) for (label,) in found]

    def documents(self, collection: str) -> dict[str, Document]:
        """Return the documents of a collection, by name."""
        found = self._read(
            "SELECT name, version, body FROM documents WHERE collection = ?", collection
        )
        return {name: Document(version, body) for name, version, body in sorted(found)}

    def copy(self, bandit: int) -> Copy:
        """Return everything of a bandit but its events, for another storage."""
        kept = self._read(f"SELECT {', '.join(Kept._fields)} FROM bandits WHERE bandit = ?", bandit)
        pending = self._read(
            'SELECT decision, arm, probability, answered, "time" FROM pending '
            "WHERE bandit = ? ORDER BY decision",
            bandit,
        )
        return Copy(Kept(*kept[0]), self.arms(bandit), pending)


def deleted(label: str, bandit: int) -> StoreError:
    """Return the error for a bandit that is not there any more."""
    return StoreError(f"{label} no longer has this bandit (number {bandit}): it was deleted")


def add_bandit(run: Run, label: str, name: str, kept: Kept, arms: Sequence[Label]) -> int:
    """Write a bandit without its events, and return its number; the name must be new."""
    if run("SELECT 1 FROM bandits WHERE name = ?", (name,)).fetchall():
        raise StoreError(
            f"{label} has a bandit {name!r} already; take another name, or delete it first"
        )
    ((number,),) = run(
        f"INSERT INTO bandits (name, {', '.join(Kept._fields)}) "
        f"VALUES (?{', ?' * len(kept)}) RETURNING bandit",
        (name, *kept),
    ).fetchall()
    for arm, each in enumerate(arms):
        add_arm(run, number, arm, json.dumps(each, ensure_ascii=False))
    return int(number)


def add_arm(run: Run, bandit: int, arm: int | None, label: Any) -> None:
    """Write the label of an arm, given as JSON."""
    run("INSERT INTO arms VALUES (?, ?, ?)", (bandit, arm, label))


def receive(
    run: Run, put: Put, label: str, name: str, copy: Copy, parts: Iterable[Sequence[Row]]
) -> int:
    """Write a bandit that another storage has; rows of events get its number here."""
    number = add_bandit(run, label, name, copy.kept, copy.arms)
    put("pending", [(number, *row) for row in copy.pending])
    for rows in parts:
        put("events", [(number, *row[1:]) for row in rows])
    return number


def remove_bandit(run: Run, bandit: int) -> None:
    """Remove a bandit and its events."""
    for table in _TABLES:
        run(f"DELETE FROM {table} WHERE bandit = ?", (bandit,))


def cut_off(run: Run, bandit: int, cut: Cut) -> None:
    """Remove the events after one, and what they have left; see `Storage.cut_off`."""
    if cut.is_first:
        of_later = "decision >= (SELECT first_id FROM bandits WHERE bandit = ?)"
        run(f"DELETE FROM pending WHERE bandit = ? AND {of_later}", (bandit, bandit))
        run("UPDATE pending SET answered = NULL WHERE bandit = ?", (bandit,))
        for to, source in (
            ("snapshot, last_event, next_id", "beginning, first_event, first_id"),
            ("beginning, first_event, first_id", "NULL, NULL, NULL"),
        ):
            run(f"UPDATE bandits SET ({to}) = ({source}) WHERE bandit = ?", (bandit,))
    run("DELETE FROM events WHERE bandit = ? AND event > ?", (bandit, cut.event))
    run("DELETE FROM arms WHERE bandit = ?", (bandit,))
    for arm, label in enumerate(cut.labels):
        add_arm(run, bandit, arm, json.dumps(label, ensure_ascii=False))
    run(
        "UPDATE bandits SET policy = ?, layout = ?, "
        "reserved = CASE WHEN reserved < ? THEN ? ELSE reserved END WHERE bandit = ?",
        (json.dumps(cut.policy), cut.layout, cut.given, cut.given, bandit),
    )


def reserve(run: Run, ends: Mapping[int, int]) -> None:
    """Note up to which id each of some bandits may give decisions."""
    pairs = [f"({bandit:d}, {end:d})" for bandit, end in sorted(ends.items())]
    for first in range(0, len(pairs), _AT_ONCE):
        new = ", ".join(pairs[first : first + _AT_ONCE])
        run(
            f"UPDATE bandits SET reserved = new.column2 FROM (VALUES {new}) AS new "
            "WHERE bandit = new.column1",
            (),
        )


def put_document(run: Run, collection: str, name: str, body: str, expected: int | None) -> int:
    """Write a document and return its version; see `Storage.put_document`."""
    values = collection, name, body
    query = "INSERT INTO documents VALUES (?, ?, 1, ?) ON CONFLICT (collection, name) DO "
    if expected is None:
        query += "UPDATE SET body = excluded.body, version = documents.version + 1"
    elif expected == 0:
        query += "NOTHING"
    else:
        query = (
            "UPDATE documents SET body = ?, version = version + 1 "
            f"WHERE collection = ? AND name = ? AND version = {expected:d}"
        )
        values = body, collection, name
    written = run(f"{query} RETURNING version", values).fetchall()
    return int(written[0][0]) if written else 0


def drop_document(run: Run, collection: str, name: str) -> bool:
    """Remove a document; return whether there was one."""
    gone = run("DELETE FROM documents WHERE collection = ? AND name = ?", (collection, name))
    return int(gone.rowcount) > 0


def keep_snapshot(run: Run, put: Put, label: str, snapshot: Snapshot, keep_events: bool) -> None:
    """Replace the snapshot of a bandit, and drop the events that it includes unless they are kept.

    Parameters
    ----------
    run, put
        In the transaction that writes the snapshot's last event.
    label
        The name of the storage in messages.
    snapshot
        The snapshot.
    keep_events
        Whether to keep events that a snapshot includes.
    """
    bandit, event = int(snapshot.bandit), int(snapshot.event)
    found = run(
        "SELECT last_event, next_id, first_id FROM bandits WHERE bandit = ?", (bandit,)
    ).fetchall()
    if not found:
        raise deleted(label, bandit)
    last, next_id, first_id = found[0]
    # Earlier events were dropped before. PostgreSQL's entries in the index, which last until the
    # next vacuum, need not be looked at again.
    pruned = last if first_id is None else -1
    begin = "UPDATE bandits SET (beginning, first_event, first_id)"
    if keep_events and first_id is None:
        run(f"{begin} = (snapshot, last_event, next_id) WHERE bandit = ?", (bandit,))
        first_id = next_id
    elif not keep_events and first_id is not None:
        run("DELETE FROM pending WHERE bandit = ? AND answered IS NOT NULL", (bandit,))
        run(f"{begin} = (NULL, NULL, NULL) WHERE bandit = ?", (bandit,))
        first_id = None
    # Earlier decisions that are out are stored already.
    out = [each for each in snapshot.out if each[0] >= next_id]
    put("pending", [(bandit, *each[:3], None, each[3]) for each in out])
    _settle_pending(run, bandit, last, event, first_id or 0, max(next_id, snapshot.since))
    if not keep_events:
        first = min(snapshot.remembers, event + 1)  # of the bandit's memory
        run(
            "DELETE FROM events WHERE bandit = ? AND event > ? AND event <= ? "
            f"AND (event < ? OR kind NOT IN {REMEMBERED})",
            (bandit, pruned, event, first),
        )
        run(
            "DELETE FROM events WHERE bandit = ? AND event <= ? AND kind > 5",
            (bandit, min(pruned, first - 1)),
        )
    run(
        "UPDATE bandits SET policy = ?, layout = ?, snapshot = ?, last_event = ?, next_id = ? "
        "WHERE bandit = ?",
        (snapshot.policy, snapshot.layout, snapshot.body, event, snapshot.next_id, bandit),
    )


def _settle_pending(
    run: Run, bandit: int, last: int, event: int, first_id: int, since: int
) -> None:
    """Apply the events since the last snapshot to the decisions that are out.

    The time depends on the number of events, not on how many decisions are out. With `keep_events`,
    the decisions that were out at the beginning stay, marked as answered: replays from there need
    them.
    """
    new = f"bandit = {bandit} AND event > {last} AND event <= {event}"
    answers = f"SELECT decision FROM events WHERE {new} AND kind IN (1, 2)"
    run(
        'INSERT INTO pending (bandit, decision, arm, probability, "time") '
        f'SELECT bandit, decision, arm, probability, "time" FROM events WHERE {new} '
        # Not "not exists": for a young table, PostgreSQL would look through all answers for each.
        f"AND kind = {ASK} AND decision NOT IN ({answers} AND decision IS NOT NULL) "
        "ON CONFLICT DO NOTHING",
        (),
    )
    if not run("SELECT 1 FROM pending WHERE bandit = ? LIMIT 1", (bandit,)).fetchall():
        return
    if first_id:
        run(
            f"UPDATE pending SET answered = {event} WHERE bandit = {bandit} "
            f"AND decision IN ({answers} AND decision < {first_id})",
            (),
        )
    run(
        f"DELETE FROM pending WHERE bandit = {bandit} AND decision IN "
        f"({answers} AND decision >= {first_id} AND decision < {since})",
        (),
    )
