"""Checks that a record is safe to work on, since kernels do not check what they read.

A kernel reads the number of an arm, or the length of a ring, from the record and uses it as an
index. In a damaged record it may point anywhere. So we check that each number lies within its
bounds whenever a record is loaded, from a fleet's file or from a saved bandit. The bounds are in a
table (see `record_rules`), and one loop serves all layouts.

A record of a fleet also has a seal (see `seals`), which any change that no kernel made breaks. So
we find a wrong reward, or a wrong sum of rewards, too.

What a killed process leaves is not damage. A record whose start it did not finish counts as not
started. A round of which more arms were handed out than it has was being planned; we plan it again.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import NOBODY
from lastblock.core.protocol import States
from lastblock.engine.record_rules import (
    REAL,
    STREAM,
    UNSIGNED,
    Rule,
    RuleTable,
    Words,
    place_of,
    rows_of,
    rules_of,
    table_of,
)
from lastblock.kernels.jit import entry, kernel, specialise
from lastblock.kernels.seals import (
    ALL_SEALED,
    BEGINNING_SEALED,
    BUSY,
    NO_SEAL,
    RecordWords,
    checksum,
    kind_of,
    sealed_words,
)

FINE = -1

_NOBODY = int(NOBODY)
_WORD = 8
_MISSING, _BROKEN = -1, -2  # in the place of a rule: the seal is missing, or it is wrong
_RULE, _PLACE, _VALUE, _HALF = range(4)  # where `find_damaged` writes what it found


class Views(NamedTuple):
    """Views of the same records as numbers of every size."""

    bytes_: npt.NDArray[np.int8]
    shorts: npt.NDArray[np.int16]
    ints: npt.NDArray[np.int32]
    words: Words
    singles: npt.NDArray[np.float32]
    doubles: npt.NDArray[np.float64]
    memory: RecordWords

    @classmethod
    def of(cls, states: States) -> "Views":
        plain = states.view(np.ndarray)
        kinds = (np.int8, np.int16, np.int32, np.int64, np.float32, np.float64, np.uint64)
        return cls._make(plain.view(kind) for kind in kinds)


class Places(NamedTuple):
    """Where a record has the fields that this check reads."""

    header: Words  # the words in a record; places of round, arms and last byte; the sealed words
    rounds: Words  # the places of `queued` and `taken`, also in wrapped records


class Damage(NamedTuple):
    """The number of a damaged record, and what is wrong with it."""

    number: int
    what: str


class RecordCheck:
    """The check of records of one layout.

    Parameters
    ----------
    policy, dtype, arms
        The policy, its layout, and the number of arms.
    beginning
        Check only this number of bytes at the beginning of a record; None for all of it.
    """

    def __init__(
        self, policy: Any, dtype: np.dtype[Any], arms: int, beginning: int | None = None
    ) -> None:
        end = dtype.itemsize if beginning is None else beginning
        self._rules = [rule for rule in rules_of(dtype, arms) if rule.end <= end]
        self._idle = [r._replace(most=0) for r in self._rules if r.name in ("told", "unanswered")]
        self._tables = table_of(self._rules), table_of(self._idle)
        header = [dtype.itemsize // _WORD]
        header += [place_of(dtype, name) // _WORD for name in ("round", "arms")]
        is_sealed = "seal" in (dtype.names or ())
        header += [place_of(dtype, "end"), sealed_words(dtype.itemsize) if is_sealed else 0]
        rounds = [round_ for round_ in _rounds(dtype) if 4 * (max(round_) + 1) <= end]
        self._places = Places(np.array(header), rows_of(rounds, np.int64, 2))
        self._find: Callable[..., int] | None = None

    def damaged(self, states: States, first: int, end: int) -> tuple[list[Damage], bool]:
        """Return the damaged records among these, and whether a kill left some half done."""
        damages: list[Damage] = []
        given, found = (Views.of(states), self._places, *self._tables), np.zeros(4)
        if self._find is None:
            # Numba takes half a millisecond to look at so many arguments at each call.
            self._find = specialise(find_damaged, *given, first, end, found)
        while True:
            number = self._find(*given, first, end, found)
            if number == FINE:
                return damages, found[_HALF] > 0
            rules = self._idle if states[number]["round"] == 0 else self._rules
            damages.append(Damage(number, _words(rules, *found[:_HALF].tolist())))
            first = number + 1

    def finish(self, states: States, first: int, end: int) -> None:
        """Reset records whose start was cut off, and rounds whose planning was cut off."""
        finish_halves(Views.of(states), self._places, first, end)


def _words(rules: list[Rule], rule: float, place: float, value: float) -> str:
    if rule == _MISSING:
        return "the seal is missing"
    if rule == _BROKEN:
        return "the seal does not fit the contents"
    broken = rules[int(rule)]
    return broken.broken(int(place), value if broken.kind.kind == "f" else int(value))


def _rounds(dtype: np.dtype[Any], start: int = 0) -> Iterator[list[int]]:
    """Yield the places of `queued` and `taken`, also in wrapped records."""
    if "queue" in (dtype.names or ()):
        yield [(start + place_of(dtype, name)) // 4 for name in ("queued", "taken")]
    for name in dtype.names or ():
        if dtype[name].names:
            yield from _rounds(dtype[name], start + place_of(dtype, name))


@kernel
def _whole_at(views: Views, record: int, row: Words, place: int) -> int:
    """Return a whole number of a record; `record` is the word where the record begins."""
    size = row[1]
    at = record * (_WORD // size) + row[0] + place
    if size == 1:
        value = np.int64(views.bytes_[at])
    elif size == 2:
        value = np.int64(views.shorts[at])
    elif size == 4:
        value = np.int64(views.ints[at])
    else:
        value = views.words[at]
    if row[2] == UNSIGNED and size < _WORD:
        value &= (np.int64(1) << (8 * size)) - 1
    return value  # type: ignore[return-value]  # compiled code returns a numpy integer


@kernel
def _breaks(
    views: Views, record: int, table: RuleTable, r: int, found: npt.NDArray[np.float64]
) -> bool:
    """Return whether a record breaks rule `r`; if so, write into `found` where."""
    row = table.rows[r]
    broken = False
    value = 0.0
    place = 0
    if row[2] == STREAM:
        ones = np.int64(0)
        for word in range(row[3]):
            ones |= views.words[record + row[0] + word]
        broken = ones == 0
    elif row[2] == REAL:
        at = record * (_WORD // row[1]) + row[0]
        while not broken and place < row[3]:
            value = views.doubles[at + place] if row[1] == _WORD else views.singles[at + place]
            broken = not (table.real[r, 0] <= value <= table.real[r, 1])  # True for NaN as well
            place += 1
    else:
        least, most = table.whole[r, 0], table.whole[r, 1]
        while not broken and place < row[3]:
            whole = _whole_at(views, record, row, place)
            broken = (whole < least or whole > most) and not (row[4] != 0 and whole == _NOBODY)
            value = float(whole)
            place += 1
    if broken:
        found[_RULE] = r
        found[_PLACE] = place - 1
        found[_VALUE] = value
    return broken


@kernel
def _is_being_started(views: Views, places: Places, record: int) -> bool:
    """Return whether a process was killed in the middle of a record's start.

    In records of the time before seals, `round` was then written already, and `arms` was still 0.
    """
    header = places.header
    if views.bytes_[_WORD * record + header[3]] == 1:
        return bool(header[4] == 0 or views.memory[record] == BUSY)
    started = views.words[record + header[1]] == 1 and views.words[record + header[2]] == 0
    return bool(header[4] == 0 and started)


@kernel
def _is_being_planned(views: Views, places: Places, record: int) -> bool:
    """Return whether more arms of a round were handed out than it has: it was being planned."""
    planned = False
    for r in range(places.rounds.shape[0]):
        queued, taken = places.rounds[r, 0], places.rounds[r, 1]
        planned |= views.ints[2 * record + taken] > views.ints[2 * record + queued]
    return planned


@kernel
def _is_broken(
    views: Views, places: Places, record: int, number: int, found: npt.NDArray[np.float64]
) -> bool:
    """Return whether the seal of a record is missing or wrong, if its layout has one."""
    header = places.header
    if header[4] == 0:
        return False
    seal = views.memory[record]
    idle = views.words[record + header[1]] == 0
    if seal == BUSY or (idle and seal == NO_SEAL):
        return False
    found[_RULE] = _MISSING if seal == NO_SEAL else _BROKEN
    kind = kind_of(seal)
    if idle or kind < BEGINNING_SEALED:
        return True
    size = header[0] if kind == ALL_SEALED else header[4]
    return bool(checksum(views.memory, record, size, number) != seal - kind)


@entry
def find_damaged(
    views: Views,
    places: Places,
    table: RuleTable,
    idle: RuleTable,
    first: int,
    end: int,
    found: npt.NDArray[np.float64],
) -> int:
    """Return the first damaged record, or FINE.

    Records that nobody has asked are checked by the rules `idle`. What is wrong is written into
    `found`, and also how many records were being started or planned.
    """
    for i in range(first, end):
        record = i * places.header[0]
        if _is_being_started(views, places, record):
            found[_HALF] += 1
            continue
        begun = views.words[record + places.header[1]] != 0
        rules = table if begun else idle
        for r in range(rules.rows.shape[0]):
            if _breaks(views, record, rules, r, found):
                return i
        if _is_broken(views, places, record, i, found):
            return i
        if begun and _is_being_planned(views, places, record):
            found[_HALF] += 1
    return FINE


@entry
def finish_halves(views: Views, places: Places, first: int, end: int) -> None:
    """Clear records that were being started, and rounds that were being planned."""
    size = places.header[0]
    for i in range(first, end):
        record = i * size
        if _is_being_started(views, places, record):
            for word in range(record, record + size):
                views.words[word] = 0
        elif _is_being_planned(views, places, record):
            for r in range(places.rounds.shape[0]):
                queued, taken = 2 * record + places.rounds[r, 0], 2 * record + places.rounds[r, 1]
                if views.ints[taken] > views.ints[queued]:
                    views.ints[queued] = 0
                    views.ints[taken] = 0
            if places.header[4] != 0:
                views.memory[record] = BUSY
