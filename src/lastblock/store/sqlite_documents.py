"""Small JSON documents beside the bandits of an SQLite file."""

from lastblock.store.sqlite_schema import Execute


def put_document(collection: str, name: str, body: str, expected: int | None, run: Execute) -> int:
    """Write a document and return its version; see `Storage.put_document`."""
    found = run(
        "SELECT version FROM documents WHERE collection = ? AND name = ?", (collection, name)
    ).fetchone()
    version = int(found[0]) if found else 0
    if expected is not None and expected != version:
        return 0
    run(
        "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)",
        (collection, name, version + 1, body),
    )
    return version + 1


def drop_document(collection: str, name: str, run: Execute) -> bool:
    """Remove a document; return whether there was one."""
    removed = run(
        "DELETE FROM documents WHERE collection = ? AND name = ?", (collection, name)
    ).rowcount
    return removed > 0
