"""SQLite's errors as store errors, which say what is wrong and what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from lastblock.support.errors import StoreError

PATIENCE = 60.0
"""Seconds to wait while other processes write to the same file."""

NOT_A_STORE = "is not a store, since it is not an SQLite file; give another file"


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
