"""A bandit from a snapshot and the events after it."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from lastblock.engine.events import KINDS
from lastblock.live.bandit import Bandit
from lastblock.store.journal import event_of
from lastblock.store.storage import Part, Row, View
from lastblock.support.errors import StateFileError, StoreError

PART = 65_536
"""Events that are in memory at a time."""


class Recovered(NamedTuple):
    """A bandit, its last event, and the event of the snapshot that it was made from."""

    bandit: Bandit
    event: int
    saved: int


def recover(
    view: View, name: str, number: int, waiting: Sequence[Row] = (), *, first: bool = False
) -> Recovered:
    """The bandit as it was after its last event; `waiting` holds rows that may not be stored yet.

    With `first` from the earliest snapshot, however long that takes.
    """
    saved = view.snapshot(number, first=first)
    last = view.last(number)
    try:
        bandit = Bandit.from_bytes(saved.body)
    except StateFileError as error:
        raise StoreError(f"bandit {name!r} in {view.label}: {error}") from error
    event = saved.event
    try:
        while event < last:
            size = min(PART, last - event)
            part = view.part(number, event, size)
            if len(part.run) < size:
                raise ValueError(f"of those after {event} some are missing")
            _relive(bandit, part)
            event += len(part.run)
        for row in waiting:
            of, place, *_ = row
            if of == number and place > event:
                if place != event + 1:
                    raise ValueError(f"event {event + 1} is missing")
                bandit.apply(event_of(row))
                event = place
    except ValueError as error:
        raise StoreError(
            f"bandit {name!r} in {view.label} is damaged: its events do not fit its snapshot "
            f"({error}); restore the file from a copy"
        ) from error
    return Recovered(bandit, event, saved.event)


def _relive(bandit: Bandit, part: Part) -> None:
    begin = 0
    for place, arm, extra in part.changes:
        bandit.apply_run(part.run[begin:place])
        kind = KINDS[int(part.run[place, 0])]
        bandit.apply((kind, None, arm, extra and json.loads(extra)))
        begin = place + 1
    bandit.apply_run(part.run[begin:])
