"""The file format of a saved bandit.

    8 bytes    magic
    4 bytes    version of the format, little-endian
    4 bytes    length of the description
    8 bytes    length of the record
    …          description: JSON, UTF-8
    …          record: its bytes, little-endian
    16 bytes   BLAKE2b of everything before

The format does not use pickle, so reading a file never runs code.
"""

import base64
import hashlib
import json
import struct
from typing import Any

from lastblock.support.errors import UNREADABLE, StateFileError

MAGIC = b"lastblk\n"
VERSION = 1
_HEAD = struct.Struct("<8sIIQ")
_DIGEST_SIZE = 16


def pack(about: dict[str, Any], record: bytes) -> bytes:
    """Return a description and a record in the format above."""
    description = json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()
    head = _HEAD.pack(MAGIC, VERSION, len(description), len(record))
    body = head + description + record
    return body + _digest(body)


def unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the description and the record that `pack` got, or raise a `StateFileError`."""
    if len(data) < _HEAD.size or not data.startswith(MAGIC):
        raise StateFileError("this is not a lastblock state: give a file that save() wrote")
    _, version, description_size, record_size = _HEAD.unpack_from(data)
    if version > VERSION:
        raise _too_new(version)
    size = _HEAD.size + description_size + record_size + _DIGEST_SIZE
    if len(data) < size:
        raise StateFileError(
            f"the state is truncated: {len(data)} of {size} bytes; restore it from a copy"
        )
    if len(data) > size or _digest(data[:-_DIGEST_SIZE]) != data[-_DIGEST_SIZE:]:
        raise StateFileError("the state is corrupt: its checksum is wrong; restore it from a copy")
    start = _HEAD.size + description_size
    try:
        about = json.loads(data[_HEAD.size : start])
    except UNREADABLE as error:
        raise StateFileError(
            f"the description of the state is not JSON ({error}); restore it from a copy"
        ) from None
    return about, data[start : start + record_size]


def to_text(about: dict[str, Any], record: bytes) -> str:
    """Return JSON with the description, the record in base64, and a checksum of both."""
    return json.dumps(
        {
            "lastblock": VERSION,
            "bandit": about,
            "record": base64.b64encode(record).decode(),
            "checksum": _text_digest(about, record),
        },
        ensure_ascii=False,
    )


def from_text(text: str) -> tuple[dict[str, Any], bytes]:
    """Return the description and the record that `to_text` got, or raise a `StateFileError`."""
    try:
        data = json.loads(text)
    except UNREADABLE as error:
        raise StateFileError(f"the state is not JSON ({error}); restore it from a copy") from None
    if not isinstance(data, dict) or type(data.get("lastblock")) is not int:
        raise StateFileError("this is not a lastblock state: give a text that to_json() made")
    if data["lastblock"] > VERSION:
        raise _too_new(data["lastblock"])
    try:
        about, record = data["bandit"], base64.b64decode(data["record"], validate=True)
        intact = data["checksum"] == _text_digest(about, record)
    except UNREADABLE:
        intact = False
    if not intact:
        raise StateFileError("the state is corrupt: its checksum is wrong; restore it from a copy")
    return about, record


def _text_digest(about: Any, record: bytes) -> str:
    """Return a checksum that does not depend on the order of the keys."""
    canonical = json.dumps([VERSION, about], ensure_ascii=False, sort_keys=True)
    return _digest(canonical.encode() + record).hex()


def _too_new(version: int) -> StateFileError:
    return StateFileError(
        f"the state has format {version}, this lastblock reads up to {VERSION}; "
        "upgrade lastblock to load it"
    )


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_SIZE).digest()
