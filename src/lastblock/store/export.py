"""Export a bandit's log: decisions with their rewards, or all events."""

import json
import math
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from lastblock.engine.events import ASK, ASK_AMONG, FORGET, KINDS, NOTES, OBSERVE, TELL
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live import persistence
from lastblock.live.description import read_floors
from lastblock.live.eligibility import restricted_places
from lastblock.live.event_replay import read_floors_event
from lastblock.live.labels import Label
from lastblock.store.export_formats import Columns, Format, format_of, writer_of
from lastblock.store.recovery import PART, check_kept, damage_explained
from lastblock.store.storage import Row, View
from lastblock.support import files

What: TypeAlias = Literal["decisions", "events"]
DECISIONS: Final = "decisions"
EVENTS: Final = "events"

_NOTES = {KINDS.index(kind) for kind in NOTES}
ADD_ARM, RETIRE_ARM = KINDS.index("add_arm"), KINDS.index("retire_arm")
SET_FLOORS = KINDS.index("set_floors")


def export(
    view: View,
    name: str,
    number: int,
    path: str | os.PathLike[str],
    what: What,
    format: Format | None = None,
) -> int:
    """Write the log of bandit `number` to a file, and return how many rows it has."""
    make = writer_of(format_of(Path(path), format))
    log = read_log(view, name, number, what)
    written = 0
    with (
        files.replacing(Path(path)) as file,
        closing(make(file, log.columns)) as writer,
        damage_explained(view, name),  # some damage shows only when values are written
    ):
        for rows in log.parts:
            writer.write(rows)
            written += len(rows)
    return written


class ExportedLog(NamedTuple):
    """The log of a bandit as a table, which is read part by part."""

    columns: Columns
    parts: Iterator[list[list[Any]]]
    """Rows of plain values in the order of the columns. A `StoreError` if the log is damaged."""


def read_log(view: View, name: str, number: int, what: What) -> ExportedLog:
    """Return the log of bandit `number`, to be read while the view is open.

    Raises
    ------
    ValueError
        If there is no such log.
    StoreError
        If the stored data are damaged.
    """
    if what not in (DECISIONS, EVENTS):
        raise ValueError(f"what={what!r} must be {DECISIONS!r} or {EVENTS!r}")
    with damage_explained(view, name):
        labels = view.arms(number)
    columns: Columns = {**COLUMNS[what]}
    columns["arm"] = "int" if all(map(_is_small, labels)) else "text"
    return ExportedLog(columns, _labelled(view, name, number, what, list(columns), labels))


COLUMNS: dict[What, Columns] = {
    DECISIONS: {
        "decision": "int",
        "arm": "text",
        "probability": "float",
        "choices": "text",
        "reward": "float",
        "asked": "time",
        "told": "time",
        "key": "text",
    },
    EVENTS: {
        "event": "int",
        "time": "time",
        "kind": "text",
        "decision": "int",
        "arm": "text",
        "reward": "float",
        "probability": "float",
        "extra": "text",
    },
}


def _labelled(
    view: View, name: str, number: int, what: What, columns: list[str], labels: Sequence[Label]
) -> Iterator[list[list[Any]]]:
    """Yield the rows, with labels of arms instead of their numbers."""
    words, arm = _words(labels), columns.index("arm")
    with damage_explained(view, name):
        parts = _decisions(view, number, words) if what == DECISIONS else _events(view, number)
        for part in parts:
            rows = [list(row) for row in part]
            for row in rows:
                row[arm] = _word(words, row[arm])
            yield rows


def _is_small(label: Label) -> bool:
    return isinstance(label, int) and -(2**63) <= label < 2**63


def _words(labels: Sequence[Label]) -> list[Any]:
    """Return the labels as a column holds them.

    If all labels are numbers, or all are text, they stay so; if mixed, each becomes JSON.
    """
    if all(map(_is_small, labels)) or all(isinstance(label, str) for label in labels):
        return list(labels)
    return [json.dumps(label, ensure_ascii=False) for label in labels]


def _word(words: Sequence[Any], arm: int | None) -> Any:
    if arm is not None and not (isinstance(arm, int) and 0 <= arm < len(words)):
        raise LookupError(f"arm {arm} has no label")
    return None if arm is None else words[arm]


def event_rows(view: View, number: int, after: int) -> Iterator[list[Row]]:
    """Yield the events after event `after`, in parts, up to the last one at the start."""
    end, are_kept = view.last(number), view.keeps(number)
    while after < end:
        rows = view.rows(number, after, min(PART, end - after))
        if not rows or rows[-1][1] != after + len(rows):
            check_kept(view, number, are_kept)
            raise LookupError(f"some events after event {after} are missing")
        if are_kept:
            view.move_on()
        yield rows
        after += len(rows)


def _events(view: View, number: int) -> Iterator[list[tuple[Any, ...]]]:
    for rows in event_rows(view, number, view.snapshot(number, first=True).event):
        events = []
        for _, event, time, kind, decision, arm, value in rows:
            if kind not in range(len(KINDS)):
                raise LookupError(f"event {event} has the unknown kind {kind}")
            chance = _chance(kind, value)
            _check(event, kind, value, chance)
            values = (value if kind == TELL else None, chance)
            extra = value if kind > FORGET else None
            word = OBSERVE if kind == TELL and decision is None else KINDS[kind]
            events.append((event, time, word, decision, arm, *values, extra))
        yield events


def _decisions(view: View, number: int, words: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the decisions that have their reward, in the order of the rewards.

    Memory holds only the decisions that wait for theirs.
    """
    first = view.snapshot(number, first=True)
    # What could be chosen is not known for decisions from before the first event.
    out: dict[Any, tuple[Any, ...]] = {
        id: (arm, chance, None, time, None)
        for id, arm, chance, time in view.pending(number, first=True)
    }
    choices = _ChoosableArms(bytes(first.body), words)
    for rows in event_rows(view, number, first.event):
        told = []
        for _, event, time, kind, decision, arm, value in rows:
            chance = _chance(kind, value)
            _check(event, kind, value, chance)
            if kind == ASK:
                out[decision] = arm, chance, choices.text, time, None
            elif kind == ASK_AMONG:
                out[decision] = arm, chance, choices.among(value), time, None
            elif kind in _NOTES:
                _note_keys(out, kind, value)
            elif decision is not None:
                if decision not in out:
                    raise LookupError(f"an event answers decision {decision}, which was not out")
                _, chance, could_be, asked, key = out.pop(decision)
                if kind == TELL:
                    told.append((decision, arm, chance, could_be, value, asked, time, key))
            elif kind == ADD_ARM:
                choices.add(arm)
            elif kind == RETIRE_ARM:
                choices.retire(arm)
            elif kind == SET_FLOORS:
                choices.set_floors(value)
        # Rewards without a decision are of decisions that others took: no estimate may use them.
        if told:
            yield told


def _note_keys(out: dict[Any, tuple[Any, ...]], kind: int, value: Any) -> None:
    """Note with which key decisions were asked for, if an event says so."""
    if KINDS[kind] == "remember":
        what, about, rows = json.loads(value)
        if what == "asked":
            key, _ = about
            for decision, _, _ in rows:
                if decision in out:
                    out[decision] = (*out[decision][:-1], key)


def _chance(kind: int, value: Any) -> Any:
    """Return the probability of an ask of either kind; else None."""
    if kind == ASK_AMONG:
        return json.loads(value)["probability"]
    return value if kind == ASK else None


class _ChoosableArms:
    """The arms that could be chosen, while a log is read from its first snapshot on.

    With traffic floors these are the arms that have one: an arm without a floor has the
    probability 0 whenever the policy does not want it. Without floors they are all active arms.

    Parameters
    ----------
    body
        The first snapshot.
    words
        The labels of all arms, by number, as the column of arms holds them.
    """

    def __init__(self, body: bytes, words: Sequence[Any]) -> None:
        self._words = words
        self._floors, self._of_all = read_floors(*persistence.unpack(body))
        self._restricted: dict[str, str] = {}
        self.text = self._written()

    def add(self, arm: Any) -> None:
        """An arm was added."""
        if arm in self._floors:
            raise LookupError(f"arm {arm} is added, and was there before")
        self._floors[arm] = self._of_all
        self._restricted.clear()
        self.text = self._written()

    def retire(self, arm: Any) -> None:
        """An arm was retired."""
        if arm not in self._floors:
            raise LookupError(f"arm {arm} is retired, and was not there")
        del self._floors[arm]
        self._restricted.clear()
        self.text = self._written()

    def set_floors(self, value: str | None) -> None:
        """The traffic floors were replaced."""
        said = None if value is None else json.loads(value)
        self._floors, self._of_all = read_floors_event(said, list(self._floors))
        self._restricted.clear()
        self.text = self._written()

    def among(self, value: str) -> str:
        """Return the arms that could be chosen in an "ask_among", as `text` has them."""
        said = json.loads(value)
        key = json.dumps([said.get("among"), said.get("without")])
        if key not in self._restricted:
            numbers = list(self._floors)
            kept = restricted_places(numbers, said)
            self._restricted[key] = self._written({numbers[place] for place in kept})
        return self._restricted[key]

    def _written(self, some: Collection[int] | None = None) -> str:
        """Return the labels of the arms, or of some of them, as a list in JSON."""
        could_be = [
            arm
            for arm, floor in self._floors.items()
            if (floor is None or floor > 0.0) and (some is None or arm in some)
        ]
        return json.dumps([_word(self._words, arm) for arm in could_be], ensure_ascii=False)


def _check(event: int, kind: int, value: Any, chance: Any) -> None:
    """Raise a LookupError for a reward or a probability that no store writes."""
    if kind == TELL and not (_is_number(value) and abs(value) < LARGEST_REWARD):
        raise LookupError(f"event {event} has the reward {value!r}, which is not a finite number")
    if chance is not None and not (_is_number(chance) and 0.0 < chance <= 1.0):
        raise LookupError(f"event {event} has the probability {chance!r}, not one in (0, 1]")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
