"""The two kinds of store in tests: where one is, and what its tables hold."""

import sqlite3
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from lastblock.store.opening import is_postgres
from lastblock.store.sqlite_view import SQLiteView


def store_at(place):
    """The store of a trial, which is given a folder or a URL."""
    return place if is_postgres(place) else Path(place) / "shop.db"


def given(place):
    """What to give a trial as the place of this store."""
    return place if is_postgres(place) else Path(place).parent


def fetch(place, query):
    """Execute a statement on a store's tables, and return its rows."""
    if is_postgres(place):
        import psycopg  # noqa: PLC0415  # optional

        parts = urlsplit(place)
        (schema,) = parse_qs(parts.query)["schema"]
        with psycopg.connect(parts._replace(query="").geturl()) as connection:
            connection.execute(f"SET search_path = {schema}")
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []
    connection = sqlite3.connect(place)
    try:
        rows = connection.execute(query).fetchall()
        connection.commit()
        return rows
    finally:
        connection.close()


TABLES = ("bandits", "events", "pending", "owners", "arms", "documents")


def copy_all(url):
    """Keep a copy of a PostgreSQL store's tables, as a backup does; `go_back` restores it."""
    fetch(url, "".join(f"CREATE TABLE old_{table} AS TABLE {table};" for table in TABLES))


def go_back(url):
    """Restore the copy that `copy_all` made, in one transaction and under any owner."""
    steps = "".join(
        f"DELETE FROM {table}; INSERT INTO {table} OVERRIDING SYSTEM VALUE TABLE old_{table};"
        for table in TABLES
    )
    numbers = "(SELECT coalesce(max(bandit), 0) + 1 FROM old_bandits)"
    fetch(
        url, f"{steps} SELECT setval(pg_get_serial_sequence('bandits', 'bandit'), {numbers}, false)"
    )


def count(place, what="*", where="TRUE"):
    """How many events the store has."""
    return fetch(place, f"SELECT count({what}) FROM events WHERE {where}")[0][0]


def view_of(place):
    """The class of the views of this kind of store."""
    if not is_postgres(place):
        return SQLiteView
    from lastblock.store.postgres_view import PostgresView  # noqa: PLC0415  # optional

    return PostgresView
