"""Small JSON documents that a store keeps beside its bandits: keys and settings of a service."""

import json
from typing import Any, NamedTuple

from lastblock.store.storage import Storage


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

    def all(self, collection: str) -> dict[str, Found]:
        """Return the documents of a collection, by name.

        Parameters
        ----------
        collection
            The name of the collection.
        """
        with self._storage.view() as view:
            found = view.documents(collection)
        return {name: Found(each.version, json.loads(each.body)) for name, each in found.items()}

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
