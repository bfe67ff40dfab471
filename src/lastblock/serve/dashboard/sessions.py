"""Who is signed in: signed cookies, and tokens against forged requests.

A session is a text in a cookie. It names a key and when it ends, and is signed with a secret of the
store and with the digest of the key: any process of the service can check it, and it ends when the
key does.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from lastblock.serve.keys import Key, Keys
from lastblock.store.documents import Documents

COOKIE: Final = "lastblock_session"
HOURS: Final = 12
COLLECTION: Final = "secrets"
MOST_ENDED: Final = 10_000

_NO_KEY = "-"
"""Stands for the id of a key where everybody may do everything."""


class Session(NamedTuple):
    """A browser that is signed in."""

    key: Key
    """What it may do."""
    token: str
    """What its forms must send back, so that no other page can send them."""
    nonce: str
    """A random text: the name of this session."""


class Sessions:
    """Makes and reads sessions.

    Parameters
    ----------
    documents
        The documents of the store, which keep the secret.
    keys
        All keys.
    everybody
        What everybody may do without a key; None if keys are needed.
    clock
        Returns seconds since 1970; for tests.
    """

    def __init__(
        self,
        documents: Documents,
        keys: Keys,
        everybody: Key | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        found = documents.all(COLLECTION).get("sessions")
        if found is None:
            documents.put(COLLECTION, "sessions", secrets.token_hex(32), expected=0)
            found = documents.all(COLLECTION)["sessions"]
        self._secret = bytes.fromhex(found.value)
        self._keys, self._everybody, self._clock = keys, everybody, clock
        self._ended: dict[str, int] = {}  # nonces, and when their sessions would have ended

    def begin(self, key: Key | None) -> str:
        """Return the cookie's value for a new session with this key; None for everybody's."""
        ends = int(self._clock()) + HOURS * 3600
        id, digest = (key.id, key.digest) if key is not None else (_NO_KEY, "")
        about = f"{id}.{ends}.{secrets.token_urlsafe(16)}"
        return f"{about}.{self._sign('session', about, digest)}"

    def read(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie; None if it is not valid any more."""
        parts = (cookie or "").split(".")
        if len(parts) != 4:
            return None
        id, ends, nonce, signature = parts
        key = self._everybody if id == _NO_KEY else self._keys.current(id)
        if key is None or (self._everybody is not None) != (id == _NO_KEY):
            return None
        digest = "" if id == _NO_KEY else key.digest
        good = self._sign("session", f"{id}.{ends}.{nonce}", digest)
        if not hmac.compare_digest(good.encode(), signature.encode("utf-8", "replace")):
            return None
        if int(ends) <= self._clock() or nonce in self._ended:
            return None
        return Session(key, self._sign("form", nonce), nonce)

    def end(self, cookie: str | None) -> None:
        """Sign a browser out: its cookie is worth nothing from now on, in this process."""
        found = self.read(cookie)
        if found is None:
            return
        now = self._clock()
        if len(self._ended) >= MOST_ENDED:
            self._ended = {nonce: ends for nonce, ends in self._ended.items() if ends > now}
        self._ended[found.nonce] = int(now) + HOURS * 3600

    def is_token(self, session: Session, token: str) -> bool:
        """Return whether a form was made for this session."""
        return hmac.compare_digest(session.token.encode(), token.encode("utf-8", "replace"))

    def _sign(self, *parts: str) -> str:
        text = "\n".join(parts).encode("utf-8", "replace")
        return hashlib.blake2b(text, key=self._secret, digest_size=24).hexdigest()
