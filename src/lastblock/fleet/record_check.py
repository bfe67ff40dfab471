"""Whether the records of a file can be worked on: kernels do not check what they read.

A kernel takes the number of an arm, or the length of a ring, from the record and goes there. In a
damaged record that may be anywhere. So what is used as an index or a count must lie within its
bounds when a file is opened. The bounds follow from the layout: each is a rule for the numbers at
some place in the record, and one loop for all layouts goes through the rules. A wrong reward, or a
wrong sum of rewards, is not found.

Covered are the header, all fields that hold arms by their type, histories, windows and atoms, and
the fields of the library's policies and detectors that places are looked up with. A policy from
elsewhere may have a method ``bounds(arms)`` that names further ones, ``{"field": (least, most)}``.

A process that was killed while a round was planned leaves one of which more was handed out than
there is. That is no damage: such a bandit plans its next round.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import ARM, LINE, NOBODY
from lastblock.core.protocol import States
from lastblock.detectors.glr import RUNGS
from lastblock.kernels.jit import entry, is_foreign, kernel

MOST = 1 << 62
"""A count that does not overflow when something is added."""

FINE = -1

_NOBODY = int(NOBODY)
_WORD = 8

Bytes = npt.NDArray[np.int8]
Shorts = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.int64]


class Rule(NamedTuple):
    """The numbers of a field from some place on: each lies within bounds."""

    name: str
    kind: np.dtype[Any]
    at: int
    n: int
    least: int = 0
    most: int = MOST
    nobody: bool = False
    """Also NOBODY will do."""

    def row(self) -> list[int]:
        """As the kernel takes it."""
        size = self.kind.itemsize
        signed = self.kind.kind == "i"
        at = self.at // size
        return [at, size, signed, self.n, self.least, self.most, self.nobody]

    def broken(self, place: int, value: int) -> str:
        """What is wrong, in words."""
        name = f"{self.name}[{place}]" if self.n > 1 else self.name
        if self.least == self.most:
            return f"{name} is {value} instead of {self.least}"
        return f"{name} is {value}, not between {self.least} and {self.most}"


class RecordCheck:
    """The rules for the records of a fleet."""

    def __init__(self, policy: Any, dtype: np.dtype[Any], arms: int) -> None:
        rules = list(_rules(policy, dtype, arms))
        idle = [rule._replace(most=0) for rule in rules if rule.name in ("told", "unanswered")]
        self._rules, self._idle = rules, idle
        self._table = np.array([rule.row() for rule in rules])
        self._idle_table = np.array([rule.row() for rule in idle])
        self._rounds = np.array(list(_rounds(dtype)))
        self._header = np.array([dtype.itemsize // _WORD, _place(dtype, "round") // _WORD])

    def first_damaged(self, states: States, first: int, end: int) -> tuple[int, str, bool]:
        """The first damaged record among these, or FINE; what is wrong with it; and whether there
        is one in the middle of a round's planning.
        """
        found = np.zeros(4, np.int64)  # rule, place, value, how many are being planned
        tables = self._header, self._table, self._idle_table, self._rounds
        i = find_damaged(*_views(states), *tables, first, end, found)
        if i == FINE:
            return FINE, "", bool(found[3])
        rules = self._idle if states[i]["round"] == 0 else self._rules
        return i, rules[found[0]].broken(int(found[1]), int(found[2])), False

    def finish_rounds(self, states: States, first: int, end: int) -> None:
        """Let those that are in the middle of a round's planning plan the next one."""
        finish_rounds(_views(states)[2], self._header, self._rounds, first, end)


def _views(states: States) -> tuple[Bytes, Shorts, Ints, Words]:
    plain = states.view(np.ndarray)
    return tuple(plain.view(kind) for kind in (np.int8, np.int16, np.int32, np.int64))  # type: ignore[return-value]  # as many as there are kinds


def _place(dtype: np.dtype[Any], name: str) -> int:
    fields: Any = dtype.fields
    return int(fields[name][1])


def _rounds(dtype: np.dtype[Any], start: int = 0) -> Iterator[list[int]]:
    """Where `queued` and `taken` are, also in wrapped records."""
    if "queue" in (dtype.names or ()):
        yield [(start + _place(dtype, name)) // 4 for name in ("queued", "taken")]
    for name in dtype.names or ():
        if dtype[name].names:
            yield from _rounds(dtype[name], start + _place(dtype, name))


def _rules(
    policy: Any, dtype: np.dtype[Any], arms: int, prefix: str = "", start: int = 0
) -> Iterator[Rule]:
    """The rules of a record, and of those in it."""
    known = _bounds(policy, dtype, arms)
    for name in dtype.names or ():
        part, at = dtype[name], start + _place(dtype, name)
        base, full = part.base, prefix + name
        if part.names:
            inner = {"inner": "policy", "detector": "detector"}.get(name, "")
            yield from _rules(getattr(policy, inner, None), part, arms, f"{full}.", at)
            continue
        count = int(np.prod(part.shape, dtype=np.int64))
        if count == 0 or base.kind not in "iu":
            continue
        if name in known:
            least, most = known[name]
            yield Rule(full, base, at, count, least, most)
        elif _holds(base, ARM):
            yield Rule(full, base, at, count, 0, arms - 1, nobody=True)
        elif _holds(base, LINE):
            yield Rule(full, base, at, min(count, arms), 0, arms - 1)


def _holds(kind: np.dtype[Any], marker: np.dtype[Any]) -> bool:
    return kind.metadata is not None and kind.metadata == marker.metadata


def _bounds(policy: Any, dtype: np.dtype[Any], arms: int) -> dict[str, tuple[int, int]]:
    """The bounds of fields of this record, least and most."""
    names = set(dtype.names or ())
    count = (0, MOST)
    found: dict[str, tuple[int, int]] = {}
    if "queue" in names:  # the header; what follows it is the policy's
        room = dtype["queue"].shape[0]
        found = {"round": (0, MOST), "arms": (arms, arms), "queue": (0, arms - 1)}
        found |= {"queued": (0, room), "taken": (0, room)}
        found |= dict.fromkeys(("out", "stale", "lost", "told", "unanswered"), count)
    elif {"written", "kept", "prefix", "rewards"} <= names:  # a history
        cumulative, ring = dtype["prefix"].shape[1], dtype["rewards"].shape[1]
        found = {"written": count, "kept": (0, cumulative - 1 if cumulative > 0 else ring)}
    elif {"written", "pulls", "arm", "reward"} <= names:  # a window
        found = {"written": count, "pulls": (0, dtype["arm"].shape[0])}
    elif {"zeros", "ones", "others", "value"} <= names:  # atoms
        found = {"zeros": count, "ones": count, "others": (0, dtype["value"].shape[1])}
    if policy is not None and hasattr(policy, "bounds"):
        found |= policy.bounds(arms)
    if policy is not None and not is_foreign(policy):
        found |= _own_bounds(policy, dtype, names, arms)
    return found


def _own_bounds(
    policy: Any, dtype: np.dtype[Any], names: set[str], arms: int
) -> dict[str, tuple[int, int]]:
    """Of the fields of policies and detectors of the library."""
    found = dict.fromkeys(names & {"pulls", "position", "length", "compared"}, (0, MOST))
    if "rung" in names:
        found["rung"] = (0, RUNGS - 1)
    if "at" in names:
        found["at"] = (0, arms - 1)
    if {"pulls", "high", "rewards"} <= names:  # all rewards, in no order
        found |= dict.fromkeys(("pulls", "high"), (0, dtype["rewards"].shape[1]))
    if "phase" in names:
        starts: Any = getattr(policy, "changes", None) or getattr(policy, "starts", ())
        found["phase"] = (0, max(0, len(starts) - 1))
    return found


@kernel
def _number_at(
    bytes_: Bytes, shorts: Shorts, ints: Ints, words: Words, record: int, rule: Words, place: int
) -> int:
    """A number of a record, which begins with this word."""
    size = rule[1]
    at = record * (_WORD // size) + rule[0] + place
    if size == 1:
        value = np.int64(bytes_[at])
    elif size == 2:
        value = np.int64(shorts[at])
    elif size == 4:
        value = np.int64(ints[at])
    else:
        value = words[at]
    if rule[2] == 0 and size < _WORD:
        value &= (np.int64(1) << (8 * size)) - 1
    return value  # type: ignore[return-value]  # compiled: any whole number will do


@entry
def find_damaged(
    bytes_: Bytes,
    shorts: Shorts,
    ints: Ints,
    words: Words,
    header: Words,
    rules: Words,
    idle: Words,
    rounds: Words,
    first: int,
    end: int,
    found: Words,
) -> int:
    """The first record that breaks a rule, or FINE: of one that nobody has asked, an idle rule."""
    for i in range(first, end):
        record = i * header[0]
        table = rules if words[record + header[1]] != 0 else idle
        for r in range(table.shape[0]):
            rule = table[r]
            for place in range(rule[3]):
                value = _number_at(bytes_, shorts, ints, words, record, rule, place)
                if (value < rule[4] or value > rule[5]) and not (rule[6] and value == _NOBODY):
                    found[0] = r
                    found[1] = place
                    found[2] = value
                    return i
        for r in range(rounds.shape[0]):
            if ints[2 * record + rounds[r, 1]] > ints[2 * record + rounds[r, 0]]:
                found[3] += 1
    return FINE


@entry
def finish_rounds(ints: Ints, header: Words, rounds: Words, first: int, end: int) -> None:
    """Where more of a round has been handed out than there is: as if none of either."""
    for i in range(first, end):
        record = 2 * i * header[0]
        for r in range(rounds.shape[0]):
            if ints[record + rounds[r, 1]] > ints[record + rounds[r, 0]]:
                ints[record + rounds[r, 0]] = 0
                ints[record + rounds[r, 1]] = 0
