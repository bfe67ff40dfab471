"""Repeat stored events on a bandit: asks, tells and forgets at once, the others one by one."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.engine.events import ASK, FORGET, KINDS, NO_CHANCE, NOT_OURS, NOTES
from lastblock.live.bandit import Bandit, desk_of
from lastblock.live.desk import Desk
from lastblock.live.event_replay import repeat_among
from lastblock.live.ledger import check_note, recall
from lastblock.store.storage import NoteRow, Part, Row

_PASSED_OVER = ("pause_arm", "resume_arm", "set_floors")


def part_of(rows: Sequence[Row]) -> Part:
    """Return rows that are not stored yet in the form in which a view will read them."""
    run = [
        (kind, -1 if decision is None else decision, -1 if arm is None else arm)
        + ((value,) if kind <= FORGET and value is not None else (NO_CHANCE,))
        for _, _, _, kind, decision, arm, value in rows
    ]
    changes = [(place, row[1:]) for place, row in enumerate(rows) if row[3] > FORGET]
    times = np.array([row[2] for row in rows], np.float64)
    return Part(np.array(run, np.float64).reshape(-1, 4), times, changes)


def replay_part(bandit: Bandit[Any], part: Part, *, with_out: bool) -> None:
    """Repeat events of a bandit.

    Notes, which leave the record as it is, come last, so that they do not break up the asks and
    tells between them. One whose decision has ended meanwhile counts for the memory only.

    Parameters
    ----------
    bandit
        The bandit as it was before these events.
    part
        The events.
    with_out
        Whether to note which decisions are out, and what the ledger has of them.
    """
    desk = desk_of(bandit)
    kinds = [(place, _kind(row), row) for place, row in part.changes]
    notes = [(place, row) for place, kind, row in kinds if kind in NOTES]
    run, times = part.run, part.times
    if notes:
        places = [place for place, _ in notes]
        run, times = np.delete(run, places, axis=0), np.delete(times, places)
    begin = passed = 0
    for place, kind, (_, time, _, decision, arm, extra) in kinds:
        if kind in NOTES:
            passed += 1
            continue
        end = place - passed
        desk.replay_events(run[begin:end], times[begin:end], with_out=with_out)
        value = extra and json.loads(extra)
        if kind == "ask_among":
            id = NOT_OURS if decision is None else decision
            repeat_among(desk, id, arm, value)
            if with_out:
                desk.ledger.asked_at[id] = time
        else:
            bandit.apply((kind, None, arm, value))
        begin = end + 1
    desk.replay_events(run[begin:], times[begin:], with_out=with_out)
    if with_out:
        for _, row in notes:
            event, time, _, decision, arm, extra = row
            note = _kind(row), decision, arm, None if extra is None else json.loads(extra)
            check_note(note, desk.next_id, len(desk.labels))
            desk.ledger.take(note, event, time, desk.out)


def late_rows(part: Part, begin: int) -> npt.NDArray[np.float64] | None:
    """Return the events from row `begin` on as asks, tells and forgets; None if there are others.

    What pauses arms or resumes them, or sets floors, is passed over: it changes nothing that is
    out.
    """
    rows = part.run[begin:].copy()
    for place, row in part.changes:
        if place < begin:
            continue
        kind, extra = _kind(row), row[5]
        if kind == "ask_among":
            chance = json.loads(extra or "null")["probability"]
            rows[place - begin, [0, 3]] = ASK, NO_CHANCE if chance is None else chance
        elif kind not in _PASSED_OVER:
            return None
    return rows


def recall_notes(desk: Desk[Any], rows: Iterable[NoteRow]) -> None:
    """Fill the memory of a bandit with the events of which it was made at its snapshot."""
    items, found = [], list(rows)
    values = json.loads(f"[{','.join(row[5] or 'null' for row in found)}]")  # at once: faster
    for row, value in zip(found, values, strict=True):
        event, time, _, decision, _, _ = row
        if _kind(row) != "partial":
            items.append((event, time, value))
        elif value[1] is not None:  # of a reward without a key nothing is remembered
            items.append((event, time, ["part", value, [decision]]))
    recall(desk.ledger, items, desk.next_id, len(desk.labels))


def _kind(row: NoteRow) -> str:
    if not 0 <= row[2] < len(KINDS):
        raise ValueError(f"an event has the unknown kind {row[2]}")
    return KINDS[row[2]]
