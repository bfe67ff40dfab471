"""Choose the storage of a store by its place, and the queue of events in front of it."""

import os
import re
from typing import TypeAlias

from lastblock.store.group_commit import Groups, SharedCommits
from lastblock.store.sqlite import SQLiteStorage
from lastblock.store.storage import Storage
from lastblock.support.errors import StoreError, short

Queue: TypeAlias = Groups | SharedCommits

_POSTGRES = ("postgresql://", "postgres://")
_GIVE = "give the path of a file, or postgresql://user@host/database"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_postgres(place: str | os.PathLike[str]) -> bool:
    """Return whether a place is the URL of a PostgreSQL database."""
    return isinstance(place, str) and place.startswith(_POSTGRES)


def load_psycopg() -> None:
    """Raise a `ModuleNotFoundError` that says what to install, unless psycopg is there."""
    try:
        import psycopg  # noqa: F401, PLC0415  # optional, and slow to import
        import psycopg_pool  # noqa: F401, PLC0415  # likewise
    except ImportError as error:
        raise ModuleNotFoundError(
            f"a store on PostgreSQL needs psycopg ({error}): pip install 'lastblock[postgres]'",
            name="psycopg",
        ) from None


def check_kind(place: str | os.PathLike[str]) -> None:
    """Raise an error for what is not a path, or the URL of a database that we cannot use."""
    if not isinstance(place, str | os.PathLike):
        raise TypeError(f"path={short(place)} is not the place of a store; {_GIVE}")
    if isinstance(place, str) and not is_postgres(place) and (url := _URL.match(place)):
        raise StoreError(f"lastblock has no store on {url[0]!r}; {_GIVE}")


def open_storage(place: str | os.PathLike[str], *, keep_events: bool, sync: bool) -> Storage:
    """Open the storage at a place: an SQLite file, or a PostgreSQL database.

    Parameters
    ----------
    place
        A path or a URL.
    keep_events
        Whether to keep events that a snapshot includes.
    sync
        Whether writing waits for the disk.

    Raises
    ------
    TypeError
        If the place is neither.
    StoreError
        If it cannot be opened.
    ModuleNotFoundError
        If it is a PostgreSQL database, and psycopg is not installed.
    """
    if is_postgres(place):
        load_psycopg()
        from lastblock.store.postgres import PostgresStorage  # noqa: PLC0415  # needs psycopg

        return PostgresStorage(str(place), keep_events=keep_events, sync=sync)
    check_kind(place)
    return SQLiteStorage(place, keep_events=keep_events, sync=sync)


def queue_of(storage: Storage, interval: float | None) -> Queue | None:
    """Return the queue of a store's events; None if each call writes its own.

    Parameters
    ----------
    storage
        The storage.
    interval
        Seconds between two groups; None if a call returns when its events are on the disk.
    """
    if interval is not None:
        return Groups(storage.write, interval)
    return SharedCommits(storage.write) if storage.is_remote else None
