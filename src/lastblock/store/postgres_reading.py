"""Read a store on PostgreSQL without changing it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lastblock.store.holders import Holder
from lastblock.store.postgres_connections import Connections, read_address
from lastblock.store.postgres_leases import Leases
from lastblock.store.postgres_schema import version
from lastblock.store.postgres_view import PostgresView
from lastblock.store.schema import check_format


@contextmanager
def open_view(url: str) -> Iterator[tuple[PostgresView, Callable[[int], str | None]]]:
    """Open a view of a database, and a function that says who has a bandit open."""
    connections = Connections(read_address(url), "reading")
    try:
        with connections.transaction("READ ONLY") as connection:
            found = version(connection, connections.address.schema)
        check_format(connections.label, found, "postgresql")
        with PostgresView(connections, Leases(connections, "reading")) as view:
            yield view, lambda bandit: _owner(view, bandit)
    finally:
        connections.close()


def _owner(view: PostgresView, bandit: int) -> str | None:
    """Return words for the process that has a lease of a bandit; None if nobody has."""
    found = view.lease(bandit)
    if found is None or found[3] <= 0.0:
        return None
    holder = Holder(found[0] or 0, found[1] or "", found[2] or "")
    return None if holder.has_ended() else holder.place()
