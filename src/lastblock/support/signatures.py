"""Signatures of messages that a service sends, so that a receiver knows who sent them, and when."""

import hashlib
import hmac
import time

HEADER = "Lastblock-Signature"
"""The header with the signature: ``t=<seconds since 1970>,v1=<hexadecimal digits>``."""


def sign(secret: str, body: bytes, seconds: int) -> str:
    """Return the value of the header for a body that is sent now.

    Parameters
    ----------
    secret
        What sender and receiver know, and nobody else.
    body
        The body of the message.
    seconds
        The time, in seconds since 1970.
    """
    return f"t={seconds},v1={_digest(secret, body, seconds)}"


def is_signed(secret: str, header: str, body: bytes, *, tolerance: float = 300.0) -> bool:
    """Return whether a message comes from who knows the secret, and is not an old one.

    Parameters
    ----------
    secret
        What sender and receiver know.
    header
        The value of the header ``Lastblock-Signature``.
    body
        The body, byte by byte as it came.
    tolerance
        How many seconds old the signature may be, and how far the two clocks may differ.
    """
    fields = dict(part.partition("=")[::2] for part in header.split(","))
    text = fields.get("t", "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        return False
    if abs(time.time() - int(text)) > tolerance:
        return False
    given = fields.get("v1", "").encode("utf-8", "replace")
    return hmac.compare_digest(given, _digest(secret, body, int(text)).encode())


def _digest(secret: str, body: bytes, seconds: int) -> str:
    return hmac.new(secret.encode(), b"%d.%b" % (seconds, body), hashlib.sha256).hexdigest()
