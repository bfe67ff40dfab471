"""Who owns which bandit: locks of the operating system, which end with their process.

They are locks of bytes of the database file itself, so that they hold by whatever name it is
opened, far behind its end and all that SQLite locks. A bandit's number is the place of the byte
that its owner locks. Place 0 is for the file as a whole: whoever sets it up.

Closing any handle of a file gives up all locks that SQLite has on it in this process. So a handle
is kept for the next owner while anybody else here has the file open.
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

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FAR = 1 << 60
"""The place of the first byte. SQLite's files end before 2⁴⁸."""

NAMES = 1 << 61
"""The place of the first byte that stands for a name."""

_FLOCK = struct.Struct("@hhqqi")

_guard = threading.RLock()  # a signal's handler, or the end of a store, may come in between
_using: set[int] = set()
"""Handles of the owners in this process."""

_parked: dict[int, Identity] = {}
"""Handles that nobody uses and that cannot be closed yet."""

_held: dict[tuple[Identity, int], int] = {}
"""By which handle, where the system knows locks of processes only."""


class Owners:
    """The locks of one store on a file. If there is none, an empty one is made, or not."""

    def __init__(self, path: Path, *, make: bool = True) -> None:
        self._mine: set[int] = set()
        self._file = -1
        with _guard:
            self._file, self.identity = _handle(path, make)
            _using.add(self._file)

    @property
    def names(self) -> int:
        """How many names the file has in its folders."""
        return os.fstat(self._file).st_nlink

    def share_name(self, name: str) -> bool:
        """Note that the file is open by this name; False if somebody has it by another one.

        The caller holds place 0. A name is a byte that all who use it share.
        """
        byte = NAMES + zlib.crc32(name.encode("utf-8", "surrogateescape"))
        others = ((NAMES, byte - NAMES), (byte + 1, NAMES + (1 << 32) - byte - 1))
        if not all(_is_free(self._file, first, size) for first, size in others if size):
            return False
        _share(self._file, byte)
        return True

    def take(self, place: int, *, wait: bool = False) -> bool:
        """Lock a place; False if somebody has it."""
        self._mine.add(place)  # first: an interrupt may follow the lock at once
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
        """Unlock it, if it is locked here. After an interrupt it can be done again."""
        if place in self._mine:
            _unlock(self._file, self.identity, place)
            self._mine.discard(place)

    def close(self) -> None:
        """Unlock all."""
        if self._file >= 0:
            for place in tuple(self._mine):
                self.give(place)
            _unshare(self._file)
        self.abandon()

    def abandon(self) -> None:
        """Let go of the file: what is locked by now stays so until it is closed."""
        file, self._file = self._file, -1  # never twice: the number may be another file's by then
        if file >= 0:
            with _guard:
                _using.discard(file)
                _parked[file] = self.identity
                _close_parked()


def _handle(path: Path, make: bool) -> tuple[int, Identity]:
    """A handle of the file, and which file that is."""
    with suppress(FileNotFoundError):
        found = path.stat()
        for file, identity in _parked.items():
            if identity == (found.st_dev, found.st_ino):
                del _parked[file]
                return file, identity
    file = os.open(path, os.O_RDWR | (os.O_CREAT if make else 0), 0o666)
    opened = os.fstat(file)
    return file, (opened.st_dev, opened.st_ino)


def _close_parked() -> None:
    """Close the handles of files that nobody has open here."""
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
    """All files that this process has open, but for parked handles; None if it cannot know."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            busy = set()
            for name in os.listdir(folder):
                if int(name) not in _parked:
                    with suppress(OSError):  # closed meanwhile
                        found = os.fstat(int(name))
                        busy.add((found.st_dev, found.st_ino))
            return busy
    return None


def _after_in_child() -> None:
    """Locks belong to open files, which a fork shares. The parent's end must be the end of them."""
    global _guard  # noqa: PLW0603  # that of the parent may be held for ever
    _guard = threading.RLock()
    for file in (*_using, *_parked):
        os.close(file)  # nobody here has locks to lose
    _using.clear()
    _parked.clear()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)


def _is_free(file: int, first: int, size: int) -> bool:
    """Whether no other handle has a lock there. Where locks cannot be looked at, nobody knows."""
    return True


def _share(file: int, byte: int) -> None:
    """Lock a byte together with others."""


def _unshare(file: int) -> None:
    """Unlock all such bytes."""


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

elif hasattr(fcntl, "F_OFD_SETLK"):  # the lock of an open file, not of a process

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
        names = _FLOCK.pack(fcntl.F_UNLCK, os.SEEK_SET, NAMES, 1 << 32, 0)
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
        if _held.get((identity, place)) == file:  # else it is another's
            fcntl.lockf(file, fcntl.LOCK_UN, 1, FAR + place)
            del _held[identity, place]
