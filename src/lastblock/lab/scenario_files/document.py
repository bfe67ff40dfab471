"""A TOML document whose error messages start with the place: ``FILE: policies[2].window: …``."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from lastblock.support.errors import ScenarioError, short
from lastblock.support.spelling import advice

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys, and indices into arrays, such as ``("policies", 3, "window")``."""

_MOST_MISTAKES = 20
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class TomlDocument:
    """The contents of a TOML file, and the file's name as error messages show it."""

    name: str
    text: str
    values: dict[str, Any]
    mistakes: list[ScenarioError] = field(default_factory=list, compare=False)
    """The mistakes that `noting` has found so far."""

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note a `ScenarioError` that is raised in here and go on, so that all are reported."""
        try:
            yield
        except ScenarioError as error:
            if str(error) not in map(str, self.mistakes):
                self.mistakes.append(error)

    def report(self) -> None:
        """Raise a `ScenarioError` with a line for each mistake noted so far, if there are any."""
        if not self.mistakes:
            return
        if len(self.mistakes) == 1:
            raise self.mistakes[0]
        lines = [str(mistake) for mistake in self.mistakes]
        more = len(lines) - _MOST_MISTAKES
        shown_lines = lines[:_MOST_MISTAKES] + ([f"… and {more} more"] if more > 0 else [])
        raise ScenarioError("\n".join([f"{self.name} has {len(lines)} mistakes:", *shown_lines]))

    def error(self, path: KeyPath, message: object) -> ScenarioError:
        """Return an error for the key at `path`; its message is one line and names the place."""
        place, words = self._place(path), " ".join(str(message).split())
        if words.startswith((f"{place}=", f"{place}: ")):  # it names the place, as in ``seed=-1``
            place = ""
        return ScenarioError(": ".join(filter(None, (self.name, place, words))))

    def _place(self, path: KeyPath) -> str:
        """Return the keys on a path as a text, as far as the document has them."""
        place = ""
        value: Any = self.values
        for part in path:
            try:
                value = value[part]
            except (IndexError, KeyError, TypeError):
                break
            if isinstance(part, int):
                place += f"[{part}]"
            else:
                key = part if _BARE_KEY.fullmatch(part) else json.dumps(part, ensure_ascii=False)
                place += f".{key}" if place else key
        return place


def parse(name: str, text: str) -> "TomlTable":
    """Return a whole document as a table, or raise a `ScenarioError` if it is not TOML."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ScenarioError(f"{name}: brackets are nested too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{name}: this is not TOML: {error}") from None
    except ValueError:  # the only other error of tomllib
        raise ScenarioError(f"{name}: a number has too many digits") from None
    return TomlTable(TomlDocument(name, text, values), (), values)


@dataclass(frozen=True)
class TomlTable:
    """A table of a document, with its path in the document."""

    document: TomlDocument
    path: KeyPath
    values: dict[str, Any]

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def error(self, message: object, *keys: str | int) -> ScenarioError:
        """Return an error about the table, or about the value at `keys` in it."""
        return self.document.error((*self.path, *keys), message)

    def blame(self, error: ValueError) -> ScenarioError:
        """Turn `error` into one at the key that its message names, as in ``mean=7``.

        If the message names no key of the table, the error is about the table itself.
        """
        named = [key for key in self if re.search(rf"\b{re.escape(key)}=", str(error))]
        return self.error(error, *named[:1])

    def only(self, allowed: Iterable[str], where: str) -> None:
        """Raise an error at a key that is not allowed, and note those at further ones.

        `where` describes the table.
        """
        allowed = list(allowed)
        self.refuse(
            (self.error(f"unknown key {key!r} in {where}; {advice(key, allowed)}", key))
            for key in self
            if key not in allowed
        )

    def refuse(self, errors: Iterable[ScenarioError]) -> None:
        """Raise the first of some errors, if there are any, and note the others."""
        found = list(errors)
        for error in found[1:]:
            with self.document.noting():
                raise error
        for error in found[:1]:
            raise error

    def need(self, key: str, what: str) -> Any:
        """Return the value of `key`; raise an error with the message `what` if it is missing."""
        if key not in self:
            raise self.error(what)
        return self.values[key]

    def text(self, key: str, default: str = "") -> str:
        """Return the text at `key`, or `default` if it is missing; it must not be empty."""
        if key not in self:
            return default
        value = self.values[key]
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key}={short(value)} must be a text in quotes, not empty", key)
        return value

    def table(self, key: str) -> "TomlTable":
        """Return the table at `key`, which must exist."""
        return self.as_table(self.values[key], key)

    def tables(self, key: str) -> "list[TomlTable]":
        """Return the tables of the array ``[[key]]``; an empty list if it is missing."""
        items = self.values.get(key, [])
        if not isinstance(items, list):
            raise self.error(f"{key} must be a list of tables; write [[{key}]]", key)
        return [self.as_table(item, key, i) for i, item in enumerate(items)]

    def as_table(self, value: Any, *keys: str | int) -> "TomlTable":
        """Return `value`, which stands at `keys` in this table, as a table with its path."""
        if not isinstance(value, dict):
            raise self.error(f"{short(value)} must be a table", *keys)
        return TomlTable(self.document, (*self.path, *keys), value)


def read_text(path: Path, name: str) -> str:
    """Return the text of a UTF-8 file, without a byte order mark.

    Raises a `ScenarioError` that calls the file `name` if it cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ScenarioError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise ScenarioError(f"{name} is a folder; give the path of a TOML file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ScenarioError(f"{name} cannot be read: {reason}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScenarioError(
            f"{name}:{line}: byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        ) from None
