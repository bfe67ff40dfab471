"""Checks of arguments: each returns the value, or raises a ValueError that names the argument."""

import operator
import unicodedata
from enum import IntEnum
from typing import Any

import numpy as np


def whole(value: Any, name: str) -> int:
    """A whole number, or a ValueError that names the argument."""
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be a whole number")
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} must be a whole number") from None


def at_least(least: int, value: Any, name: str) -> int:
    """A whole number of at least `least`, or a ValueError that names the argument."""
    n = whole(value, name)
    if n < least:
        raise ValueError(f"{name}={value} must be at least {least}")
    return n


_NOT_IN_A_LINE = {"Cc", "Cs", "Zl", "Zp"}
"""Control characters, halves of characters, ends of lines and paragraphs."""


def line(value: Any, name: str) -> str:
    """A line of text in any script: also joiners, of which some letters and pictures are made."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}={value!r} must be a string, and not empty")
    for character in value:
        if unicodedata.category(character) in _NOT_IN_A_LINE:
            raise ValueError(f"{name}={value!r} has {character!r} in it; leave that out")
    return value


def number(value: Any, name: str) -> float:
    """A finite number, or a ValueError that names the argument."""
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
    """True or False, or a ValueError that names the argument."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False")
    return bool(value)


def choice(kind: type[IntEnum], value: Any, name: str) -> IntEnum:
    """A member of an enumeration, by its lower-case name or number."""
    for member in kind:
        if value == member.name.lower() or (not isinstance(value, str) and value == member):
            return member
    words = ", ".join(repr(member.name.lower()) for member in kind)
    raise ValueError(f"{name}={value!r} must be one of {words}")


def numbers(value: Any, name: str) -> tuple[float, ...]:
    """A tuple of finite numbers, or a ValueError that names the argument."""
    return tuple(number(item, name) for item in _items(value, name))


def optional_wholes(value: Any, name: str) -> tuple[int, ...] | None:
    """A tuple of whole numbers, or None."""
    return None if value is None else tuple(whole(item, name) for item in _items(value, name))


def _items(value: Any, name: str) -> list[Any]:
    if isinstance(value, str | bytes | dict | set):
        raise ValueError(f"{name}={value!r} must be a list of numbers")
    try:
        return list(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} must be a list of numbers") from None
