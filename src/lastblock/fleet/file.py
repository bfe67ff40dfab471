"""The file of a fleet: what `Fleet.save` writes and `Fleet.load` reads.

…          head and description, see `support.container`; its number is the length of the records
…          records, little-endian
16 bytes   BLAKE2b of everything before
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import States
from lastblock.support import files
from lastblock.support.container import DIGEST_SIZE, HEAD, encode, make_head, read_head
from lastblock.support.errors import UNREADABLE, StateFileError
from lastblock.support.parallel import progress_bar

MAGIC = b"lastflt\n"
VERSION = 1
"""The format; docs/reference/file-formats.md says what a later one must do."""

PIECE = 1 << 22
"""The bytes that are read or written at a time."""


def write(path: Path, about: dict[str, Any], states: States) -> None:
    """Write a fleet to a file, which replaces an existing one when it is complete."""
    _check_byte_order()
    records = states.view(np.ndarray).view(np.uint8)
    head = make_head(MAGIC, VERSION, encode(about), records.size)
    pieces: Iterator[Any] = (records[i : i + PIECE].data for i in range(0, records.size, PIECE))
    checksum = hashlib.blake2b(digest_size=DIGEST_SIZE)
    with files.replacing(path) as file, _bar("saving", path, records.size) as bar:
        for piece in chain([head], pieces):
            file.write(piece)
            checksum.update(piece)
            bar.update(len(piece))
        file.write(checksum.digest())


def read(path: Path) -> tuple[dict[str, Any], npt.NDArray[np.uint8]]:
    """Return the description and the records in a file, or raise a `StateFileError`.

    Zeros take no memory: they are not written into the array, which the system gives lazily.
    """
    _check_byte_order()
    with files.opened(path, "give the name of a file that Fleet.save() wrote") as file:
        head = file.read(HEAD.size)
        found = read_head(head, MAGIC)
        if found is None:
            raise StateFileError(
                f"{path} is not a lastblock fleet: give a file that Fleet.save() wrote"
            )
        if found.version > VERSION:
            raise StateFileError(
                f"{path} has format {found.version}, this lastblock reads up to {VERSION}; "
                "upgrade lastblock to load it"
            )
        size = os.fstat(file.fileno()).st_size
        expected = len(head) + found.description_size + found.number + DIGEST_SIZE
        if size != expected:
            raise StateFileError(
                f"{path} is damaged: it has {size} bytes instead of {expected}; "
                "restore it from a copy"
            )
        description = file.read(found.description_size)
        checksum = hashlib.blake2b(head + description, digest_size=DIGEST_SIZE)
        records = _zeros(path, found.number)
        with _bar("loading", path, found.number) as bar:
            for start in range(0, found.number, PIECE):
                data = file.read(min(PIECE, found.number - start))
                checksum.update(data)
                piece = np.frombuffer(data, np.uint8)
                if piece.any():
                    records[start : start + piece.size] = piece
                bar.update(piece.size)
        if checksum.digest() != file.read():
            raise StateFileError(
                f"{path} is damaged: its checksum is wrong; restore it from a copy"
            )
    try:
        about = json.loads(description)
    except UNREADABLE as error:
        raise does_not_fit(path, error) from error
    return about, records


def does_not_fit(path: Path, error: Exception) -> StateFileError:
    """Return the error for an intact file of another version."""
    return StateFileError(
        f"{path} does not fit this version of lastblock: {error}; "
        "load it with the version that wrote it"
    )


def _zeros(path: Path, size: int) -> npt.NDArray[np.uint8]:
    try:
        return np.zeros(size, np.uint8)
    except MemoryError:
        raise MemoryError(f"the records in {path} take {size} bytes, more than there is") from None


def _bar(word: str, path: Path, size: int) -> Any:
    return progress_bar(size, None, unit="B", name=f"{word} {path.name}")


def _check_byte_order() -> None:
    if sys.byteorder != "little":
        raise StateFileError(
            "files of fleets are little-endian and this machine is not; use another machine"
        )
