"""A bandit from a snapshot and the events after it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from lastblock.engine.events import FORGET, KINDS, NO_CHANCE
from lastblock.live import persistence as snapshot
from lastblock.live.bandit import Bandit, bandit_on, desk_of
from lastblock.live.description import restore_desk
from lastblock.store.storage import Part, Row, Snapshot, View
from lastblock.support.errors import StateFileError, StoreError

PART = 65_536
"""Events that are in memory at a time."""


class Recovered(NamedTuple):
    """A bandit, its last event, and the event and decisions of the snapshot it was made from."""

    bandit: Bandit[Any]
    event: int
    saved: int
    asked: int


class Known(NamedTuple):
    """A bandit that agrees with the log up to an event; after it are those of one call at most."""

    bandit: Bandit[Any]
    event: int


def recover(
    view: View,
    name: str,
    number: int,
    waiting: Sequence[Row] = (),
    *,
    first: bool = False,
    known: Known | None = None,
) -> Recovered:
    """The bandit as it was after its last event; `waiting` holds rows that may not be stored yet.

    With `first` from the earliest snapshot, however long that takes. With `known`, the decisions
    that are out are taken from there, so that it does not matter how many they are.
    """
    with damage_explained(view, name):
        saved = view.snapshot(number, first=first)
        bandit, event = _restored(saved), saved.event
        last = max(event, view.last(number))
        rows = [row for row in waiting if row[0] == number and row[1] > last]
        if [row[1] for row in rows] != list(range(last + 1, last + 1 + len(rows))):
            raise ValueError(f"event {last + 1} is missing")
        if known is None:
            desk_of(bandit).put_out(view.pending(number, first=first))
        late = [np.empty((0, 4))]
        for part in (*_parts(view, number, event, last, first=first), _part_of(rows)):
            _relive(bandit, part, with_out=known is None)
            if known is not None:
                begin = max(0, known.event - event)
                if any(place >= begin and arm is not None for place, arm, _ in part.changes):
                    return recover(view, name, number, waiting)  # arms have come or gone
                late.append(part.run[begin:])
            event += len(part.run)
        if known is not None:
            desk_of(bandit).take_out(desk_of(known.bandit), np.concatenate(late))
    return Recovered(bandit, event, saved.event, saved.asked)


@contextmanager
def damage_explained(view: View, name: str) -> Iterator[None]:
    """Whatever somebody may have written into the tables, as a `StoreError`."""
    try:
        yield
    except StoreError:
        raise
    except StateFileError as error:
        raise StoreError(f"bandit {name!r} in {view.label}: {error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StoreError(
            f"bandit {name!r} in {view.label} is damaged: its events do not fit its snapshot "
            f"({_first_line(error)}); restore the file from a copy"
        ) from error


def _first_line(error: Exception) -> str:
    words = str(error.args[0] if error.args else error).strip().splitlines()
    return words[0] if words else type(error).__name__


def _restored(saved: Snapshot) -> Bandit[Any]:
    about, record = snapshot.unpack(bytes(saved.body))
    if about.get("event", saved.event) != saved.event:  # older snapshots do not say
        raise ValueError(f"it is of event {about['event']}, not {saved.event}")
    return bandit_on(restore_desk(about, record))


def _parts(view: View, number: int, event: int, last: int, *, first: bool) -> Iterator[Part]:
    may_move = first and view.keeps(number)
    while event < last:
        size = min(PART, last - event)
        part = view.part(number, event, size)
        if len(part.run) < size:
            check_kept(view, number, may_move)
            raise ValueError(f"of those after {event} some are missing")
        if may_move:
            view.move_on()
        yield part
        event += size


def check_kept(view: View, number: int, were_kept: bool) -> None:
    """Events are missing. Was it their owner who dropped them, while they were read?"""
    if were_kept and not view.keeps(number):
        raise StoreError(
            f"{view.label}: events were dropped while they were read; let the bandit's owner open "
            "the store with keep_events=True"
        )


def _part_of(rows: Sequence[Row]) -> Part:
    """Rows that are not stored yet, as they will be read."""
    run = [
        (kind, -1 if decision is None else decision, -1 if arm is None else arm)
        + ((value,) if kind <= FORGET and value is not None else (NO_CHANCE,))
        for _, _, _, kind, decision, arm, value in rows
    ]
    changes = [(place, row[5], row[6]) for place, row in enumerate(rows) if row[3] > FORGET]
    return Part(np.array(run, np.float64).reshape(-1, 4), changes)


def _relive(bandit: Bandit[Any], part: Part, *, with_out: bool) -> None:
    begin = 0
    for place, arm, extra in part.changes:
        desk_of(bandit).relive(part.run[begin:place], with_out=with_out)
        code = int(part.run[place, 0])
        if code >= len(KINDS):
            raise ValueError(f"there is no kind {code} of events")
        kind = KINDS[code]
        bandit.apply((kind, None, arm, extra and json.loads(extra)))
        begin = place + 1
    desk_of(bandit).relive(part.run[begin:], with_out=with_out)
