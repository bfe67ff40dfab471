"""Small JSON documents that a store keeps beside its bandits: keys and settings of a service."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from lastblock.store.storage import Storage
from lastblock.support.errors import StoreError

BANDITS: Final = "bandits"
"""The collection in which a service keeps the settings of its bandits."""


class Found(NamedTuple):
    """A document, and its version."""

    version: int
    """How often it was written."""
    value: Any
    """What JSON has as its value."""


class Documents:
    """The documents of a store, in collections.

    Parameters
    ----------
    storage
        The database of the store.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def all(self, collection: str, damaged: dict[str, str] | None = None) -> dict[str, Found]:
        """Return the documents of a collection, by name.

        Parameters
        ----------
        collection
            The name of the collection.
        damaged
            Gets what is wrong with each document that is not JSON; its value is None.

        Raises
        ------
        StoreError
            If a document is not JSON, and `damaged` is not given.
        """
        found = {}
        with self._storage.view() as view:
            stored = view.documents(collection)
        for name, each in stored.items():
            value = None
            try:
                value = json.loads(each.body)
            except (TypeError, ValueError) as error:
                if damaged is None:
                    raise StoreError(
                        f"the document {name!r} among the {collection} in {self._storage.label} is "
                        f"damaged ({error}); restore the store from a copy"
                    ) from error
                damaged[name] = str(error)
            found[name] = Found(each.version, value)
        return found

    def put(
        self, collection: str, name: str, value: object, *, expected: int | None = None
    ) -> int | None:
        """Write a document; it is on the disk when this returns.

        Parameters
        ----------
        collection, name
            Which document.
        value
            Anything that JSON can hold.
        expected
            Write only if the document has this version now, 0 if there is none.

        Returns
        -------
        int or None
            The new version; None if the document has another version than `expected`.
        """
        body = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return self._storage.put_document(collection, name, body, expected) or None

    def drop(self, collection: str, name: str) -> bool:
        """Remove a document.

        Parameters
        ----------
        collection, name
            Which document.

        Returns
        -------
        bool
            Whether there was one.
        """
        return self._storage.drop_document(collection, name)


def parent_of(name: str, found: Found | None) -> str | None:
    """Return the name of the bandit to which another belongs; None for one of its own.

    Its document says so; if that cannot be read, the name does: ``bandit@segment``.
    """
    if found is None:
        return None
    if not isinstance(found.value, dict):
        return name.partition("@")[0] if "@" in name else None
    parent = found.value.get("parent")
    return parent if isinstance(parent, str) else None


def members_of(top: str, names: Iterable[str], notes: Mapping[str, Found]) -> list[str]:
    """Return a bandit of a service and, after it, its segments and its holdout."""
    return [top, *(name for name in names if parent_of(name, notes.get(name)) == top)]
