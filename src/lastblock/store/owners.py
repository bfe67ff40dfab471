"""Who owns which bandit: locks of the operating system, which end with their process.

One file beside the database; a bandit's number is the place of the byte that its owner locks, and
eight times that the place where its process is noted. Place 0 is for the file itself: whoever sets
it up. (Locks in the database itself would be in SQLite's way: closing any handle of a file gives up
all locks that a process has on it.)
"""

import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PROCESS = struct.Struct("<q")
_FLOCK = struct.Struct("@hhqqi")

_held: dict[tuple[str, int], int] = {}
"""By which file of this process, where the system knows locks of processes only."""


class Owners:
    """The locks of one store."""

    def __init__(self, path: Path) -> None:
        self._path = str(path.resolve())
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        self._mine: set[int] = set()

    def take(self, place: int, *, wait: bool = False) -> int | None:
        """Lock a place; if somebody has it, the number of that process (0 if unknown)."""
        self._mine.add(place)  # first: an interrupt may follow the lock at once
        try:
            if _lock(self._file, self._path, place, wait):
                self._note(place, os.getpid())
                return None
        except BaseException:
            _unlock(self._file, self._path, place)
            self._mine.discard(place)
            raise
        self._mine.discard(place)
        return self._process(place)

    def give(self, place: int) -> None:
        """Unlock it, if it is locked here. After an interrupt it can be done again."""
        if place in self._mine:
            self._note(place, 0)
            _unlock(self._file, self._path, place)
            self._mine.discard(place)

    def close(self) -> None:
        """Unlock all."""
        for place in tuple(self._mine):
            self.give(place)
        self.abandon()

    def abandon(self) -> None:
        """Close the file; another process that shares it keeps the locks."""
        file, self._file = self._file, -1  # never twice: the number may be another file's by then
        if file >= 0:
            os.close(file)

    def _note(self, place: int, process: int) -> None:
        with suppress(OSError):  # on a full disk nobody is told who it is
            os.lseek(self._file, (1 + place) * _PROCESS.size, os.SEEK_SET)
            os.write(self._file, _PROCESS.pack(process))

    def _process(self, place: int) -> int:
        with suppress(OSError, struct.error):
            os.lseek(self._file, (1 + place) * _PROCESS.size, os.SEEK_SET)
            return int(_PROCESS.unpack(os.read(self._file, _PROCESS.size))[0])
        return 0


if sys.platform == "win32":
    _FAR = 1 << 40  # locked bytes cannot be read there

    def _lock(file: int, path: str, place: int, wait: bool) -> bool:
        os.lseek(file, _FAR + place, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: int, path: str, place: int) -> None:
        os.lseek(file, _FAR + place, os.SEEK_SET)
        with suppress(OSError):  # it was not locked
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

elif hasattr(fcntl, "F_OFD_SETLK"):  # the lock of an open file, not of a process

    def _lock(file: int, path: str, place: int, wait: bool) -> bool:
        command = fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK
        return _control(file, command, fcntl.F_WRLCK, place)

    def _unlock(file: int, path: str, place: int) -> None:
        _control(file, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, place)

    def _control(file: int, command: int, kind: int, place: int) -> bool:
        try:
            fcntl.fcntl(file, command, _FLOCK.pack(kind, os.SEEK_SET, place, 1, 0))
        except (BlockingIOError, PermissionError):
            return False
        return True

else:

    def _lock(file: int, path: str, place: int, wait: bool) -> bool:
        if _held.setdefault((path, place), file) != file:
            return False
        flags: Any = fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB
        try:
            fcntl.lockf(file, flags, 1, place)
        except (BlockingIOError, PermissionError):
            del _held[path, place]
            return False
        return True

    def _unlock(file: int, path: str, place: int) -> None:
        if _held.get((path, place)) == file:  # else it is another's
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
            del _held[path, place]
