"""The SQLite connections of this process, and how they are kept safe when it forks.

SQLite notes its locks in the memory of the process. A fork copies these notes, but the locks stay
with the parent. A child that opened one of its parent's files would believe that it holds locks
which it does not hold, and the parent would remove, on closing, the log that the child writes to.
So the child cannot open a file that was open at the fork. It never closes the inherited
connections either, not even when it ends.
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

from lastblock.support.errors import StoreError

Identity: TypeAlias = tuple[int, int]
"""Device and inode of a file, which are the same under all its names."""

PAUSE = 5.0
"""The most seconds that a fork waits for SQLite statements of other threads. A thread in the middle
of one would leave SQLite's mutexes locked in the child for ever."""

_MOMENT = 0.001
"""Seconds after which a thread that wants to connect looks again whether another one forks."""


class Use:
    """The entry of a connection in `_open`, from before it is opened until it is closed."""

    def __init__(self, file: Identity, lock: Any) -> None:
        self.file, self.lock = file, lock
        self.process = os.getpid()
        self.connection: Callable[[], Connection | None] = lambda: None

    def end(self, _: object = None) -> None:
        """Remove the entry, since the connection is closed."""
        _open.pop(id(self), None)


class Connection(sqlite3.Connection):
    """A connection that removes its entry when it is closed."""

    use: Use

    def close(self) -> None:
        """Close the connection; closing it twice is not an error."""
        super().close()
        self.use.end()


# No lock guards these: each operation on them is atomic, and a lock could be held at a fork.
_open: dict[int, Use] = {}
_inherited: set[Identity] = set()
_paused: dict[int, list[tuple[Use, Connection | None, bool]]] = {}
"""For each thread that is forking: all uses, their connections (which must not be freed now), and
whether the thread got the lock."""


def connect(database: str | Path, lock: Any, **options: Any) -> Connection:
    """Return a connection to an existing file; raise a `StoreError` if it was open at a fork."""
    path = Path(database)
    file = identity(path)
    if file is None:
        raise StoreError(f"the store {str(path)!r} was deleted while it was opened; open it again")
    check_not_inherited(path, f"the store {str(path)!r}")
    until = time.monotonic() + PAUSE
    while True:
        with lock:
            use = Use(file, lock)
            _open[id(use)] = use
            # A fork that began before does not wait for this lock. Later ones do.
            if not _others_fork() or time.monotonic() > until:
                return _connected(path, use, options)
            use.end()
        time.sleep(_MOMENT)


def _others_fork() -> bool:
    """Return whether another thread is forking now."""
    return any(thread != threading.get_ident() for thread in tuple(_paused))


def _connected(path: Path, use: Use, options: dict[str, Any]) -> Connection:
    try:
        connection: Connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",  # so that SQLite never creates a file
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
    """Raise a `StoreError` if the file was open when this process was forked."""
    file = identity(path)
    if file is None:
        return
    foreign = {use.file for use in tuple(_open.values()) if use.process != os.getpid()}
    if file in _inherited or file in foreign:
        raise StoreError(
            f"{label} was open in the parent process when it forked; start workers by spawn, or "
            "open the store after the fork only (gunicorn: leave out --preload)"
        )


def identity(path: str | Path) -> Identity | None:
    """Return device and inode of a file; None if it does not exist."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None


def _before_fork() -> None:
    """Wait until no thread is inside SQLite; its locks would stay in the child."""
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


def _after_in_child() -> None:
    for use in tuple(_open.values()):
        _inherited.add(use.file)
        # This reference is never given back: freeing the connection would close it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(use.connection()))
    _after_fork()
    _paused.clear()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_in_child
    )
