"""The check that records are safe to work on, since kernels do not check what they read.

A kernel reads the number of an arm, or the length of a ring, from a record and uses it as an index.
In a damaged or forged record it may point anywhere. So the type of each such field says what it may
hold (see `layout`), and a record from elsewhere is checked before a kernel sees it. All numbers of
the same type are compared with their bounds at once.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import ARM, LINE, NOBODY
from lastblock.core.protocol import Policy, States


class Fault(NamedTuple):
    """The number of a record that is not safe, and what is wrong with it."""

    number: int
    what: str


class _Field(NamedTuple):
    """The bounds of `n` numbers of a type, from byte `at` of a record on."""

    name: str
    kind: np.dtype[Any]
    at: int
    n: int
    least: float = 0
    most: float = 0
    nobody: bool = False
    """Whether NOBODY is allowed as well."""
    is_stream: bool = False
    """Whether they must not all be zero, instead."""


class _Table(NamedTuple):
    """The bounds of all numbers of a type."""

    fields: list[_Field]
    places: npt.NDArray[np.int64]
    least: npt.NDArray[Any]
    most: npt.NDArray[Any]
    nobody: npt.NDArray[np.bool_]
    owner: npt.NDArray[np.int64]
    """Which of the fields each number belongs to."""


def check_record(policy: Policy, states: States, arms: int, size: int | None = None) -> None:
    """Raise a ValueError if the record in `states`, or its first `size` bytes, is not safe."""
    if states[0]["round"] == 0:
        raise ValueError("its record has not been started")
    fault = first_fault(policy, states, arms, size)
    if fault is not None:
        raise ValueError(f"in its record, {fault.what}")


def first_fault(policy: Policy, states: States, arms: int, size: int | None = None) -> Fault | None:
    """Return the first record that is not safe, or whose first `size` bytes are not."""
    key: Any = policy, states.dtype, arms, size
    try:
        tables, rounds = _tables(*key)
    except TypeError:  # a user's policy may hold something that cannot be hashed
        tables, rounds = _tables.__wrapped__(*key)
    plain = states.view(np.ndarray)
    faults = []
    for queued, taken in rounds:
        counts = plain.view(queued.kind).reshape(len(plain), -1)
        counts = counts[:, [field.at // queued.kind.itemsize for field in (queued, taken)]]
        for number in np.flatnonzero(counts[:, 1] > counts[:, 0])[:1].tolist():
            most, value = counts[number].tolist()
            faults.append(
                Fault(number, f"{taken.name} is {value}, more than {queued.name}, {most}")
            )
    for table in tables:
        kind = table.fields[0].kind
        rows = plain.view(kind).reshape(len(plain), -1)[:, table.places]
        if table.fields[0].is_stream:
            wrong = np.repeat(~rows.any(axis=1, keepdims=True), rows.shape[1], axis=1)
        else:
            wrong = ~((rows >= table.least) & (rows <= table.most))  # NaN is wrong as well
            wrong &= ~(table.nobody & (rows == NOBODY))
        found = np.argwhere(wrong)
        if len(found) > 0:
            number, place = found[0].tolist()
            field = table.fields[table.owner[place]]
            first = int(np.searchsorted(table.owner, table.owner[place]))
            what = _in_words(field, place - first, rows[number, place].item())
            faults.append(Fault(number, what))
    return min(faults, default=None)


def _in_words(field: _Field, place: int, value: float) -> str:
    if field.is_stream:
        return f"{field.name} is all zeros, which is not a random stream"
    name = f"{field.name}[{place}]" if field.n > 1 else field.name
    if field.least == field.most:
        return f"{name} is {value} instead of {field.least}"
    return f"{name} is {value}, not between {field.least} and {field.most}"


@lru_cache(maxsize=64)
def _tables(
    policy: Policy, dtype: np.dtype[Any], arms: int, size: int | None
) -> tuple[list[_Table], list[tuple[_Field, _Field]]]:
    """Return the bounds in a layout, and the fields `queued` and `taken` of each round in it.

    The policy is there since two types of records are equal even if their bounds differ.
    """
    end = dtype.itemsize if size is None else size
    fields = [f for f in _fields(dtype, arms) if f.at + f.n * f.kind.itemsize <= end]
    groups: dict[str, list[_Field]] = {}
    for field in fields:
        groups.setdefault(field.name if field.is_stream else field.kind.str, []).append(field)
    rounds = [pair for pair in pairwise(fields) if pair[1].name.split(".")[-1] == "taken"]
    return [_table(group) for group in groups.values()], rounds


def _table(fields: list[_Field]) -> _Table:
    kind, lengths = fields[0].kind, [field.n for field in fields]
    largest = np.inf if kind.kind == "f" else np.iinfo(kind).max
    return _Table(
        fields,
        np.concatenate([field.at // kind.itemsize + np.arange(field.n) for field in fields]),
        np.repeat(np.array([field.least for field in fields], kind), lengths),
        np.repeat(np.array([min(field.most, largest) for field in fields], kind), lengths),
        np.repeat([field.nobody for field in fields], lengths),
        np.repeat(np.arange(len(fields)), lengths),
    )


def _fields(dtype: np.dtype[Any], arms: int, prefix: str = "", start: int = 0) -> Iterator[_Field]:
    """Yield the fields of a record that have bounds, and those of the records within it."""
    places: Any = dtype.fields
    for name in dtype.names or ():
        part, at = places[name][0], start + places[name][1]
        said = part.base.metadata or {}
        holds = said.get("holds")
        field = _Field(prefix + name, part.base, at, int(np.prod(part.shape, dtype=np.int64)))
        if part.names:
            yield from _fields(part, arms, f"{prefix}{name}.", at)
        elif field.n == 0:
            continue
        elif "most" in said:
            yield field._replace(least=said["least"], most=said["most"])
        elif said == ARM.metadata:
            yield field._replace(most=arms - 1, nobody=True)
        elif said == LINE.metadata:
            yield field._replace(n=min(field.n, arms), most=arms - 1)
        elif holds == "a place among the arms":
            yield field._replace(most=arms - 1)
        elif holds == "the number of arms":
            yield field._replace(least=arms, most=arms)
        elif holds == "a random stream":
            yield field._replace(is_stream=True)
