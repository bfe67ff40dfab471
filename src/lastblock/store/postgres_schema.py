"""The tables of a store on PostgreSQL: migrations are applied under a lock."""

import zlib

import psycopg

from lastblock.store.postgres_connections import (
    Connection,
    Connections,
    explained,
    last_rows,
    run,
    running,
)
from lastblock.store.schema import (
    Migration,
    check_format,
    check_not_newer,
    complete,
    migrations,
)
from lastblock.support.errors import StoreError

OLDEST = 130000
"""The oldest server that knows all that we use."""


def version(connection: Connection, schema: str) -> int:
    """Return the number of the last migration that was applied; 0 if there are no tables."""
    ((found,),) = run(  # not `to_regclass`, which may remember what was before a lock was taken
        connection,
        "SELECT count(*) FROM pg_tables WHERE schemaname = %s AND tablename = 'migrations'",
        [schema],
    )
    if not found:
        return 0
    ((number,),) = run(connection, f"SELECT max(number) FROM {schema}.migrations")
    return int(number or 0)


def prepare(connections: Connections) -> None:
    """Create the tables if there are none; raise a `StoreError` unless they are ours."""
    label, schema = connections.label, connections.address.schema
    with connections.transaction() as connection:
        if connection.info.server_version < OLDEST:
            raise StoreError(
                f"{label} runs on PostgreSQL {connection.info.server_version // 10000}; "
                f"upgrade the server to {OLDEST // 10000} or newer"
            )
        found = version(connection, schema)
    if found:
        check_format(label, found, "postgresql")
    else:
        migrate(connections)


def migrate(connections: Connections) -> list[Migration]:
    """Apply the migrations that are missing, all or none; return them.

    Raises
    ------
    StoreError
        If somebody has a bandit open, since older programs would go on with the old tables.
    """
    label, schema = connections.label, connections.address.schema
    with connections.transaction() as connection:
        # The lock ends with the transaction, so it works behind a pooler of connections too.
        key = zlib.crc32(f"lastblock {schema}".encode())
        run(connection, "SELECT pg_advisory_xact_lock(%s)", [key])
        found = version(connection, schema)
        check_not_newer(label, found, "postgresql")
        missing = [each for each in migrations("postgresql") if each.number > found]
        if found and missing:
            _check_unused(connection, label)
        if not found:
            _create_schema(connection, label, schema)
        for each in missing:
            with explained(f"{label}: migration {each.number} ({each.name})"):
                last_rows(connection, f"{each.script}; SELECT 1")
            run(
                connection,
                "INSERT INTO migrations (number, name) VALUES (%s, %s)",
                [each.number, each.name],
            )
        complete(running(connection))
        return missing


def _create_schema(connection: Connection, label: str, schema: str) -> None:
    try:
        run(connection, f"CREATE SCHEMA IF NOT EXISTS {schema}")
    except psycopg.errors.InsufficientPrivilege:
        raise StoreError(
            f"{label} has no schema {schema!r}, and this user may not create it; "
            f"ask the database's owner for: CREATE SCHEMA {schema} AUTHORIZATION …"
        ) from None
    ((others,),) = run(connection, "SELECT count(*) FROM pg_tables WHERE schemaname = %s", [schema])
    if others:
        raise StoreError(
            f"{label} has other tables in its schema {schema!r}; give another one at the end of "
            "the URL: ?schema=NAME"
        )
    run(
        connection,
        "CREATE TABLE migrations (number integer PRIMARY KEY, name text NOT NULL, "
        "applied timestamptz NOT NULL DEFAULT now())",
    )


def _check_unused(connection: Connection, label: str) -> None:
    """Raise a `StoreError` if a bandit is open; nobody can open one until the transaction ends."""
    run(connection, "LOCK TABLE owners IN ACCESS EXCLUSIVE MODE")
    open_bandits = run(
        connection,
        "SELECT name, process, host FROM owners JOIN bandits USING (bandit) "
        "WHERE holder IS NOT NULL AND expires > clock_timestamp() ORDER BY name LIMIT 1",
    ).fetchall()
    for name, process, host in open_bandits:
        raise StoreError(
            f"bandit {name!r} in {label} is open in process {process} on {host}; close the store "
            "everywhere, then migrate it"
        )
