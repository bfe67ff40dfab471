"""Small JSON documents beside the bandits of a PostgreSQL database."""

from lastblock.store.postgres_connections import Connections, run
from lastblock.store.storage import Document

_PUT = (
    "INSERT INTO documents VALUES (%(collection)s, %(name)s, 1, %(body)s) "
    "ON CONFLICT (collection, name) DO UPDATE SET body = excluded.body, "
    "version = documents.version + 1 WHERE %(expected)s::bigint IS NULL "
    "OR documents.version = %(expected)s RETURNING version"
)
_REPLACE = (
    "UPDATE documents SET body = %(body)s, version = version + 1 WHERE collection = %(collection)s "
    "AND name = %(name)s AND version = %(expected)s RETURNING version"
)


def documents(connections: Connections, collection: str) -> dict[str, Document]:
    """Return the documents of a collection, by name."""
    with connections.transaction() as connection:
        found = run(
            connection,
            "SELECT name, version, body FROM documents WHERE collection = %s "
            'ORDER BY name COLLATE "C"',
            [collection],
        ).fetchall()
    return {name: Document(version, body) for name, version, body in found}


def put_document(
    connections: Connections, collection: str, name: str, body: str, expected: int | None
) -> int:
    """Write a document and return its version; see `Storage.put_document`."""
    values = {"collection": collection, "name": name, "body": body, "expected": expected}
    with connections.transaction() as connection:
        found = run(connection, _REPLACE if expected else _PUT, values).fetchone()
    return int(found[0]) if found else 0


def drop_document(connections: Connections, collection: str, name: str) -> bool:
    """Remove a document; return whether there was one."""
    with connections.transaction() as connection:
        gone = run(
            connection,
            "DELETE FROM documents WHERE collection = %s AND name = %s",
            [collection, name],
        )
        return int(gone.rowcount) > 0
