"""Queries that SQLite and PostgreSQL understand alike, but for how they write a parameter."""

import json
from abc import ABC, abstractmethod
from typing import Any

from lastblock.engine.events import ASK, ASK_AMONG, REMEMBERED
from lastblock.live.labels import Label
from lastblock.store.storage import (
    MILESTONES,
    MOST_MILESTONES,
    Copy,
    Kept,
    Milestone,
    NoteRow,
)

NOTE = 'SELECT event, "time", kind, decision, arm, extra FROM events'
"""The columns of a `NoteRow`."""


class SharedQueries(ABC):
    """What a view reads in the same way from either database; `View` explains the methods."""

    @abstractmethod
    def _read(self, query: str, *values: Any) -> list[Any]:
        """Return the rows that a query finds, with these values for its question marks."""

    def generations(self, bandit: int) -> list[tuple[int, int]]:
        """Return pairs of a generation's first decision and the generation, in order."""
        return self._read(
            "SELECT first, generation FROM generations WHERE bandit = ? ORDER BY first", bandit
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
            "SELECT event FROM events WHERE bandit = ? AND event > ? AND decision = ? "
            f"AND kind IN ({ASK}, {ASK_AMONG}) ORDER BY event LIMIT 1",
            bandit,
            decision,  # each decision before it has had an event, too
            decision,
        )
        return found[0][0] if found else None

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

    def copy(self, bandit: int) -> Copy:
        """Return everything of a bandit but its events, for another storage."""
        kept = self._read(f"SELECT {', '.join(Kept._fields)} FROM bandits WHERE bandit = ?", bandit)
        pending = self._read(
            'SELECT decision, arm, probability, answered, "time" FROM pending '
            "WHERE bandit = ? ORDER BY decision",
            bandit,
        )
        return Copy(Kept(*kept[0]), self.arms(bandit), self.generations(bandit), pending)
