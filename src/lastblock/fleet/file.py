"""The file of a fleet: a header, then the records as they lie in memory.

    …          head and description, see `support.container`; its number is where the records
               begin, a multiple of 4096
    16 bytes   BLAKE2b of everything before
    …          zeros
    …          records, little-endian

The file is mapped into memory. Records that nobody has asked take no space on the disk. Before a
flush, changes survive a crash of the process, but not of the machine. The format does not use
pickle, so reading a file never runs code.
"""

import errno
import json
import mmap
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from lastblock.fleet.file_lock import FileLock
from lastblock.support.container import DIGEST_SIZE, HEAD, digest, encode, make_head, read_head
from lastblock.support.errors import UNREADABLE, StateFileError

MAGIC = b"lastflt\n"
VERSION = 2
"""The format. Format 1, whose records have no seals, can still be opened."""

PAGE = 4096
LONGEST_DESCRIPTION = 1 << 20
_ZEROS = memoryview(bytes(1 << 22))


class FleetFile:
    """The open file of a fleet; nobody else can open it until it is closed."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self._lock_held: FileLock | None = None
        self._map: _Map | None = None
        self.version = VERSION
        self.about: dict[str, Any] = {}
        self._offset = 0
        self.written: list[tuple[int, int]] = []
        """The ranges of records that have been written; the others are holes in the file."""

    @classmethod
    def create(
        cls, path: Path, about: dict[str, Any], nbytes: int, *, reserve: bool
    ) -> "FleetFile":
        """Create a file with `nbytes` bytes of records, all of them zero."""
        _check_byte_order()
        self = cls(path, _opened(path, "x+b"))
        try:
            self._lock()
            description = encode(about)
            if len(description) > LONGEST_DESCRIPTION:
                raise ValueError(
                    f"the policy's parameters take {len(description)} bytes, but a file holds at "
                    f"most {LONGEST_DESCRIPTION}; choose a policy with fewer of them"
                )
            needed = HEAD.size + len(description) + DIGEST_SIZE
            self._offset = -(-needed // PAGE) * PAGE
            head = make_head(MAGIC, VERSION, description, self._offset)
            self._extend(head + digest(head), self._offset + nbytes, reserve)
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
                _reserve(self._file, len(head), nbytes)
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
        """Open a file that `create` made, or raise a `StateFileError` that says what is wrong."""
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
        """Lock the file through a handle of its own, which a forked process can close."""
        try:
            self._lock_held = FileLock(self.path)
        except BlockingIOError:
            raise StateFileError(
                f"{self.path} is open elsewhere, in this process or another; close it there"
            ) from None
        ours, locked = os.fstat(self._file.fileno()), os.fstat(self._lock_held.handle)
        if not os.path.samestat(ours, locked):
            raise StateFileError(f"{self.path} was replaced while it was opened; open it again")

    def _read_header(self) -> None:
        head = self._file.read(HEAD.size)
        found = read_head(head, MAGIC)
        if found is None:
            raise StateFileError(
                f"{self.path} is not a lastblock fleet: give a file that Fleet.create() made"
            )
        self.version, length, self._offset = found
        if self.version > VERSION:
            raise StateFileError(
                f"{self.path} has format {self.version}, this lastblock reads up to {VERSION}; "
                "upgrade lastblock to open it"
            )
        description = self._file.read(min(length, LONGEST_DESCRIPTION))
        checksum = self._file.read(DIGEST_SIZE)
        if len(checksum) < DIGEST_SIZE:
            raise StateFileError(f"{self.path} is cut off in its header; restore it from a copy")
        if digest(head + description) != checksum:
            raise StateFileError(
                f"the header of {self.path} is corrupt: its checksum is wrong; "
                "restore it from a copy"
            )
        needed = len(head) + len(description) + len(checksum)
        try:
            self.about = json.loads(description)
        except UNREADABLE as error:
            raise self._impossible(f"its description is not JSON ({error})") from None
        if not isinstance(self.about, dict):
            raise self._impossible("its description is not a JSON object")
        if self.version < 1 or self._offset != -(-needed // PAGE) * PAGE:
            raise self._impossible("its version and lengths do not fit together")

    def _impossible(self, what: str) -> StateFileError:
        return StateFileError(
            f"the header of {self.path} is not one that Fleet.create() wrote: {what}; "
            "restore it from a copy"
        )

    def records(self, dtype: np.dtype[Any], size: int) -> npt.NDArray[Any]:
        """Return the records, mapped into memory."""
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
        """Close the file; while something still uses its records, it and its lock stay open."""
        with suppress(BufferError):
            if self._map is not None:
                self._map.close()
            if self._lock_held is not None:
                self._lock_held.release()
        self._map = self._lock_held = None
        self._file.close()

    def abandon(self) -> None:
        """Close the file in a forked process; the parent keeps its lock in any case."""
        if self._lock_held is not None:
            self._lock_held.release()
        self.close()


class _Map(mmap.mmap):
    """A mapped file that keeps its lock as long as something uses the memory."""

    lock: FileLock | None = None


def _opened(path: Path, mode: str) -> BinaryIO:
    """Open the file, or raise an error of the same type that says what to do."""
    try:
        return path.open(mode)  # type: ignore[return-value]  # the mode is a binary one
    except OSError as error:
        raise _as_told(error, f"{path} {_problem(path, error)}") from None


def _reserve(file: BinaryIO, first: int, nbytes: int) -> None:
    """Take the bytes from `first` on from the disk, so that it cannot be full later."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, nbytes)
        return
    file.seek(first)  # macOS and Windows can only write them
    for begin in range(first, nbytes, len(_ZEROS)):
        file.write(_ZEROS[: nbytes - begin])
    file.flush()


def _as_told(error: OSError | OverflowError, message: str) -> OSError:
    """Return an error of the same type with this message."""
    told = type(error)(message) if isinstance(error, OSError) else OSError(message)
    told.errno = getattr(error, "errno", errno.EFBIG)
    return told


def _problem(path: Path, error: OSError) -> str:
    match error:
        case FileExistsError():
            return "exists; open it with Fleet.open(), or give another name"
        case FileNotFoundError() if path.parent.is_dir():
            return "does not exist; make a fleet with Fleet.create()"
        case FileNotFoundError() | NotADirectoryError():
            return f"cannot be created or opened: {path.parent} is not a folder; make it first"
        case IsADirectoryError():
            return "is a folder; give the name of a file"
        case PermissionError():
            return "is not writable, but a fleet must write; change its permissions or copy it"
    return f"cannot be opened ({error.strerror}); give the name of a file"


def _written(file: BinaryIO, offset: int, itemsize: int, size: int) -> list[tuple[int, int]]:
    """Return ranges of the records that have been written, at least in part."""
    if not hasattr(os, "SEEK_DATA"):
        return [(0, size)]
    found: list[tuple[int, int]] = []
    end = offset
    with suppress(OSError):  # raised when there are no more data
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
        raise StateFileError(
            "files of fleets are little-endian and this machine is not; use another machine"
        )
