"""``lastblock store import``: add events that a store could not write when it was closed."""

import argparse
import json

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.cli.store_actions.places import add_json, add_place, open_existing


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "import",
        help="add events that a store could not write when it was closed",
        description="Add events to a store that it could not write when it was closed, from the "
        "file that its last error names: all of them, or none on an error. Do so before the "
        "bandits are opened again, since a bandit that has gone on takes no earlier events.",
    )
    add_place(parser, "store", "the path or URL of a store")
    offer(parser.add_argument("file", metavar="FILE", help="the file with the events"), files=FILE)
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Add the events, and print how many there were."""
    from lastblock.store.unwritten import take_in  # noqa: PLC0415  # slow to import

    storage = open_existing(options.store)
    try:
        found = take_in(storage, options.file)
    finally:
        storage.close()
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return 0
    for name, count in found.items():
        print(f"{name}: {count:,} events" if count else f"{name}: all events are there already")
    return 0
