"""Finds the line of a key in a TOML document, because `tomllib` does not tell it.

The scanner relies on the document being valid TOML: it only scans what `tomllib` has read. A path
consists of keys and of indices into arrays, such as ``("policies", 3, "window")``.
"""

import re
import tomllib
from collections.abc import Sequence
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'  # up to two quotes before the closing three may be text
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}#\n]+")  # a number, a date, true or false


def locate(text: str, path: Sequence[str | int]) -> int:
    """Return the line, counted from 1, of a key or of an element of an array.

    If the document does not have it, return the line of the innermost table that encloses it.

    >>> locate("horizon = 10\\n[[policies]]\\nwindow = 5", ("policies", 0, "window"))
    3
    """
    lines = _Scanner(text).lines
    for size in range(len(path), 0, -1):
        if tuple(path[:size]) in lines:
            return lines[tuple(path[:size])]
    return 1


class _Scanner:
    """Walks once through the text and notes the line of everything that has a path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self._line, self._counted = 1, 0
        self._sizes: dict[KeyPath, int] = {}  # number of tables so far in each [[…]]
        self._document()

    def _document(self) -> None:
        table: KeyPath = ()
        while self._skip_blank() < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._assignment(table)

    def _header(self) -> KeyPath:
        """Read [a.b] or [[a.b]]; return the path of the table that it begins."""
        line = self._line_now()
        brackets = 2 if self.text.startswith("[[", self.at) else 1
        self.at += brackets
        keys = self._key()
        self.at += brackets
        path: KeyPath = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self._sizes:  # an array of tables: its last table is meant
                path = (*path, self._sizes[path] - 1)
            self.lines.setdefault(path, line)
        path = (*path, keys[-1])
        self.lines.setdefault(path, line)
        if brackets == 2:
            index = self._sizes.get(path, 0)
            self._sizes[path] = index + 1
            path = (*path, index)
            self.lines[path] = line
        return path

    def _assignment(self, table: KeyPath) -> None:
        line = self._line_now()
        path = table
        for key in self._key():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._skip_blank()
        self.at += 1  # skip the sign =
        self._value(path)

    def _key(self) -> list[str]:
        """Read a dotted key and the blanks around it; return its parts."""
        keys = []
        while True:
            self._skip_blank()
            string = _STRING.match(self.text, self.at)
            bare = _BARE_KEY.match(self.text, self.at)
            if string:
                keys.append(str(tomllib.loads(f"key = {string[0]}")["key"]))
                self.at = string.end()
            elif bare:
                keys.append(bare[0])
                self.at = bare.end()
            self._skip_blank()
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _value(self, path: KeyPath) -> None:
        self._skip_blank()
        self.lines.setdefault(path, self._line_now())
        found = _STRING.match(self.text, self.at)
        if found:
            self.at = found.end()
        elif self.text[self.at] == "[":
            self._elements(path)
        elif self.text[self.at] == "{":
            self._pairs(path)
        else:
            plain = _PLAIN.match(self.text, self.at)
            self.at = plain.end() if plain else len(self.text)

    def _elements(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while self.text[self._skip_blank()] != "]":
            self._value((*path, index))
            index += 1
            if self.text[self._skip_blank()] == ",":
                self.at += 1
        self.at += 1

    def _pairs(self, path: KeyPath) -> None:
        self.at += 1
        while self.text[self._skip_blank()] != "}":
            self._assignment(path)
            if self.text[self._skip_blank()] == ",":
                self.at += 1
        self.at += 1

    def _skip_blank(self) -> int:
        """Skip blanks and comments; return the new position."""
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        return self.at

    def _line_now(self) -> int:
        """Return the line of the current position."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line
