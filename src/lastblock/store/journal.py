"""What the bandits of a store tell their changes to."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from lastblock.bandit import Bandit
from lastblock.errors import StoreError
from lastblock.events import ASK, KINDS, TELL, Event
from lastblock.snapshot import unpack
from lastblock.store.groups import Write
from lastblock.store.storage import Row, Snapshot

_new_tuple = tuple.__new__


class Journal:
    """The events of one bandit get their numbers here, and now and then a snapshot follows them."""

    def __init__(
        self,
        bandit: Bandit,
        number: int,
        event: int,
        saved: int,
        snapshot_every: int,
        write: Write,
        recover: Callable[[], tuple[Bandit, int, int]],
    ) -> None:
        self.bandit, self.number = bandit, number
        self.event, self.saved = event, saved  # the last one, and that of the last snapshot
        self._snapshot_every = snapshot_every
        self._write, self._recover = write, recover
        bandit.attach(self, self.reload)

    def __call__(self, events: Sequence[Event]) -> None:
        if not events:
            return
        now = time.time_ns() // 1000
        before = self.event
        after = before + len(events)
        rows = [row_of(self.number, before + 1 + i, now, event) for i, event in enumerate(events)]
        snapshots: list[Snapshot] = []
        if after - self.saved >= self._snapshot_every:
            # Asks have been taken already; all other changes are still to come.
            snapshots = [self.snapshot(after if events[0][0] == "ask" else before)]
        self._write(rows, snapshots)
        self.event = after
        if snapshots:
            self.saved = snapshots[0].event

    def snapshot(self, event: int) -> Snapshot:
        """The bandit as it is, which is after this event."""
        return snapshot_of(self.bandit, self.number, event)

    def reload(self) -> Bandit:
        """The bandit as the storage has it, with what waits to be written."""
        bandit, self.event, self.saved = self._recover()
        return bandit

    def end(self, reason: str) -> None:
        """Let the bandit refuse all changes from now on."""

        def refuse(_: Sequence[Event]) -> None:
            raise StoreError(reason)

        self.bandit.attach(refuse)


def snapshot_of(bandit: Bandit, number: int, event: int) -> Snapshot:
    """A bandit as it is kept."""
    body = bandit.to_bytes()
    about, _ = unpack(body)
    return Snapshot(number, event, json.dumps(about["policy"]), about["layout"], body)


def row_of(number: int, place: int, now: int, event: Event) -> Row:
    """An event as it is kept."""
    kind, decision, arm, value = event
    row: tuple[Any, ...]
    if kind == "tell":
        row = (number, place, now, TELL, decision, arm, value, None, None)
    elif kind == "ask":
        row = (number, place, now, ASK, decision, arm, None, value, None)
    else:
        extra = None if value is None else json.dumps(value, ensure_ascii=False)
        row = (number, place, now, KINDS.index(kind), decision, arm, None, None, extra)
    return _new_tuple(Row, row)  # as Row(…), but faster


def event_of(row: Row) -> Event:
    """The event again."""
    kind = KINDS[row.kind]
    values = {"ask": row.probability, "tell": row.reward}
    value = values[kind] if kind in values else row.extra and json.loads(row.extra)
    return kind, row.decision, row.arm, value
