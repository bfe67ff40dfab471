"""The file of a fleet: a header, then the records as they lie in memory.

    8 bytes    magic
    4 bytes    version of the format, little-endian
    4 bytes    length of the description
    8 bytes    where the records begin, a multiple of 4096
    …          description: JSON, UTF-8
    16 bytes   BLAKE2b of everything before
    …          zeros
    …          records, little-endian

The file is mapped into memory, so records that nobody has touched take no room on the disk, and
what has been written survives the process, though not the machine, before it is flushed. No pickle:
reading a file never runs code.
"""

import errno
import hashlib
import json
import mmap
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from lastblock.support.errors import UNREADABLE, StateFileError

try:
    import fcntl
except ImportError:  # not everywhere
    fcntl = None  # type: ignore[assignment]  # there is none on Windows

MAGIC = b"lastflt\n"
VERSION = 2
"""1: records without seals, which can still be opened."""

PAGE = 4096
LONGEST_DESCRIPTION = 1 << 20
_HEAD = struct.Struct("<8sIIQ")
_DIGEST_SIZE = 16


class FleetFile:
    """A file of a fleet that is open: nobody else can open it until it is closed."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self._lock_held: _Lock | None = None
        self._map: _Map | None = None
        self.version = VERSION
        self.about: dict[str, Any] = {}
        self._offset = 0
        self.written: list[tuple[int, int]] = []
        """The records that have been written, from and to: the others are holes in the file."""

    @classmethod
    def create(
        cls, path: Path, about: dict[str, Any], nbytes: int, *, reserve: bool
    ) -> "FleetFile":
        """A new file with room for so many bytes of records, all of them zero."""
        _check_byte_order()
        self = cls(path, _opened(path, "x+b"))
        try:
            self._lock()
            description = json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()
            if len(description) > LONGEST_DESCRIPTION:
                raise ValueError(f"the parameters take {len(description)} bytes, too many to keep")
            needed = _HEAD.size + len(description) + _DIGEST_SIZE
            self._offset = -(-needed // PAGE) * PAGE
            head = _HEAD.pack(MAGIC, VERSION, len(description), self._offset) + description
            self._extend(head + _digest(head), self._offset + nbytes, reserve)
            self.about = about
        except BaseException:
            self.close()
            path.unlink()
            raise
        return self

    def _extend(self, head: bytes, nbytes: int, reserve: bool) -> None:
        try:
            self._file.write(head)
            self._file.truncate(nbytes)
            self._file.flush()
            if reserve:
                os.posix_fallocate(self._file.fileno(), 0, nbytes)
            os.fsync(self._file.fileno())
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "too many"
            raise _as_told(
                error,
                f"{self.path} cannot have {nbytes} bytes ({reason}); "
                "make room, choose another disk or a smaller fleet",
            ) from None

    @classmethod
    def open(cls, path: Path) -> "FleetFile":
        """A file that `create` made, or a `StateFileError` that says what is wrong with it."""
        _check_byte_order()
        self = cls(path, _opened(path, "r+b"))
        try:
            self._lock()
            self._read_header()
        except BaseException:
            self.close()
            raise
        return self

    def _lock(self) -> None:
        """Take the lock, by a handle that is not the map's: a forked process can let go of it."""
        if fcntl is None:
            return
        self._lock_held = _Lock(self.path)
        try:
            fcntl.flock(self._lock_held.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateFileError(
                f"{self.path} is open elsewhere, in this process or another; close it there"
            ) from None
        ours, locked = os.fstat(self._file.fileno()), os.fstat(self._lock_held.handle)
        if not os.path.samestat(ours, locked):
            raise StateFileError(f"{self.path} was replaced while it was opened; open it again")

    def _read_header(self) -> None:
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size or not head.startswith(MAGIC):
            raise StateFileError(
                f"{self.path} is not a lastblock fleet: give a file that Fleet.create() made"
            )
        _, self.version, length, self._offset = _HEAD.unpack(head)
        if self.version > VERSION:
            raise StateFileError(
                f"{self.path} has format {self.version}, this lastblock reads up to {VERSION}; "
                "upgrade lastblock to open it"
            )
        description = self._file.read(min(length, LONGEST_DESCRIPTION))
        digest = self._file.read(_DIGEST_SIZE)
        if len(digest) < _DIGEST_SIZE:
            raise StateFileError(f"{self.path} is cut off in its header; restore it from a copy")
        if _digest(head + description) != digest:
            raise StateFileError(
                f"the header of {self.path} is corrupt: its checksum is wrong; "
                "restore it from a copy"
            )
        needed = len(head) + len(description) + len(digest)
        try:
            self.about = json.loads(description)
        except UNREADABLE as error:
            raise self._impossible(f"its description is not JSON ({error})") from None
        if not isinstance(self.about, dict):
            raise self._impossible("its description is not a list of names and values")
        if self.version < 1 or self._offset != -(-needed // PAGE) * PAGE:
            raise self._impossible("its numbers do not fit together")

    def _impossible(self, what: str) -> StateFileError:
        return StateFileError(
            f"the header of {self.path} is not one that Fleet.create() wrote: {what}; "
            "restore it from a copy"
        )

    def records(self, dtype: np.dtype[Any], size: int) -> npt.NDArray[Any]:
        """The records, mapped into memory."""
        expected = self._offset + size * dtype.itemsize
        found = os.fstat(self._file.fileno()).st_size
        if found < expected:
            raise StateFileError(
                f"{self.path} is truncated: {found} of {expected} bytes; restore it from a copy"
            )
        if found > expected:
            raise StateFileError(
                f"{self.path} is corrupt: {found} bytes instead of {expected}; "
                "restore it from a copy"
            )
        self.written = _written(self._file, self._offset, dtype.itemsize, size)
        try:
            self._map = _Map(self._file.fileno(), expected)
        except OSError as error:
            raise MemoryError(
                f"{self.path} has {expected} bytes, which do not fit into memory "
                f"({error.strerror}); give the process more address space"
            ) from None
        self._file.close()  # the map has a handle of its own
        self._map.lock = self._lock_held
        return np.frombuffer(self._map, dtype, count=size, offset=self._offset)

    def flush(self) -> None:
        """Wait until everything written so far is on the disk."""
        if self._map is not None:
            self._map.flush()

    def close(self) -> None:
        """Let go of the file. Records that are still in use somewhere keep it, and its lock."""
        with suppress(BufferError):
            if self._map is not None:
                self._map.close()
            if self._lock_held is not None:
                self._lock_held.release()
        self._map = self._lock_held = None
        self._file.close()

    def abandon(self) -> None:
        """Let go of the file in a forked process: the parent keeps its lock, whatever happens."""
        if self._lock_held is not None:
            self._lock_held.release()
        self.close()


class _Lock:
    """A handle of its own for the lock of a file: the lock ends with the last copy of it."""

    def __init__(self, path: Path) -> None:
        self.handle = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))

    def release(self) -> None:
        """Close it; a forked process closes its copy only."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)

    def __del__(self) -> None:
        self.release()


class _Map(mmap.mmap):
    """A mapped file that keeps its lock as long as something uses the memory."""

    lock: _Lock | None = None


def _opened(path: Path, mode: str) -> BinaryIO:
    """The file, or an error of the same kind that says what to do about it."""
    try:
        return path.open(mode)  # type: ignore[return-value]  # the mode is a binary one
    except OSError as error:
        raise _as_told(error, f"{path} {_problem(path, error)}") from None


def _as_told(error: OSError | OverflowError, message: str) -> OSError:
    """An error of the same kind that says what to do."""
    told = type(error)(message) if isinstance(error, OSError) else OSError(message)
    told.errno = getattr(error, "errno", errno.EFBIG)
    return told


def _problem(path: Path, error: OSError) -> str:
    match error:
        case FileExistsError():
            return "exists; open it with Fleet.open(), or give another name"
        case FileNotFoundError() if path.parent.is_dir():
            return "is not there; make a fleet with Fleet.create()"
        case FileNotFoundError() | NotADirectoryError():
            return f"cannot be, since {path.parent} is no folder; make it first"
        case IsADirectoryError():
            return "is a folder; give the name of a file"
        case PermissionError():
            return "may not be written, which a fleet must; change its permissions or copy it"
    return f"cannot be opened ({error.strerror}); give the name of a file"


def _written(file: BinaryIO, offset: int, itemsize: int, size: int) -> list[tuple[int, int]]:
    """The records that lie, at least in part, in what has been written of a file with holes."""
    if not hasattr(os, "SEEK_DATA"):
        return [(0, size)]
    found: list[tuple[int, int]] = []
    end = offset
    with suppress(OSError):  # there is nothing more
        while True:
            start = max(offset, os.lseek(file.fileno(), end, os.SEEK_DATA))
            end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            first, last = (start - offset) // itemsize, -(-(end - offset) // itemsize)
            if found and first <= found[-1][1]:
                first = found.pop()[0]
            found.append((first, min(last, size)))
    return found


def _check_byte_order() -> None:
    if sys.byteorder != "little":
        raise StateFileError("files of fleets are little-endian, this machine is not")


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest()
