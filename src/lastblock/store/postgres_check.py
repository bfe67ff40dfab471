"""Check a store on PostgreSQL without changing it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from lastblock.store.checking import StoreFinding, bandit_findings, format_finding
from lastblock.store.holders import Holder
from lastblock.store.postgres_connections import Connections, explained, read_address, run
from lastblock.store.postgres_schema import version
from lastblock.store.schema import newest

_SAFE = {
    "fsync": ("on", "a power failure can damage the database"),
    "full_page_writes": ("on", "a power failure can damage the database"),
    "synchronous_commit": ("on", "other programs' commits do not wait for the disk; ours do"),
}


def check(url: str, closing: ExitStack) -> Iterator[StoreFinding]:
    """Yield what was found at a URL; connections are closed with `closing`."""
    connections = Connections(read_address(url), "check")
    closing.callback(connections.close)
    connection = closing.enter_context(connections.transaction("READ ONLY"))
    closing.enter_context(explained(connections.label))

    def read(query: str) -> Sequence[tuple[Any, ...]]:
        return list(run(connection, query).fetchall())

    ((server,),) = read("SHOW server_version")
    yield StoreFinding(True, f"PostgreSQL {server} answers")
    schema = connections.address.schema
    found = version(connection, schema)
    if found == 0:
        advice = "there are no tables yet; lb.Store or lastblock store migrate makes them"
        yield format_finding(found, "postgresql", advice)
        return
    yield format_finding(found, "postgresql")
    for name, (wanted, otherwise) in _SAFE.items():
        ((value,),) = read(f"SHOW {name}")
        is_good = value == wanted or (name == "synchronous_commit" and value != "off")
        yield StoreFinding(is_good, f"{name} is {value}" + ("" if is_good else f": {otherwise}"))
    if found != newest("postgresql"):
        return
    rights = read(
        "SELECT table_name, right_name FROM unnest(ARRAY['bandits', 'events', 'owners', 'pending', "
        "'arms']) AS table_name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', "
        f"'DELETE']) AS right_name WHERE NOT has_table_privilege('{schema}.' || table_name, "
        "right_name)"
    )
    for table, right in rights:
        yield StoreFinding(
            False, f"this user has no right to {right} on {schema}.{table}: grant it"
        )
    if not rights:
        yield StoreFinding(True, "this user may read and write all tables")
    yield from bandit_findings(read)
    owners = read(
        "SELECT name, process, host, identity, extract(epoch FROM expires - clock_timestamp())"
        "::float8 FROM owners JOIN bandits USING (bandit) WHERE holder IS NOT NULL ORDER BY name"
    )
    for name, process, host, identity, left in owners:
        where = Holder(process or 0, host or "", identity or "").place()
        state = f"for {left:.0f} s more, unless renewed" if left > 0 else "but its lease has ended"
        yield StoreFinding(True, f"bandit {name!r} is open in {where}, {state}")
