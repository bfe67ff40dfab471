"""Tokens of decisions: short texts that name a decision, and that nobody else can make."""

import base64
import hashlib
import hmac
import secrets
import struct
from typing import Final

from lastblock.serve.problems import ProblemError
from lastblock.store.documents import Documents

COLLECTION: Final = "secrets"
_NUMBERS = struct.Struct(">QQ")  # when the bandit was born, and the id of the decision
_CHECK = 8


class Tokens:
    """Makes and reads the tokens of a store's decisions.

    Parameters
    ----------
    documents
        The documents of the store, which keep the secret.
    """

    def __init__(self, documents: Documents) -> None:
        found = documents.all(COLLECTION).get("tokens")
        if found is None:
            documents.put(COLLECTION, "tokens", secrets.token_hex(32), expected=0)
            found = documents.all(COLLECTION)["tokens"]
        self._secret = bytes.fromhex(found.value)

    def make(self, born: int, id: int) -> str:
        """Return the token of a decision of the bandit that was born then."""
        body = _NUMBERS.pack(born, id)
        return base64.urlsafe_b64encode(body + self._check(body)).decode("ascii")

    def read(self, token: str) -> tuple[int, int]:
        """Return when the bandit was born and the decision's id, or raise a `ProblemError`."""
        try:
            data = base64.urlsafe_b64decode(token.encode("ascii"))
        except ValueError:
            data = b""
        body, check = data[: _NUMBERS.size], data[_NUMBERS.size :]
        if len(body) != _NUMBERS.size or not hmac.compare_digest(check, self._check(body)):
            raise ProblemError("not-found", "there is no decision with this token")
        born, id = _NUMBERS.unpack(body)
        return born, id

    def _check(self, body: bytes) -> bytes:
        return hashlib.blake2b(body, key=self._secret, digest_size=_CHECK).digest()
