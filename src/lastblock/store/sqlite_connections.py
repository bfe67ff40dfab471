"""SQLite connections: how they are opened and left alone in a forked child; SQLite's errors.

SQLite notes its locks in the memory of the process. A fork copies these notes, but the locks stay
with the parent. A child that opened one of its parent's files would believe that it holds locks
which it does not hold, and the parent would remove, on closing, the log that the child writes to.
So the child cannot open a file that was open at the fork. It never closes the inherited
connections either, not even when it ends.
"""

import ctypes
import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from lastblock.support.errors import StoreError

PATIENCE = 60.0
"""Seconds to wait while other processes write to the same file."""

NOT_A_STORE = "is not a store, since it is not an SQLite file; give another file"

Identity: TypeAlias = tuple[int, int]
"""Device and inode of a file, which are the same under all its names."""


class Connection(sqlite3.Connection):
    """A connection with its file, and a lock for the threads that share it."""

    file: Identity
    lock: Any

    def close(self) -> None:
        """Close the connection; closing it twice is not an error."""
        super().close()
        _open.discard(self)


_open: weakref.WeakSet[Connection] = weakref.WeakSet()
_inherited: set[Identity] = set()


def connect(path: Path, lock: Any, **options: Any) -> Connection:
    """Return a connection to an existing file; raise a `StoreError` if it was open at a fork."""
    file = identity(path)
    if file is None:
        raise StoreError(f"the store {str(path)!r} was deleted while it was opened; open it again")
    check_not_inherited(path, f"the store {str(path)!r}")
    connection: Connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",  # so that SQLite never creates a file
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        factory=Connection,
        **options,
    )
    connection.file, connection.lock = file, lock
    _open.add(connection)
    return connection


def check_not_inherited(path: Path, label: str) -> None:
    """Raise a `StoreError` if the file was open when this process was forked."""
    if identity(path) in _inherited:
        raise StoreError(f"{label} {INHERITED}")


INHERITED = (
    "was opened before a fork and belongs to the parent process; start workers by spawn, or open "
    "the store after the fork only (gunicorn: leave out --preload)"
)


def identity(path: str | Path) -> Identity | None:
    """Return device and inode of a file; None if it does not exist."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None


def _after_in_child() -> None:
    for connection in tuple(_open):
        _inherited.add(connection.file)
        # This reference is never given back: freeing the connection would close it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)


@contextmanager
def explained(label: str) -> Iterator[None]:
    """Turn SQLite's errors into a `StoreError` about the store with this label."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{label} {_meaning(error)}") from error


def _meaning(error: sqlite3.Error) -> str:
    """Return what is wrong and what to do, as the end of a sentence."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if isinstance(error, sqlite3.ProgrammingError):
        return "is closed; open it again with Store()"
    meanings = {
        sqlite3.SQLITE_FULL: "cannot grow: the disk is full; free some space and call again",
        sqlite3.SQLITE_IOERR: f"cannot be read or written ({error}); check the disk",
        sqlite3.SQLITE_READONLY: "is read-only; change its permissions, or copy it",
        sqlite3.SQLITE_CANTOPEN: "cannot be opened; check its folder and permissions",
        sqlite3.SQLITE_PERM: "is read-only; change its permissions, or copy it",
        sqlite3.SQLITE_NOTADB: NOT_A_STORE,
        sqlite3.SQLITE_CORRUPT: "is damaged, perhaps cut short; restore it from a copy",
        sqlite3.SQLITE_BUSY: f"is busy: others have been writing for {PATIENCE:g} s; call again",
    }
    return meanings.get(code, f"failed: {error}")
