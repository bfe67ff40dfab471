"""``lastblock store migrate``: bring the tables of a store up to date."""

import argparse
import json

from lastblock.cli.arguments import Parser
from lastblock.cli.store_actions.places import add_json, add_place, open_existing
from lastblock.store.opening import is_postgres, load_psycopg


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
        open_existing(options.store).close()  # opening a file brings it up to date
        _say(options, options.store, [])
        return 0
    load_psycopg()
    from lastblock.store.postgres_connections import (  # noqa: PLC0415  # needs psycopg
        Connections,
        read_address,
    )
    from lastblock.store.postgres_schema import migrate  # noqa: PLC0415  # needs psycopg

    connections = Connections(read_address(options.store), "migrate")
    done: list[dict[str, object]] = []
    try:
        for each in migrate(connections):
            done.append({"number": each.number, "name": each.name})
            if not options.json:
                print(f"migration {each.number}: {each.name}", flush=True)
    finally:
        connections.close()
    _say(options, connections.label, done)
    return 0


def _say(options: argparse.Namespace, label: str, done: list[dict[str, object]]) -> None:
    if options.json:
        print(json.dumps({"store": label, "migrations": done}, indent=2, ensure_ascii=False))
    else:
        print(f"{label} is up to date")
