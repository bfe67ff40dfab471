"""The rules that the numbers in a record keep: between which bounds each of them lies.

The types of a layout say what the bounds are (see `layout.within`). The rules of a layout form a
table, which kernels read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import ARM, LINE

UNSIGNED, SIGNED, REAL, STREAM = range(4)
"""Kinds of rules: for whole numbers without and with a sign, for floats, and for random streams."""

Words = npt.NDArray[np.int64]


class RuleTable(NamedTuple):
    """The rules in the form that a kernel reads, one row per rule."""

    rows: Words  # the first place, in units of the size; size; kind; count; whether NOBODY is fine
    whole: Words  # the least and the largest value, for whole numbers
    real: npt.NDArray[np.float64]  # the least and the largest value, for floats


class Rule(NamedTuple):
    """The rule that `n` numbers of a field, from byte `at` on, lie between `least` and `most`."""

    name: str
    kind: np.dtype[Any]
    at: int
    n: int
    least: float = 0
    most: float = 0
    nobody: bool = False
    """Whether NOBODY is allowed as well."""
    is_stream: bool = False
    """Whether the rule is that they are not all zero, instead."""

    @property
    def end(self) -> int:
        """The first byte after the numbers."""
        return self.at + self.n * self.kind.itemsize

    def row(self) -> list[int]:
        size = self.kind.itemsize
        kind = {"u": UNSIGNED, "i": SIGNED, "f": REAL}[self.kind.kind]
        return [self.at // size, size, STREAM if self.is_stream else kind, self.n, self.nobody]

    def broken(self, place: int, value: float) -> str:
        """Return what is wrong, in words."""
        if self.is_stream:
            return f"{self.name} is all zeros, which is not a random stream"
        name = f"{self.name}[{place}]" if self.n > 1 else self.name
        if self.least == self.most:
            return f"{name} is {value} instead of {self.least}"
        return f"{name} is {value}, not between {self.least} and {self.most}"


def rules_of(dtype: np.dtype[Any], arms: int, prefix: str = "", start: int = 0) -> Iterator[Rule]:
    """Yield the rules of a record, and of the records within it."""
    for name in dtype.names or ():
        part, at = dtype[name], start + place_of(dtype, name)
        base, full = part.base, prefix + name
        count = int(np.prod(part.shape, dtype=np.int64))
        if part.names:
            yield from rules_of(part, arms, f"{full}.", at)
        elif count > 0 and base.kind in "iuf":
            yield from _rules_of_field(Rule(full, base, at, count), arms)


def _rules_of_field(rule: Rule, arms: int) -> Iterator[Rule]:
    """Yield the rules of a field, if its type has any."""
    said: Mapping[str, Any] = rule.kind.metadata or {}
    if "most" in said:
        yield rule._replace(least=said["least"], most=said["most"])
    elif said == ARM.metadata:
        yield rule._replace(most=arms - 1, nobody=True)
    elif said == LINE.metadata:
        yield rule._replace(n=min(rule.n, arms), most=arms - 1)
    elif said.get("holds") == "a place among the arms":
        yield rule._replace(most=arms - 1)
    elif said.get("holds") == "the number of arms":
        yield rule._replace(least=arms, most=arms)
    elif said.get("holds") == "a random stream":
        yield rule._replace(is_stream=True)


def table_of(rules: list[Rule]) -> RuleTable:
    """Return rules in the form that kernels read."""
    real = [rule.kind.kind == "f" for rule in rules]
    limits = [(rule.least, rule.most) for rule in rules]
    return RuleTable(
        rows_of([rule.row() for rule in rules], np.int64, 5),
        rows_of([(0, 0) if r else w for r, w in zip(real, limits, strict=True)], np.int64, 2),
        rows_of([w if r else (0, 0) for r, w in zip(real, limits, strict=True)], np.float64, 2),
    )


def rows_of(rows: Sequence[Sequence[float]], kind: Any, width: int) -> npt.NDArray[Any]:
    """Return an array of two dimensions, which kernels need, even if there are no rows."""
    return np.array(rows, kind).reshape(-1, width)


def place_of(dtype: np.dtype[Any], name: str) -> int:
    """Return at which byte of a record a field begins."""
    fields: Any = dtype.fields
    return int(fields[name][1])
