"""Plain JSON values from the objects that the library returns."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping
from datetime import date, timedelta
from os import PathLike, fspath
from typing import Any, TypeAlias

import numpy as np

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


def json_safe(value: object) -> Json:
    """Return `value` in the words of JSON; ``json.dumps(…, allow_nan=False)`` accepts the result.

    Parameters
    ----------
    value
        Numbers, text and None stay; numbers that are infinite or NaN become None. Dataclasses,
        named tuples and mappings become dicts, with keys as text; arrays and all other collections
        become lists; dates become ISO 8601 text, and durations seconds. An object with a method
        ``to_dict()`` becomes what that returns.

    Raises
    ------
    TypeError
        If there is no such form for a value.

    Examples
    --------
    >>> import numpy as np
    >>> json_safe({"mean": np.float64("nan"), "pulls": np.array([3, 4])})
    {'mean': None, 'pulls': [3, 4]}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return json_safe(value.item())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, PathLike):
        return str(fspath(value))
    return _structure(value)


def json_fields(value: object, leave_out: Collection[str] = ()) -> dict[str, object]:
    """Return the fields of a dataclass or named tuple as JSON values, for use in its `to_dict()`.

    Parameters
    ----------
    value
        The object. Its own ``to_dict()`` is not called, those of its fields are.
    leave_out
        The names of fields to leave out.
    """
    each: Any = value
    names = (
        [field.name for field in dataclasses.fields(each)]
        if dataclasses.is_dataclass(each)
        else each._fields
    )
    return {name: json_safe(getattr(each, name)) for name in names if name not in leave_out}


def _structure(value: Any) -> Json:
    """Return the JSON form of a value that holds others."""
    if isinstance(value, type):
        raise TypeError(f"{value.__name__} is a class, which has no form in JSON")
    if hasattr(value, "to_dict"):
        return json_safe(value.to_dict())
    if dataclasses.is_dataclass(value) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return json_safe(json_fields(value))
    if isinstance(value, Mapping):
        return {str(key): json_safe(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return json_safe(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [json_safe(each) for each in value]
    raise TypeError(f"{value!r} is of type {type(value).__name__}, which has no form in JSON")
