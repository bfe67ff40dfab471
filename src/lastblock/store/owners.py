"""Which process owns which bandit: locks of the operating system, which end with their process.

An owner locks a byte of the database file itself, so the lock holds under every name of the file.
The bytes lie far beyond the file's end and everything that SQLite locks. The number of a bandit is
the place of its byte; place 0 stands for the whole file, and is locked while a store sets it up.

Closing any handle of a file releases all locks that SQLite holds on it in this process. So as long
as anything else in this process has the file open, we keep a handle for the next owner.
"""

import os
import struct
import sys
import threading
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from lastblock.store.sqlite_connections import Identity
from lastblock.support.files import open_handles

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FAR = 1 << 60
"""The position of place 0 in the file. SQLite's files end before 2⁴⁸."""

NAMES = 1 << 61
"""The position of the first byte that stands for a file name."""

SIDES = NAMES + (1 << 32)
"""The position of the first byte that stands for the two files that SQLite keeps beside it."""

_FLOCK = struct.Struct("@hhqqi")

_guard = threading.RLock()  # re-entrant: a signal handler or finaliser may run in between
_using: set[int] = set()
"""The handles that owners in this process use."""

_parked: dict[int, Identity] = {}
"""Handles that nobody uses, but that cannot be closed yet."""

_held: dict[tuple[Identity, int], int] = {}
"""Which handle holds each lock, on systems where locks belong to processes and not to handles."""


class Owners:
    """The locks of one store on a file.

    Parameters
    ----------
    path
        The file.
    make
        Whether to create an empty file if there is none.
    """

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self._mine: set[int] = set()
        self._file = -1
        with _guard:
            self._file, self.identity = _handle(path, make)
            _using.add(self._file)

    @property
    def names(self) -> int:
        """The number of names (hard links) of the file."""
        return os.fstat(self._file).st_nlink

    def share_name(self, name: str, start: int = NAMES) -> bool:
        """Note that the file is open under this name; return False if it is open under another one.

        The caller holds place 0. All who open the file under one name share the lock of one byte.
        """
        byte = start + zlib.crc32(name.encode("utf-8", "surrogateescape"))
        others = ((start, byte - start), (byte + 1, start + (1 << 32) - byte - 1))
        if not all(_is_free(self._file, first, size) for first, size in others if size):
            return False
        _share(self._file, byte)
        return True

    def is_free(self, place: int) -> bool:
        """Return whether nobody else has locked a place; True on systems that cannot tell."""
        return _is_free(self._file, FAR + place, 1)

    def take(self, place: int, *, wait: bool = False) -> bool:
        """Lock a place; return False if somebody else has locked it."""
        self._mine.add(place)  # before we lock, since an interrupt may come right afterwards
        try:
            if _lock(self._file, self.identity, place, wait):
                return True
        except BaseException:
            _unlock(self._file, self.identity, place)
            self._mine.discard(place)
            raise
        self._mine.discard(place)
        return False

    def give(self, place: int) -> None:
        """Unlock a place if we have locked it.

        If an interrupt stops this, the place still counts as locked; call this again.
        """
        if place in self._mine:
            _unlock(self._file, self.identity, place)
            self._mine.discard(place)

    def close(self) -> None:
        """Unlock all places and give the handle up."""
        if self._file >= 0:
            for place in tuple(self._mine):
                self.give(place)
            _unshare(self._file)
        self.abandon()

    def abandon(self) -> None:
        """Give the handle up; its locks last until the handle is closed."""
        if self._file >= 0:
            with _guard:
                # Never close twice: the number may be reused by then. No interrupt can come between
                # these two, or the handle would stay open for ever.
                _parked[self._file], file, self._file = self.identity, self._file, -1
                _using.discard(file)
                _close_parked()


def _handle(path: Path, make: bool) -> tuple[int, Identity]:
    """Return a handle of the file, and the file's identity."""
    with suppress(FileNotFoundError):
        found = path.stat()
        for file, identity in _parked.items():
            if identity == (found.st_dev, found.st_ino):
                del _parked[file]
                return file, identity
    # Windows would turn line ends without O_BINARY; nothing is read or written here, but no
    # handle of a database should do so.
    binary = getattr(os, "O_BINARY", 0)
    # SQLite gives the files beside it the same mode.
    file = os.open(path, os.O_RDWR | binary | (os.O_CREAT if make else 0), 0o600)
    opened = os.fstat(file)
    return file, (opened.st_dev, opened.st_ino)


def _close_parked() -> None:
    """Close the parked handles of files that nothing else in this process has open."""
    if not _parked:
        return
    busy = _open_files() if sys.platform != "win32" else set()
    if busy is None:
        return
    for file, identity in list(_parked.items()):
        if identity not in busy:
            del _parked[file]
            os.close(file)


def _open_files() -> "set[Identity] | None":
    """Return all files that this process has open, except parked handles; None if unknown."""
    handles = open_handles()
    if handles is None:
        return None
    busy = set()
    for handle in handles:
        if handle not in _parked:
            with suppress(OSError):  # it has been closed meanwhile
                found = os.fstat(handle)
                busy.add((found.st_dev, found.st_ino))
    return busy


def _after_in_child() -> None:
    """Close the handles that a fork shares with its parent; the locks must end with the parent."""
    global _guard  # noqa: PLW0603  # a thread of the parent may hold the old one for ever
    _guard = threading.RLock()
    for file in (*_using, *_parked):
        os.close(file)  # the child holds no SQLite locks that this could release
    _using.clear()
    _parked.clear()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)


def _is_free(file: int, first: int, size: int) -> bool:
    """Return whether no other handle locks these bytes; True on systems that cannot tell."""
    return True


def _share(file: int, byte: int) -> None:
    """Take a shared lock of a byte, on systems that have such locks."""


def _unshare(file: int) -> None:
    """Release all shared locks."""


if sys.platform == "win32":

    def _lock(file: int, identity: Identity, place: int, wait: bool) -> bool:
        os.lseek(file, FAR + place, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: int, identity: Identity, place: int) -> None:
        os.lseek(file, FAR + place, os.SEEK_SET)
        with suppress(OSError):  # it was not locked
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

elif hasattr(fcntl, "F_OFD_SETLK"):  # locks that belong to a handle, not to a process

    def _lock(file: int, identity: Identity, place: int, wait: bool) -> bool:
        command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
        return _control(file, command, fcntl.F_WRLCK, place)

    def _unlock(file: int, identity: Identity, place: int) -> None:
        _control(file, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, place)

    def _control(file: int, command: int, kind: int, place: int) -> bool:
        try:
            fcntl.fcntl(file, command, _FLOCK.pack(kind, os.SEEK_SET, FAR + place, 1, 0))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _is_free(file: int, first: int, size: int) -> bool:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, first, size, 0)
        found = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))
        return bool(found[0] == fcntl.F_UNLCK)

    def _share(file: int, byte: int) -> None:
        wanted = _FLOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, byte, 1, 0)
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, wanted)

    def _unshare(file: int) -> None:
        names = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, NAMES, 1 << 33, 0)
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, names)

else:

    def _lock(file: int, identity: Identity, place: int, wait: bool) -> bool:
        if _held.setdefault((identity, place), file) != file:
            return False
        flags: Any = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
        try:
            fcntl.lockf(file, flags, 1, FAR + place)
        except (BlockingIOError, PermissionError):
            del _held[identity, place]
            return False
        return True

    def _unlock(file: int, identity: Identity, place: int) -> None:
        if _held.get((identity, place)) == file:  # otherwise another store here has locked it
            fcntl.lockf(file, fcntl.LOCK_UN, 1, FAR + place)
            del _held[identity, place]
