"""Recover a bandit from a snapshot and the events after it, and verify that they agree."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from lastblock.live import persistence as snapshot
from lastblock.live.bandit import Bandit, bandit_on, desk_of
from lastblock.live.description import restore_desk
from lastblock.store.platforms import difference
from lastblock.store.replaying import late_rows, part_of, recall_notes, replay_part
from lastblock.store.storage import DamagedError, Part, Row, Snapshot, View
from lastblock.support.checks import whole
from lastblock.support.errors import StateFileError, StoreError

_log = logging.getLogger(__name__)

PART = 65_536
"""The most events that are in memory at a time."""

_REPAIR = "repair it: lastblock store repair, or restore a copy"
_REMEDIES = "; restore it from a copy", ": give a file that save() wrote"


class Recovered(NamedTuple):
    """A recovered bandit, and where its log stands."""

    bandit: Bandit[Any]
    event: int
    """Its last event."""
    saved: int
    """The last event that the snapshot includes from which it was recovered."""
    since: int
    """The id of the next decision after that snapshot."""
    time: int = 0
    """The time of its last event; 0 if it has none."""
    reserved: int = 0
    """Ids below may have been given, even if no event has them."""


class Known(NamedTuple):
    """A bandit that agrees with the log up to an event; the log has at most one more call."""

    bandit: Bandit[Any]
    event: int
    """The last event up to which they agree."""


def recover(
    view: View,
    name: str,
    number: int,
    waiting: Sequence[Row] = (),
    *,
    first: bool = False,
    known: Known | None = None,
    tick: Callable[[int], object] = lambda events: None,
    until: int | None = None,
) -> Recovered:
    """Return a bandit as it was after its last event.

    Parameters
    ----------
    view
        The storage at one moment.
    name, number
        The bandit.
    waiting
        Rows that may not be stored yet.
    first
        Start from the earliest snapshot instead of the latest, however long that takes.
    known
        The bandit in memory, from which to take the decisions that are out. So the time does not
        depend on how many they are.
    tick
        It is called with numbers of events that have been replayed.
    until
        The last event to replay, instead of the last one that there is.

    Raises
    ------
    DamagedError
        If the stored data are damaged.
    """
    with damage_explained(view, name) as origin:
        rows = [row for row in waiting if row[0] == number]
        if known is not None:  # or it would be what another owner has made of it
            view.check_owned(number, rows[0][1] - 1 if rows else known.event)
        saved = view.snapshot(number, first=first)
        bandit, event = _restored(saved, origin), saved.event
        time = origin["time"]
        last = max(event, view.last(number))
        if until is not None:
            last = min(last, until)
        rows = [row for row in rows if row[1] > last]
        if [row[1] for row in rows] != list(range(last + 1, last + 1 + len(rows))):
            raise ValueError(f"event {last + 1} is missing")
        if known is None:
            desk_of(bandit).put_out(view.pending(number, first=first))
            recall_notes(desk_of(bandit), view.notes(number, origin["remembers"], event))
        late, times = [np.empty((0, 4))], [np.empty(0)]
        for part in (*_parts(view, number, event, last, first=first), part_of(rows)):
            replay_part(bandit, part, with_out=known is None)
            if part.times.size:
                time = int(part.times[-1])
            if known is not None:
                begin = max(0, known.event - event)
                rows_of_out = late_rows(part, begin)
                if rows_of_out is None:
                    # Arms have come or gone, or something is to be remembered.
                    return recover(view, name, number, waiting)
                late.append(rows_of_out)
                times.append(part.times[begin:])
            event += len(part.run)
            tick(len(part.run))
        if known is not None:
            desk_of(bandit).take_out(
                desk_of(known.bandit), np.concatenate(late), np.concatenate(times)
            )
    _log.info(
        "opened %r of %s: %d events since its snapshot", name, view.label, event - saved.event
    )
    return Recovered(bandit, event, saved.event, saved.next_id, time, saved.reserved)


@contextmanager
def damage_explained(view: View, name: str) -> Iterator[dict[str, Any]]:
    """Turn the errors that damaged tables cause into a `DamagedError` that says what to do.

    It also says where the snapshot was written, if that is put into the dictionary that this
    yields as "platform", and is not here.
    """
    origin: dict[str, Any] = {}
    try:
        yield origin
    except StoreError:
        raise
    except StateFileError as error:
        said = str(error)
        for remedy in _REMEDIES:  # for the file of a single state
            said = said.replace(remedy, f"; {_REPAIR}")
        raise DamagedError({name: f"bandit {name!r} in {view.label}: {said}"}) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = (
            f"bandit {name!r} in {view.label} is damaged: its events do not fit its snapshot "
            f"({_first_line(error)}); {_REPAIR}{difference(origin.get('platform'))}"
        )
        raise DamagedError({name: reason}) from error


def _first_line(error: Exception) -> str:
    words = str(error.args[0] if error.args else error).strip().splitlines()
    return words[0] if words else type(error).__name__


def _restored(saved: Snapshot, origin: dict[str, Any]) -> Bandit[Any]:
    about, record = snapshot.unpack(bytes(saved.body))
    origin["platform"] = about["platform"]
    origin["time"] = whole(about["time"], "time")
    if about["event"] != saved.event:
        raise ValueError(f"the snapshot is of event {about['event']}, not {saved.event}")
    whole(saved.reserved, "reserved")
    origin["remembers"] = whole(about["remembers"], "remembers")
    if about["next_id"] != saved.next_id:
        raise ValueError(f"the snapshot has {about['next_id']} ids, not {saved.next_id}")
    return bandit_on(restore_desk(about, record))


def _parts(view: View, number: int, event: int, last: int, *, first: bool) -> Iterator[Part]:
    may_move = first and view.keeps(number)
    while event < last:
        size = min(PART, last - event)
        part = view.part(number, event, size)
        if len(part.run) < size:
            check_kept(view, number, may_move)
            raise ValueError(f"some events after event {event} are missing")
        if may_move:
            view.move_on()
        yield part
        event += size


def check_kept(view: View, number: int, were_kept: bool) -> None:
    """Raise a `StoreError` if events are missing because their owner dropped them meanwhile."""
    if were_kept and not view.keeps(number):
        raise StoreError(
            f"{view.label}: events were dropped while they were read; to keep them, the process "
            "that uses the bandit must open the store with keep_events=True"
        )


def verify(
    view: View, name: str, number: int, tick: Callable[[int], object] = lambda events: None
) -> int:
    """Verify bandit `number`, and return the number of events replayed from the earliest snapshot.

    Parameters
    ----------
    view
        The storage at one moment.
    name, number
        The bandit.
    tick
        It is called with numbers of events that have been replayed, `events_to_verify` in all.

    Raises
    ------
    StoreError
        If the two states are not the same, byte for byte, or the stored data are damaged, or the
        tables say otherwise than the snapshot.
    """
    latest = recover(view, name, number, tick=tick)
    _check_tables(view, name, number, latest)
    again = recover(view, name, number, first=True, tick=tick)
    if state_of(again) != state_of(latest):
        raise StoreError(
            f"bandit {name!r} in {view.label} is damaged: its events lead to "
            "another state than its snapshot; restore the store from a copy"
        )
    return again.event - again.saved


def _check_tables(view: View, name: str, number: int, latest: Recovered) -> None:
    """Raise a `StoreError` if the tables have another policy or other arms than the bandit."""
    with damage_explained(view, name):
        saved = view.snapshot(number)
        about, _ = snapshot.unpack(bytes(saved.body))
        labels = [json.dumps(label) for label in view.arms(number)]
    wanted = [json.dumps(label) for label in desk_of(latest.bandit).labels]
    facts: list[tuple[str, object, object]] = [
        ("policy", saved.policy, json.dumps(about["policy"])),
        ("layout", saved.layout, about["layout"]),
        ("number of arms", len(labels), len(wanted)),
        *((f"label of arm {i}", *pair) for i, pair in enumerate(zip(labels, wanted, strict=False))),
    ]
    for what, found, right in facts:
        if found != right:
            raise StoreError(
                f"bandit {name!r} in {view.label} is damaged: its tables have the {what} {found}, "
                f"its state has {right}; {_REPAIR}"
            )


def events_to_verify(view: View, number: int) -> int:
    """Return how many events `verify` replays."""
    last = view.last(number)
    saved = view.snapshot(number).event, view.snapshot(number, first=True).event
    return sum(max(0, last - event) for event in saved)


def state_of(made: Recovered) -> tuple[Any, ...]:
    """Return everything of a bandit that must be the same after a replay."""
    return made.event, made.bandit.to_bytes(), desk_of(made.bandit).ledger.facts()
