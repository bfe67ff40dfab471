"""Records of plain Python: a class whose attributes are the record's fields, and no others."""

import copyreg
import functools
import operator
from typing import Any

import numpy as np

from lastblock.support.spelling import advice

_NUMPYS = frozenset(
    {"copy", "data", "dtype", "item", "itemsize", "nbytes", "shape", "tobytes", "view"}
)
"""What plain code may ask of a record besides its fields; numba asks for `data`. (Numpy has more,
such as `sum`; compiled code has not, and there it is a misspelt field.)"""


class _KindOfRecord(type):
    """The type of the classes that `fields_class` makes, so that they can be pickled."""


class Fields(np.void, metaclass=_KindOfRecord):  # type: ignore[misc]  # numpy's stubs call its base final
    """A record whose attributes are its fields, even where a numpy method has the same name.

    Only plain Python needs this class, because kernels know nothing but the fields. It asks for
    fields millions of times, and so each set of fields has a subclass with a property for each.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        raise self._missing(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in (self.dtype.names or ()):
            raise self._missing(name)
        self[name] = value

    def _missing(self, name: str) -> AttributeError:
        fields = sorted(self.dtype.names or ())
        return AttributeError(f"the record has no field {name!r}; {advice(name, fields)}")


def _no_field(name: str) -> property:
    return property(lambda record: record.__getattr__(name))


for _name in dir(np.void):
    if not _name.startswith("_") and _name not in _NUMPYS:
        setattr(Fields, _name, _no_field(_name))


@functools.cache
def fields_class(names: tuple[str, ...]) -> type[Fields]:
    """Return the class of records with these fields."""
    fields = {name: property(operator.itemgetter(name)) for name in names}
    made: Any = _KindOfRecord("Fields", (Fields,), {"__slots__": (), **fields})
    cls: type[Fields] = made
    return cls


def _pickled(cls: type[Fields]) -> Any:
    names = tuple(name for name in vars(cls) if isinstance(vars(cls)[name], property))
    return "Fields" if cls is Fields else (fields_class, (names,))


copyreg.pickle(_KindOfRecord, _pickled)  # type: ignore[arg-type]  # it takes more than it says
