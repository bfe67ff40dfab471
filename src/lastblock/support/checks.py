"""Checks of arguments: each returns the value, or raises a ValueError that names the argument."""

import operator
import unicodedata
from enum import IntEnum
from typing import Any

import numpy as np


def whole(value: Any, name: str) -> int:
    """Return a whole number as an int."""
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be a whole number")
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} must be a whole number") from None


def at_least(least: int, value: Any, name: str) -> int:
    """Return a whole number of at least `least`."""
    n = whole(value, name)
    if n < least:
        raise ValueError(f"{name}={value} must be at least {least}")
    return n


_NOT_IN_A_LINE = {"Cc", "Cs", "Zl", "Zp"}
"""Unicode categories: control characters, surrogates, ends of lines and of paragraphs."""


def line(value: Any, name: str) -> str:
    """Return one line of text, in any script.

    Invisible joiners are allowed, since some letters and emoji are composed with them.
    """
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}={value!r} must be a string that is not empty")
    for character in value:
        if unicodedata.category(character) in _NOT_IN_A_LINE:
            raise ValueError(f"{name}={value!r} must not contain {character!r}; leave it out")
    return value


def number(value: Any, name: str) -> float:
    """Return a finite number as a float."""
    if isinstance(value, str | bytes | bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be a number")
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={value!r} must be a number") from None
    if not np.isfinite(result):
        raise ValueError(f"{name}={value!r} must be finite")
    return result


def flag(value: Any, name: str) -> bool:
    """Return True or False; other values that Python takes for these are errors."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False")
    return bool(value)


def choice(kind: type[IntEnum], value: Any, name: str) -> IntEnum:
    """Return a member of an enumeration, given by its lower-case name or its number."""
    for member in kind:
        if value == member.name.lower() or (not isinstance(value, str) and value == member):
            return member
    words = ", ".join(repr(member.name.lower()) for member in kind)
    raise ValueError(f"{name}={value!r} must be one of {words}")


def numbers(value: Any, name: str) -> tuple[float, ...]:
    """Return finite numbers as a tuple of floats."""
    return tuple(number(item, name) for item in _items(value, name))


def optional_wholes(value: Any, name: str) -> tuple[int, ...] | None:
    """Return whole numbers as a tuple of ints; None stays None."""
    return None if value is None else tuple(whole(item, name) for item in _items(value, name))


def _items(value: Any, name: str) -> list[Any]:
    if isinstance(value, str | bytes | dict | set):
        raise ValueError(f"{name}={value!r} must be a list of numbers")
    try:
        return list(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} must be a list of numbers") from None
