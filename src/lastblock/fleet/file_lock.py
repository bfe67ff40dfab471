"""The lock of a fleet's file: one fleet at a time has the file open."""

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FAR = 1 << 60
"""The byte that is locked on Windows, where nobody can read a locked byte: one beyond the file."""


class FileLock:
    """A lock of a file, through a handle of its own; it belongs to the process that made it.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    BlockingIOError
        If somebody else has the lock, in this process or another.
    """

    handle = -1

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
        self.handle = os.open(path, flags)
        self._process = os.getpid()
        if not _lock(self.handle):
            os.close(self.handle)
            del self.handle
            raise BlockingIOError(f"{path} is locked")

    def release(self) -> None:
        """Let go of the lock and close the handle.

        A forked process closes its copy of the handle only. The lock ends although such copies may
        still be open.
        """
        handle, self.handle = self.handle, -1
        if handle < 0:
            return
        if os.getpid() == self._process:
            _unlock(handle)
        os.close(handle)

    def __del__(self) -> None:
        self.release()


if sys.platform == "win32":

    def _lock(handle: int) -> bool:
        """Lock the file; return whether nobody else had it."""
        os.lseek(handle, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(handle: int) -> None:
        os.lseek(handle, FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:

    def _lock(handle: int) -> bool:
        """Lock the file; return whether nobody else had it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
