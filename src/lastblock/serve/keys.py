"""Keys: who may do what. Only a digest of a key is stored.

A key is ``lb_<id>_<secret>``. The id is public and stands in lists and logs; the secret has 256
random bits, so that a plain SHA-256 of it cannot be guessed back. The store has the SHA-256 of that
once more: a session shows the one in between (`proof_of`), which no reader of the store can make,
and which is no key.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeAlias, get_args

from lastblock.store.documents import Documents
from lastblock.support.checks import line
from lastblock.support.errors import StoreError
from lastblock.support.spelling import advice

Right: TypeAlias = Literal["ask", "tell", "read", "admin"]
RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
COLLECTION: Final = "keys"

_KEY = re.compile(r"lb_([0-9a-z]{12})_([0-9a-zA-Z_-]{43})")
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Key:
    """What a store knows about a key; the secret is not there."""

    id: str
    """The public part of the key."""
    digest: str
    """SHA-256 of the SHA-256 of the secret, in hexadecimal."""
    scopes: tuple[Right, ...]
    """What it allows: "ask", "tell", "read" or "admin", which allows everything."""
    bandits: tuple[str, ...] | None
    """The bandits that it is for; None for all."""
    name: str
    """A word of its owner's, to know it by."""
    created: str
    """When it was made: ISO 8601, UTC."""
    expires: str | None = None
    """When it ends: ISO 8601, UTC; None if it does not."""

    def allows(self, right: Right) -> bool:
        """Return whether the key has a right."""
        return right in self.scopes or "admin" in self.scopes

    def reaches(self, bandit: str) -> bool:
        """Return whether the key is for a bandit."""
        return self.bandits is None or bandit in self.bandits

    def own(self, text: str | None) -> str | None:
        """Return the key of a request so that it is not that of another caller's request."""
        return f"{self.id}/{text}" if text and self.id else text

    def is_over(self, now: datetime) -> bool:
        """Return whether the key has expired."""
        return self.expires is not None and datetime.fromisoformat(self.expires) <= now

    def shown(self) -> dict[str, Any]:
        """Return what may be shown of the key."""
        return {name: value for name, value in asdict(self).items() if name != "digest"}


def _now() -> datetime:
    return datetime.now(UTC)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _digest(secret: str) -> str:
    return _hash(_hash(secret))


def proof_of(text: str) -> str:
    """Return what proves that a whole key was shown, and what cannot be used as a key."""
    return _hash(text.split("_", 2)[2])


def is_proof(proof: str, key: Key) -> bool:
    """Return whether something is the proof that a key was shown."""
    return hmac.compare_digest(_hash(proof), key.digest)


def _made(
    id: str,
    scopes: tuple[Right, ...],
    bandits: tuple[str, ...] | None,
    name: str,
    expires: str | None,
) -> tuple[str, Key]:
    secret = secrets.token_urlsafe(32)
    created = _now().isoformat(timespec="milliseconds")
    return f"lb_{id}_{secret}", Key(id, _digest(secret), scopes, bandits, name, created, expires)


class Keys:
    """The keys of a store.

    Parameters
    ----------
    documents
        The documents of the store.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._keys: dict[str, Key] = {}
        self._seen: dict[bytes, Key] = {}  # keys that were checked, by a digest of the whole key
        self.refresh()

    def refresh(self) -> None:
        """Read the keys from the store: other programs may have changed them."""
        found = self._documents.all(COLLECTION).values()
        self._use({key.id: key for key in (_read(each.value) for each in found)})

    def _use(self, keys: dict[str, Key]) -> None:
        if keys != self._keys:
            self._keys, self._seen = keys, {}

    def __len__(self) -> int:
        return len(self._keys)

    def all(self) -> list[Key]:
        """Return all keys, oldest first."""
        return sorted(self._keys.values(), key=lambda key: (key.created, key.id))

    def create(
        self,
        scopes: Iterable[str],
        *,
        bandits: Sequence[str] | None = None,
        name: str = "",
        days: float | None = None,
    ) -> tuple[str, Key]:
        """Make a key.

        Parameters
        ----------
        scopes
            What it allows: "ask", "tell", "read" or "admin", which allows everything.
        bandits
            The bandits that it is for; None for all.
        name
            A word to know it by.
        days
            After how many days it ends; None if it does not.

        Returns
        -------
        tuple
            The key itself, which cannot be had again, and what the store knows about it.

        Raises
        ------
        ValueError
            If a scope is unknown, or none is given, or `days` is not positive.
        """
        rights = check_scopes(scopes)
        only = None if bandits is None else tuple(line(each, "bandit") for each in bandits)
        if only is not None and "admin" in rights:
            raise ValueError("an admin key is for all bandits; leave the bandits out")
        expires = None
        if days is not None:
            if not 0.0 < days < 365_000.0:
                raise ValueError(f"days={days} must be positive, and less than 365 000")
            expires = (_now() + timedelta(days=days)).isoformat(timespec="seconds")
        id = "".join(secrets.choice(_LETTERS) for _ in range(12))
        text, key = _made(id, rights, only, line(name, "name") if name else "", expires)
        self._keep(key)
        return text, key

    def rotate(self, id: str) -> tuple[str, Key]:
        """Give a key another secret; the old one ends at once.

        Parameters
        ----------
        id
            The public part of the key.

        Returns
        -------
        tuple
            The new key, and what the store knows about it.
        """
        old = self.find(id)
        text, made = _made(old.id, old.scopes, old.bandits, old.name, old.expires)
        key = replace(made, created=old.created)
        self._keep(key)
        return text, key

    def revoke(self, id: str) -> None:
        """End a key at once.

        Parameters
        ----------
        id
            The public part of the key.

        Raises
        ------
        LookupError
            If there is no such key.
        """
        key = self.find(id)
        self._documents.drop(COLLECTION, key.id)
        self._use({other: each for other, each in self._keys.items() if other != key.id})

    def find(self, id: str) -> Key:
        """Return a key by its id; a whole key does as well, so that it can be revoked."""
        whole = _KEY.fullmatch(id)
        plain = whole[1] if whole else id.removeprefix("lb_")
        if plain not in self._keys:
            raise LookupError(f"there is no key {plain!r}; {advice(plain, list(self._keys))}")
        return self._keys[plain]

    def current(self, id: str) -> Key | None:
        """Return a key by its id, None if there is none or it has expired."""
        key = self._keys.get(id)
        return None if key is None or key.is_over(_now()) else key

    def check(self, text: str) -> Key | None:
        """Return the key of a request, or None if it is not valid.

        Parameters
        ----------
        text
            The whole key.
        """
        known_as = hashlib.sha256(text.encode("utf-8", "replace")).digest()
        seen = self._seen.get(known_as)
        if seen is not None and seen.expires is None:
            return seen
        parts = _KEY.fullmatch(text)
        if parts is None:
            return None
        key = self._keys.get(parts[1])
        # An unknown id takes as long as a wrong secret.
        known = key.digest if key is not None else _NOBODY
        if not hmac.compare_digest(_digest(parts[2]), known) or key is None:
            return None
        if key.expires is not None and key.is_over(_now()):
            return None
        self._seen[known_as] = key
        return key

    def _keep(self, key: Key) -> None:
        self._documents.put(COLLECTION, key.id, asdict(key))
        self._use({**self._keys, key.id: key})


_NOBODY = _digest("nobody")


def check_scopes(scopes: Iterable[str]) -> tuple[Right, ...]:
    """Return scopes in their order, or raise a ValueError."""
    given = set(scopes)
    for scope in given:
        if scope not in RIGHTS:
            raise ValueError(f"unknown scope {scope!r}; {advice(scope, RIGHTS)}")
    if not given:
        raise ValueError(f"a key needs at least one scope: {', '.join(RIGHTS)}")
    return tuple(right for right in RIGHTS if right in given)


def _read(value: Any) -> Key:
    try:
        only = value["bandits"]
        return Key(**{**value, "scopes": tuple(value["scopes"]), "bandits": only and tuple(only)})
    except (KeyError, TypeError) as error:
        raise StoreError(f"the store has a key that cannot be read ({error}); revoke it") from None
