"""``lastblock store migrate``: bring the tables of a store up to date."""

import argparse
import json

from lastblock.cli.arguments import Parser
from lastblock.cli.store_actions.places import add_json, add_place, check_exists
from lastblock.store.opening import is_postgres, load_psycopg
from lastblock.store.schema import Migration
from lastblock.store.sqlite import SQLiteStorage


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "migrate",
        help="bring the tables of a store up to date",
        description="Bring the tables of a store up to date with this version of lastblock, or "
        "make them in an empty database. Nobody may have a bandit open meanwhile.",
    )
    add_place(parser, "store", "the path or URL of a store")
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Migrate the store, and print what was done."""
    if not is_postgres(options.store):
        check_exists(options.store)
        file = SQLiteStorage(options.store, keep_events=True, sync=True, migrate=True)
        file.close()
        _say(options, file.label, file.migrated)
        return 0
    load_psycopg()
    from lastblock.store.postgres_connections import (  # noqa: PLC0415  # needs psycopg
        Connections,
        read_address,
    )
    from lastblock.store.postgres_schema import migrate  # noqa: PLC0415  # needs psycopg

    connections = Connections(read_address(options.store), "migrate")
    try:
        done = migrate(connections)
    finally:
        connections.close()
    _say(options, connections.label, done)
    return 0


def _say(options: argparse.Namespace, label: str, done: list[Migration]) -> None:
    if options.json:
        steps = [{"number": each.number, "name": each.name} for each in done]
        print(json.dumps({"store": label, "migrations": steps}, indent=2, ensure_ascii=False))
        return
    for each in done:
        print(f"migration {each.number}: {each.name}")
    print(f"{label} is up to date")
