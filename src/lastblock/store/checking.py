"""Check a store without changing it: can it be reached, and is it whole?"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from lastblock.store.opening import is_postgres, load_psycopg
from lastblock.store.schema import Database, newest
from lastblock.store.sqlite import APPLICATION
from lastblock.store.sqlite_connections import PATIENCE, connect, explained
from lastblock.support.errors import StoreError

Read = Callable[[str], Sequence[tuple[Any, ...]]]

_BANDITS = (
    "SELECT name, start, last, (SELECT count(*) FROM events "
    "WHERE events.bandit = each.bandit AND event > start) FROM (SELECT bandit, name, "
    "coalesce(first_event, last_event) AS start, coalesce((SELECT max(event) FROM events "
    "WHERE events.bandit = bandits.bandit), last_event) AS last FROM bandits) AS each ORDER BY name"
)


class StoreFinding(NamedTuple):
    """One thing that was checked."""

    is_good: bool
    text: str


def check_store(place: str | os.PathLike[str]) -> Iterator[StoreFinding]:
    """Check a store, and yield what was found, good or not.

    Parameters
    ----------
    place
        The path or URL of the store.

    Raises
    ------
    StoreError
        If the store cannot be opened at all.
    """
    with ExitStack() as closing:
        if is_postgres(place):
            load_psycopg()
            from lastblock.store import postgres_check  # noqa: PLC0415  # needs psycopg

            yield from postgres_check.check(str(place), closing)
        else:
            yield from _check_file(Path(place), closing)


def _check_file(path: Path, closing: ExitStack) -> Iterator[StoreFinding]:
    label = f"the store {str(path.absolute())!r}"
    if not path.is_file():
        raise StoreError(f"there is no file {str(path.absolute())!r}; give the path of a store")
    with explained(label):
        connection = connect(path.resolve(), RLock(), timeout=PATIENCE)
        closing.callback(connection.close)

        def read(query: str) -> Sequence[tuple[Any, ...]]:
            return connection.execute(query).fetchall()

        ((application,),) = read("PRAGMA application_id")
        ((version,),) = read("PRAGMA user_version")
        if application != APPLICATION:
            yield StoreFinding(False, "it is not a store: another program has made the file")
            return
        yield format_finding(version, "sqlite")
        ((said,), *_) = read("PRAGMA quick_check")
        yield StoreFinding(
            said == "ok", "SQLite finds the file whole" if said == "ok" else str(said)
        )
        if version == newest("sqlite"):
            yield from bandit_findings(read)


def format_finding(
    found: int,
    database: Database,
    advice: str = "close it everywhere and run: lastblock store migrate",
) -> StoreFinding:
    """Return what to say of the format of the tables."""
    known = newest(database)
    if found > known:
        return StoreFinding(
            False, f"format {found}, this lastblock reads up to {known}: upgrade it"
        )
    if found < known:
        return StoreFinding(False, f"format {found}, this lastblock needs {known}: {advice}")
    return StoreFinding(True, f"format {found}, as this lastblock needs it")


def bandit_findings(read: Read) -> Iterator[StoreFinding]:
    """Check that the events of each bandit follow one another."""
    for name, start, last, count in read(_BANDITS):
        if count == last - start:
            yield StoreFinding(True, f"bandit {name!r}: {count:,} events after its snapshot")
        else:
            yield StoreFinding(
                False,
                f"bandit {name!r}: {last - start - count:,} of {last - start:,} events are "
                "missing; repair it: lastblock store repair, or restore a copy",
            )
