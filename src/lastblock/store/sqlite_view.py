"""An SQLite file as it was at one moment, while others go on writing."""

import json
import sqlite3
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from lastblock.live.labels import Label
from lastblock.store.sqlite_errors import PATIENCE, explained
from lastblock.store.storage import Part, Row, Snapshot
from lastblock.support.errors import StoreError


class SQLiteView:
    """One read transaction, on a connection of its own: nobody who writes waits for it."""

    def __init__(self, path: Path, label: str) -> None:
        self.label = label
        with explained(label):
            self._connection = sqlite3.connect(
                f"{path.as_uri()}?mode=rw",  # never a new file
                uri=True,
                timeout=PATIENCE,
                isolation_level=None,
            )
            self._connection.execute("BEGIN")  # the moment is that of the first query

    def __enter__(self) -> "SQLiteView":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def _read(self, query: str, *values: Any) -> list[Any]:
        with explained(self.label):
            return self._connection.execute(query, values).fetchall()

    def names(self) -> dict[str, int]:
        """The numbers of all bandits."""
        return dict(self._read("SELECT name, bandit FROM bandits ORDER BY name"))

    def snapshot(self, bandit: int, *, first: bool = False) -> Snapshot:
        """The latest one, or the earliest one from which all later events are there."""
        which = "snapshot, last_event"
        if first:
            which = "ifnull(beginning, snapshot), ifnull(first_event, last_event)"
        rows = self._read(f"SELECT policy, layout, {which} FROM bandits WHERE bandit = ?", bandit)
        if not rows:
            raise StoreError(f"{self.label} has no bandit number {bandit} any more")
        policy, layout, body, event = rows[0]
        return Snapshot(bandit, event, policy, layout, body)

    def last(self, bandit: int) -> int:
        """The last event; 0 if there is none."""
        ((last,),) = self._read("SELECT max(event) FROM events WHERE bandit = ?", bandit)
        return last or 0

    def part(self, bandit: int, after: int, size: int) -> Part:
        """The next so many events after one of them, at most."""
        wanted = "FROM events WHERE bandit = ? AND event > ? AND event <= ?"
        values = bandit, after, after + size
        with explained(self.label):
            cursor = self._connection.execute(
                "SELECT kind, ifnull(decision, -1), ifnull(arm, -1), "
                f"ifnull(reward, ifnull(probability, -1.0)) {wanted} ORDER BY event",
                values,
            )
            numbers = np.fromiter(chain.from_iterable(cursor), np.float64)
        changes = self._read(
            f"SELECT event - ? - 1, arm, extra {wanted} AND kind > 2 ORDER BY event", after, *values
        )
        return Part(numbers.reshape(-1, 4), changes)

    def rows(self, bandit: int, after: int, size: int) -> list[Row]:
        """The same, with all there is to say of them."""
        return self._read(
            "SELECT bandit, event, time, kind, decision, arm, coalesce(reward, probability, extra) "
            "FROM events WHERE bandit = ? AND event > ? ORDER BY event LIMIT ?",
            bandit,
            after,
            size,
        )

    def arms(self, bandit: int) -> list[Label]:
        """The labels of all arms that there ever were."""
        found = self._read("SELECT label FROM arms WHERE bandit = ? ORDER BY arm", bandit)
        return [json.loads(label) for (label,) in found]
