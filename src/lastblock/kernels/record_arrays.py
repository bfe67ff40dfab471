"""Arrays of records as kernels take them: a table of places comes with the data.

The type of a numpy record has all its sizes: the number of arms, the length of a history. Kernels
compiled for such types would be compiled anew for each number of arms. So a kernel knows the names
of the fields, the kinds of their numbers and how many dimensions they have: the *outline* of the
record. Offsets and lengths it reads from a small table beside the records. Fields that take as many
bytes for any number of arms come first, so that compiled code has their offsets as constants.
"""

import functools
import hashlib
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

STREAM = np.dtype(np.uint64, metadata={"holds": "a random stream"})
"""The type of the words of a random stream, an array of fixed length."""


class Field(NamedTuple):
    """What compiled code knows of a field."""

    name: str
    place: int
    """Where the table has the offset, followed by the lengths of an array or the table of a record;
    for a field with a constant offset, ``~offset``, which is negative."""
    code: str
    """The kind of its numbers, as numpy spells it; empty for a record."""
    dimensions: int
    lengths: tuple[int, ...]
    """The lengths of an array if they are constant."""
    outline: "Outline"
    """The fields of a record; empty for numbers and arrays."""


Outline: TypeAlias = tuple[Field, ...]


class RecordArray(np.ndarray[Any, Any]):
    """An array of records with the table of its places.

    Compiled code sees three numbers: the address of the records, the size of a record and the
    address of the table. Plain Python sees the records.

    Parameters
    ----------
    records
        An array with one dimension, whose type is one of `core.layout.record`.
    """

    __numba_array_subtype_dispatch__ = True  # numba must not take it for an array of numbers

    records: npt.NDArray[Any]
    outline: Outline
    _places: npt.NDArray[np.int64]

    def __new__(cls, records: npt.NDArray[Any]) -> "RecordArray":
        outline, places, kind = outlined(records.dtype)
        numbers = np.array([records.ctypes.data, records.itemsize, places.ctypes.data], np.int64)
        made = numbers.view(kind).view(cls)
        made.records, made.outline, made._places = records, outline, places
        return made

    def __getitem__(self, i: Any) -> Any:
        return self.records[i]

    def __setitem__(self, i: Any, record: Any) -> None:
        self.records[i] = record

    def __repr__(self) -> str:
        return f"RecordArray({self.records!r})"


def is_fixed(kind: np.dtype[Any]) -> bool:
    """Return whether a field takes as many bytes for any number of arms."""
    return kind.names is None and (not kind.shape or kind.base.metadata == STREAM.metadata)


@functools.cache
def outlined(dtype: np.dtype[Any]) -> tuple[Outline, npt.NDArray[np.int64], np.dtype[Any]]:
    """Return the outline of a record type, its table, and a type of numbers.

    Numba must not take the numbers of a `RecordArray` for those of one with another outline.
    """
    outline, places = _outlined(dtype)
    digest = hashlib.blake2b(repr(outline).encode(), digest_size=8).hexdigest()
    return outline, np.array(places, np.int64), np.dtype([(digest, np.int64)])


def _outlined(dtype: np.dtype[Any]) -> tuple[Outline, list[int]]:
    outline: list[Field] = []
    places: list[int] = []
    fields: Any = dtype.fields
    for name in dtype.names or ():
        kind, offset = fields[name][:2]
        code = "" if kind.names else kind.base.str
        if is_fixed(kind):
            outline.append(Field(name, ~offset, code, len(kind.shape), kind.shape, ()))
        else:
            inner, more = _outlined(kind)
            outline.append(Field(name, len(places), code, len(kind.shape), (), inner))
            places += [offset, *kind.shape, *more]
    return tuple(outline), places
