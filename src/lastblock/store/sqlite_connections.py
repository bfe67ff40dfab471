"""The SQLite connections of this process, and what a fork makes of them.

SQLite keeps the book of its locks in the memory of the process. A fork copies the book, but the
locks stay with the parent: a child that opened one of its parent's files would believe that it
holds locks which it does not hold, and the parent's close would remove the log that the child
writes to. So a file that was open at a fork cannot be opened in the child. The connections
themselves are never closed there either, not even by the end of the process.
"""

import ctypes
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from numba.core.compiler_lock import global_compiler_lock

from lastblock.support.errors import StoreError

Identity: TypeAlias = tuple[int, int]
"""Device and number of a file: the same by whatever name it is opened."""

PAUSE = 5.0
"""Seconds that a fork waits, at most, for statements of other threads. One that were in the middle
of SQLite would leave its locks closed in the child, where nobody could open them."""


class Use:
    """An open connection, known here from before it is opened until it is closed."""

    def __init__(self, file: Identity, lock: Any) -> None:
        self.file, self.lock = file, lock
        self.process = os.getpid()
        self.connection: Callable[[], Connection | None] = lambda: None

    def end(self, _: object = None) -> None:
        """It is closed."""
        _open.pop(id(self), None)


class Connection(sqlite3.Connection):
    """A connection that is known here."""

    use: Use

    def close(self) -> None:
        """Close it. Twice is no error."""
        super().close()
        self.use.end()


_compiling: Any = global_compiler_lock

# No lock guards these: each step is one step for all threads, and a lock could be held at a fork.
_open: dict[int, Use] = {}
_inherited: set[Identity] = set()
_paused: dict[int, list[tuple[Use, Connection | None, bool]]] = {}
"""For each thread that forks just now: all uses, their connections (which must not be freed now),
and whether it holds the lock."""


def connect(database: str | Path, lock: Any, **options: Any) -> Connection:
    """A connection to a file that exists, or a StoreError if it was open at a fork."""
    path = Path(database)
    file = identity(path)
    if file is None:
        raise StoreError(f"the store {str(path)!r} was deleted while it was opened; open it again")
    check_not_inherited(path, f"the store {str(path)!r}")
    with lock:
        use = Use(file, lock)
        try:
            _open[id(use)] = use
            connection: Connection = sqlite3.connect(
                f"{path.as_uri()}?mode=rw",  # never a new file
                uri=True,
                isolation_level=None,
                check_same_thread=False,
                factory=Connection,
                **options,
            )
            connection.use, use.connection = use, weakref.ref(connection, use.end)
        except BaseException:
            use.end()
            raise
    return connection


def check_not_inherited(path: Path, label: str) -> None:
    """Refuse a file that was open when this process was forked off."""
    file = identity(path)
    if file is None:
        return
    foreign = {use.file for use in tuple(_open.values()) if use.process != os.getpid()}
    if file in _inherited or file in foreign:
        raise StoreError(
            f"{label} was open in the parent process when it forked; start workers by spawn, or "
            "open the store after the fork only"
        )


def identity(path: str | Path) -> Identity | None:
    """Which file that is, by whatever name; None if there is none."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None


def _before_fork() -> None:
    """Wait until no thread compiles, nor is within SQLite: the child would have their locks."""
    _compiling.acquire()
    until = time.monotonic() + PAUSE
    paused = _paused[threading.get_ident()] = []
    for use in tuple(_open.values()):
        left = max(0.0, until - time.monotonic())
        paused.append((use, use.connection(), use.lock.acquire(timeout=left)))


def _after_fork() -> None:
    paused = _paused.pop(threading.get_ident(), None)
    if paused is None:  # forked by somebody who does not call what must be called before
        return
    for use, _, is_held in paused:
        if is_held:
            use.lock.release()
    _compiling.release()


def _after_in_child() -> None:
    for use in tuple(_open.values()):
        _inherited.add(use.file)
        # Nobody gives this reference back: to free the connection would close it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(use.connection()))
    _after_fork()
    _paused.clear()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_in_child
    )
