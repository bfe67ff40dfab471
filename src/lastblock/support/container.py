"""The head that every binary file of lastblock begins with.

    8 bytes    magic: what kind of file it is
    4 bytes    version of the format, little-endian
    4 bytes    length of the description
    8 bytes    a number: the length of what follows, or where that begins
    …          description: JSON, UTF-8

Each kind of file adds a checksum of 16 bytes, BLAKE2b. Nothing is pickled, so reading a file never
runs code.
"""

import hashlib
import json
import struct
from typing import Any, NamedTuple

HEAD = struct.Struct("<8sIIQ")
DIGEST_SIZE = 16


class Head(NamedTuple):
    """The numbers of a head."""

    version: int
    description_size: int
    number: int


def encode(about: dict[str, Any]) -> bytes:
    """Return a description as the bytes of a file."""
    return json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()


def make_head(magic: bytes, version: int, description: bytes, number: int) -> bytes:
    """Return the beginning of a file, the description included."""
    return HEAD.pack(magic, version, len(description), number) + description


def read_head(data: bytes, magic: bytes) -> Head | None:
    """Return the numbers at the beginning of a file, or None if it is of another kind."""
    if len(data) < HEAD.size or not data.startswith(magic):
        return None
    _, version, description_size, number = HEAD.unpack_from(data)
    return Head(version, description_size, number)


def digest(data: bytes) -> bytes:
    """Return the checksum of these bytes."""
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()
