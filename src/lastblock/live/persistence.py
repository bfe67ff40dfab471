"""The file format of a saved bandit.

…          head and description, see `support.container`; its number is the length of the record
…          record: its bytes, little-endian
16 bytes   BLAKE2b of everything before
"""

import base64
import json
from typing import Any

from lastblock.support.container import DIGEST_SIZE, HEAD, digest, encode, make_head, read_head
from lastblock.support.errors import UNREADABLE, StateFileError, short

MAGIC = b"lastblk\n"
VERSION = 1
"""The format; docs/reference/file-formats.md says what a later one must do."""


def pack(about: dict[str, Any], record: bytes) -> bytes:
    """Return a description and a record in the format above."""
    body = make_head(MAGIC, VERSION, encode(about), len(record)) + record
    return body + digest(body)


def unpack(data: Any) -> tuple[dict[str, Any], bytes]:
    """Return the description and the record that `pack` got, or raise a `StateFileError`."""
    data = _as_bytes(data)
    head = read_head(data, MAGIC)
    if head is None:
        raise StateFileError("this is not a lastblock state: give a file that save() wrote")
    version, description_size, record_size = head
    _check_version(version)
    size = HEAD.size + description_size + record_size + DIGEST_SIZE
    if len(data) < size:
        raise StateFileError(
            f"the state is truncated: {len(data)} of {size} bytes; restore it from a copy"
        )
    if len(data) > size or digest(data[:-DIGEST_SIZE]) != data[-DIGEST_SIZE:]:
        raise StateFileError("the state is corrupt: its checksum is wrong; restore it from a copy")
    start = HEAD.size + description_size
    try:
        about = json.loads(data[HEAD.size : start])
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
    _check_version(data["lastblock"])
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
    return digest(canonical.encode() + record).hex()


def _check_version(version: int) -> None:
    if version > VERSION:
        raise StateFileError(
            f"the state has format {version}, this lastblock reads up to {VERSION}; "
            "upgrade lastblock to load it"
        )


def _as_bytes(data: Any) -> bytes:
    """Return the bytes of any buffer; `bytes` alone would take a number for a length."""
    if isinstance(data, bytes):
        return data
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise StateFileError(
            f"{short(data)} is not bytes; give what to_bytes() returned, or text to from_json()"
        ) from None
