"""Repair a bandit whose log has a hole: keep what comes before it, and export what follows."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from lastblock.engine.events import ASK, ASK_AMONG, FORGET, KINDS, TELL
from lastblock.live import persistence
from lastblock.live.bandit import desk_of
from lastblock.store.export import COLUMNS, EVENTS
from lastblock.store.export_formats import Columns, format_of, writer_of
from lastblock.store.recovery import PART, Recovered, recover, state_of, verify
from lastblock.store.storage import Cut, Row, View
from lastblock.support import files
from lastblock.support.errors import UNREADABLE, StoreError

_LARGEST = 1 << 52
"""Ids beyond it are damage themselves."""


class Damage(NamedTuple):
    """What is wrong with a bandit of a store, and what `Store.repair` cuts off."""

    reason: str
    """What is wrong, in words."""
    kept: int
    """The last event that stays."""
    first: int | None
    """The first event that is cut off; None if there is none."""
    last: int | None
    """The last event that is cut off."""
    events: int
    """How many are cut off; others from `first` to `last` are missing already."""


def find_damage(view: View, name: str, number: int) -> tuple[Damage, Cut] | None:
    """Return what is wrong with a bandit, and how to repair it; None if nothing is.

    Raises
    ------
    StoreError
        If it cannot be repaired.
    """
    try:
        verify(view, name, number)
        return None
    except StoreError as error:
        _check_damage(error)
        reason = str(error)
    end = max(view.last(number), view.snapshot(number).event)
    made = _longest(view, name, number, end, first=False)
    again = _longest(view, name, number, end, first=True) if view.keeps(number) else None
    is_first = again is not None and (made is None or again.event < made.event)
    best = again if is_first else made
    if best is None:
        raise _hopeless(reason, "no snapshot of it is whole")
    if again is not None and made is not None and again.event == made.event:
        if state_of(again) != state_of(made):
            raise _hopeless(reason, "nothing says which of its events is wrong")
    saved = view.snapshot(number, first=is_first)
    about, _ = persistence.unpack(bytes(saved.body))
    given = max(desk_of(best.bandit).next_id, view.snapshot(number).next_id)
    places: list[int] = []
    for rows in _after(view, number, best.event):
        places += [row[1] for row in rows]
        asked = [row[4] for row in rows if row[3] in (ASK, ASK_AMONG)]
        ids = [id + 1 for id in asked if isinstance(id, int) and 0 <= id < _LARGEST]
        given = max(given, *ids) if ids else given
    first, last = (places[0], places[-1]) if places else (None, None)
    labels = list(desk_of(best.bandit).labels)
    cut = Cut(best.event, is_first, about["policy"], about["layout"], labels, given)
    return Damage(reason, best.event, first, last, len(places)), cut


def _hopeless(reason: str, why: str) -> StoreError:
    return StoreError(
        f"{reason}; it cannot be repaired, since {why}: restore the store from a copy, or save its "
        "events with lastblock store export, and delete it"
    )


def _check_damage(error: StoreError) -> None:
    """Raise an error again that says nothing of the stored data, such as a lost connection."""
    cause = error.__cause__
    is_damage = isinstance(cause, UNREADABLE) and not isinstance(cause, StoreError)
    if cause is not None and not is_damage:
        raise error


def _longest(view: View, name: str, number: int, end: int, *, first: bool) -> Recovered | None:
    """Return a bandit after the last event up to which its log can be replayed.

    It is None if not even its snapshot is whole, the latest one or with `first` the earliest.
    """

    def made(until: int) -> Recovered | None:
        try:
            return recover(view, name, number, first=first, until=until)
        except StoreError as error:
            _check_damage(error)
            return None

    good = view.snapshot(number, first=first).event
    found = made(good)
    whole = None if found is None else made(end)
    if whole is not None:
        return whole
    while found is not None and end - good > 1:  # it can be replayed up to `good`, not to `end`
        middle = (good + end) // 2
        longer = made(middle)
        good, end = (good, middle) if longer is None else (middle, end)
        found = longer or found
    return found


def _after(view: View, number: int, event: int) -> Iterator[list[Row]]:
    """Yield the events after an event, in parts, whatever is missing between them."""
    while rows := view.rows(number, event, PART):
        yield rows
        event = rows[-1][1]


def export_rest(view: View, number: int, cut: Cut, path: Path) -> None:
    """Write the events that are cut off to a new file: what is there, be it damaged or not."""
    make = writer_of(format_of(path, None))
    columns: Columns = {**COLUMNS[EVENTS]}
    with files.creating(path) as file, closing(make(file, columns)) as writer:
        for rows in _after(view, number, cut.event):
            writer.write([_columns(row, cut) for row in rows])


def _columns(row: Row, cut: Cut) -> list[Any]:
    _, event, time, kind, decision, arm, value = row
    is_known = isinstance(arm, int) and 0 <= arm < len(cut.labels)
    return [
        event,
        time if isinstance(time, int) else None,
        KINDS[kind] if kind in range(len(KINDS)) else str(kind),
        decision,
        cut.labels[arm] if arm is not None and is_known else arm,
        value if kind == TELL else None,
        value if kind == ASK else None,
        value if not isinstance(kind, int) or kind > FORGET else None,
    ]
