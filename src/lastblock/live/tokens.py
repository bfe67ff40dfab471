"""Tokens: short texts that name a decision of a store, and that nobody else can make.

A token is 27 bytes in base64 for URLs, which is 36 characters:

1 byte     version
4 bytes    the store: a digest of its secret
4 bytes    the number of the bandit in the store, which is never used again
7 bytes    the id of the decision
11 bytes   BLAKE2b of the bytes before, keyed with the secret
"""

import base64
import binascii
import hmac
import re
import struct
from hashlib import blake2b
from typing import Any

from lastblock.support.errors import TokenError, short

VERSION = 1
LENGTH = 36
SEEN = 16_384
"""How many tokens that were checked are remembered: whoever takes a reward reads its token several
times, to find the bandit, to check everything first, and to tell it."""

_HEAD = struct.Struct(">B4sI")
_ID = 7
_CHECK = 11
_FOR_URLS = bytes.maketrans(b"+/", b"-_")
_FORM = re.compile(rf"[A-Za-z0-9_-]{{{LENGTH}}}", re.ASCII)


class TokenMaker:
    """Makes and reads the tokens of one store.

    Parameters
    ----------
    secret
        The secret of the store.
    label
        The name of the store in messages.
    """

    def __init__(self, secret: bytes, label: str) -> None:
        self._label = label
        self._seen: dict[str, tuple[int, int]] = {}  # tokens that were checked, and what they say
        self._store = blake2b(secret, digest_size=4, person=b"lastblock store").digest()
        person = b"lastblock token"
        self._keyed = blake2b(key=secret, digest_size=_CHECK, person=person).copy  # quick to copy

    def __repr__(self) -> str:
        return f"<tokens of {self._label}>"  # without the secret

    def head(self, bandit: int) -> bytes:
        """Return the beginning of all tokens of a bandit."""
        return _HEAD.pack(VERSION, self._store, bandit)

    def make(self, head: bytes, id: int) -> str:
        """Return the token of a decision, of the bandit with this `head`."""
        body = head + id.to_bytes(_ID, "big")
        check = self._keyed()  # here and not in `_check`, since a service makes millions of tokens
        check.update(body)
        plain = binascii.b2a_base64(body + check.digest(), newline=False)
        return plain.translate(_FOR_URLS).decode()

    def _check(self, body: bytes) -> bytes:
        check = self._keyed()
        check.update(body)
        return check.digest()

    def read(self, token: Any) -> tuple[int, int]:
        """Return the number of the bandit and the id of the decision.

        Raises
        ------
        TokenError
            If the token was not made by this store.
        """
        if type(token) is str:
            found = self._seen.get(token)
            if found is not None:
                return found
        made = self._read(token)
        if len(self._seen) >= SEEN:
            self._seen.clear()
        self._seen[token] = made
        return made

    def _read(self, token: Any) -> tuple[int, int]:
        if not isinstance(token, str) or not _FORM.fullmatch(token):
            raise _malformed(token)
        data = base64.urlsafe_b64decode(token)
        body, check = data[:-_CHECK], data[-_CHECK:]
        version, store, bandit = _HEAD.unpack_from(body)
        if version != VERSION:
            raise TokenError(f"{short(token)} is not a token; give a decision's token as it was")
        if store != self._store:
            raise TokenError(
                f"the token {short(token)} is of another store than {self._label}; "
                "give it to the store that made it"
            )
        if not hmac.compare_digest(check, self._check(body)):
            raise TokenError(
                f"the token {short(token)} is damaged or forged: its check is wrong; "
                "give a decision's token as it was"
            )
        return bandit, int.from_bytes(body[_HEAD.size :], "big")


class BanditTokens:
    """Makes and reads the tokens of one bandit in a store.

    Parameters
    ----------
    maker
        The store's.
    bandit
        The number of the bandit in the store.
    name
        The name of the bandit.
    """

    def __init__(self, maker: TokenMaker, bandit: int, name: str) -> None:
        self._maker, self.number, self._name = maker, bandit, name
        self._head = maker.head(bandit)

    def make(self, id: int) -> str:
        """Return the token of the decision with this id."""
        return self._maker.make(self._head, id)

    def read(self, token: str) -> int:
        """Return the id of a decision, or raise a `TokenError` if it is not of this bandit."""
        bandit, id = self._maker.read(token)
        if bandit != self.number:
            raise TokenError(
                f"the token {short(token)} is not of bandit {self._name!r}, but of another one or "
                "of one of this name that was deleted; tell it to the store, or drop it"
            )
        return id


def _malformed(token: Any) -> TokenError:
    if isinstance(token, str) and len(token) < LENGTH:
        return TokenError(
            f"the token {short(token)} is truncated: it has {len(token)} of {LENGTH} characters; "
            "give a decision's token as it was"
        )
    return TokenError(
        f"{short(token)} is not a token: a token has {LENGTH} letters, digits, - and _; "
        "give a decision's token as it was"
    )


def no_tokens() -> TokenError:
    """Return the error for the token of a decision outside a store."""
    return TokenError("only decisions of a bandit in a store have a token; create it with Store()")
