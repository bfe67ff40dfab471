"""Which arms could be chosen in each event of a log."""

import json
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.live.labels import Label
from lastblock.support.columns import plain_label
from lastblock.support.errors import short

UNKNOWN = -1
"""The number in `Choices.numbers` of an event without choices."""


class Choices(NamedTuple):
    """The arms that could be chosen, as a table of distinct sets and the set of each event."""

    sets: npt.NDArray[np.bool_]
    """One row per distinct set, one column per arm."""
    numbers: npt.NDArray[np.int32]
    """The row of each event; `UNKNOWN` if the log does not say."""

    def pick(self, events: npt.NDArray[Any]) -> "Choices":
        """Return the choices of some of the events."""
        return Choices(self.sets, self.numbers[events])

    def events_of_each_set(self) -> npt.NDArray[np.int64]:
        """Return how many events have each set."""
        return np.bincount(self.numbers[self.numbers != UNKNOWN], minlength=len(self.sets))

    def events_of_each_arm(self) -> npt.NDArray[np.int64]:
        """Return in how many events each arm could be chosen."""
        return np.asarray(self.events_of_each_set() @ self.sets)

    def sets_of_events(self) -> npt.NDArray[np.bool_]:
        """Return the arms that could be chosen in each event; none where that is unknown."""
        nothing = np.zeros((1, self.sets.shape[1]), np.bool_)
        return np.vstack([self.sets, nothing])[self.numbers]

    def where(self, sets: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which events have one of these sets, given as a mask over all sets."""
        return np.append(sets, False)[self.numbers]  # the last place is that of UNKNOWN


class FoundSets(NamedTuple):
    """The distinct sets in a column, before the labels of all arms are known."""

    sets: list[tuple[Label, ...]]
    rows: list[int]
    """The first row of each set."""
    numbers: npt.NDArray[np.int32]

    def labels(self) -> Iterable[Label]:
        """Return the labels in all sets; labels may repeat."""
        return (label for each in self.sets for label in each)


def read_sets(values: npt.NDArray[Any], name: str) -> FoundSets:
    """Return the sets in a column: lists of labels, or JSON text such as ``["red", "green"]``.

    Raises
    ------
    ValueError
        If a cell is something else, or all are empty.
    """
    known: dict[Hashable, int] = {}
    distinct: dict[frozenset[Label], int] = {}
    sets: list[tuple[Label, ...]] = []
    rows: list[int] = []
    # Columns of files hold equal texts as one object, so that whole runs are read at once.
    objects = np.fromiter(map(id, values), np.int64, len(values))
    starts = np.flatnonzero(np.diff(objects, prepend=0))
    found = np.full(starts.size, UNKNOWN, np.int32)
    for run, row in enumerate(starts.tolist()):
        value = values[row]
        if _is_missing(value):
            continue
        key = value if isinstance(value, str) else _members(value, name, row)
        if key not in known:
            labels = _labels(value, name, row)
            known[key] = distinct.setdefault(frozenset(labels), len(sets))
            if known[key] == len(sets):
                sets.append(labels)
                rows.append(row)
        found[run] = known[key]
    if not sets:
        raise ValueError(
            f"{name!r} is empty in all rows; give the arms that could be chosen, or choices=None"
        )
    return FoundSets(sets, rows, np.repeat(found, np.diff(starts, append=len(values))))


def to_choices(
    found: FoundSets, labels: Sequence[Label], arms: npt.NDArray[np.uint32], name: str
) -> Choices:
    """Return the choices as a table, checked against the arms of the events.

    An arm may be logged and be in no set at all: then the log does not say when it could be chosen.
    If it is in some sets, it must be in the set of every event that chose it.

    Raises
    ------
    ValueError
        If a set holds other labels, or an event chose an arm that is not among its choices.
    """
    places = {label: place for place, label in enumerate(labels)}
    sets = np.zeros((len(found.sets), len(labels)), np.bool_)
    for n, members in enumerate(found.sets):
        for label in members:
            if label not in places:
                raise ValueError(
                    f"{name!r}, row {found.rows[n]}: arm {label!r} is not one of `arms`"
                )
            sets[n, places[label]] = True
    chosen = np.vstack([sets, np.ones(len(labels), np.bool_)])[found.numbers, arms]
    known = np.asarray(sets.any(axis=0))
    wrong = ~chosen & known[arms]
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name!r}, row {row}: arm {labels[arms[row]]!r} was chosen, but is not among the arms "
            "that could be chosen; add it, or correct the arm"
        )
    return Choices(sets, found.numbers)


def _is_missing(value: object) -> bool:
    if isinstance(value, float):
        return value != value  # noqa: PLR0124  # it is NaN
    return value is None or (isinstance(value, str) and not value)


def _members(value: object, name: str, row: int) -> tuple[object, ...]:
    """Return the elements of a list in a form that can be looked up."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        try:
            hash(members := tuple(value))
            return members
        except TypeError:
            pass
    raise _refusal(value, name, row)


def _labels(value: object, name: str, row: int) -> tuple[Label, ...]:
    """Return the labels of a set."""
    members: object = value
    if isinstance(value, str):
        try:
            members = json.loads(value)
        except ValueError:
            raise _refusal(value, name, row) from None
        if not isinstance(members, list):
            raise _refusal(value, name, row)
    labels = []
    for member in _members(members, name, row):
        label = plain_label(member)
        if label is None:
            raise ValueError(
                f"{name!r}, row {row}: {short(member)} is not an arm; give strings or whole numbers"
            )
        labels.append(label)
    if len(set(labels)) < len(labels):
        raise ValueError(f"{name!r}, row {row}: {short(value)} names an arm twice")
    return tuple(labels)


def _refusal(value: object, name: str, row: int) -> ValueError:
    return ValueError(
        f"{name!r}, row {row}: {short(value)} is not a list of arms; give lists of labels, or the "
        f'same in JSON, such as ["red", "green"], or choices=None to ignore the column'
    )
