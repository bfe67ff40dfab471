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


def count(place, what="*", where="TRUE"):
    """How many events the store has."""
    return fetch(place, f"SELECT count({what}) FROM events WHERE {where}")[0][0]


def view_of(place):
    """The class of the views of this kind of store."""
    if not is_postgres(place):
        return SQLiteView
    from lastblock.store.postgres_view import PostgresView  # noqa: PLC0415  # optional

    return PostgresView
