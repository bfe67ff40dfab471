"""The tables of a store: numbered migrations for each database, of which format 1 is the first.

A format is made of SQL files in the folder `migrations`. A change of the tables, or a new kind of
event, is one more file for each database; docs/reference/file-formats.md says what that promises.
"""

import secrets
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias

from lastblock.engine.events import KINDS
from lastblock.store.queries import Run
from lastblock.support.errors import StoreError

Database: TypeAlias = Literal["sqlite", "postgresql"]


class Migration(NamedTuple):
    """One step of the tables: a file such as `0001_tables.sql`."""

    number: int
    name: str
    script: str


@cache
def migrations(database: Database) -> list[Migration]:
    """Return all migrations, in order."""
    folder = files("lastblock.store").joinpath("migrations", database)
    return sorted(
        Migration(int(file.name[:4]), file.name[5:-4], file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    )


def newest(database: Database) -> int:
    """Return the format that this lastblock reads and writes: that of the last migration."""
    return migrations(database)[-1].number


def check_not_newer(label: str, found: int, database: Database) -> None:
    """Raise a `StoreError` for the tables of a newer lastblock."""
    if found > newest(database):
        raise StoreError(
            f"{label} has format {found}, this lastblock reads up to {newest(database)}; "
            "upgrade lastblock to open it"
        )


def check_format(label: str, found: int, database: Database) -> None:
    """Raise a `StoreError` unless the tables have the format of this version."""
    check_not_newer(label, found, database)
    if found < newest(database):
        what = f"has format {found}" if found else "has no tables of a store"
        raise StoreError(
            f"{label} {what}, this lastblock needs {newest(database)}; "
            "close it everywhere and run: lastblock store migrate"
        )


def complete(run: Run) -> None:
    """Write into new tables, or migrated ones, what is the same in every database."""
    for kind in enumerate(KINDS):
        run("INSERT INTO kinds VALUES (?, ?) ON CONFLICT DO NOTHING", kind)
    secret = "secret", secrets.token_bytes(32)
    run("INSERT INTO settings VALUES (?, ?) ON CONFLICT DO NOTHING", secret)


def read_secret(run: Run, label: str) -> bytes:
    """Return the secret of a store, or raise a `StoreError`."""
    found = run("SELECT value FROM settings WHERE name = 'secret'", ()).fetchall()
    secret = found[0][0] if found else b""
    if not isinstance(secret, bytes) or len(secret) != 32:
        raise StoreError(
            f"{label} is damaged: its secret for tokens is missing; restore it from a copy"
        )
    return secret
