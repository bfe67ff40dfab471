"""``lastblock store delete``: remove bandits, damaged ones too."""

import argparse
import json

from lastblock.cli.arguments import Parser
from lastblock.cli.store_actions.places import add_json, add_place, check_exists


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "delete",
        help="remove bandits with all their events",
        description="Remove bandits with all their events, for good, and with what a service keeps "
        "of them: settings, segments and holdouts. Damaged bandits can be removed too. No other "
        "process may have them open.",
    )
    add_place(parser, "store", "the path or URL of a store")
    parser.add_argument("names", nargs="+", metavar="NAME", help="the bandits to remove")
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Remove the bandits, and print their names."""
    from lastblock.store.documents import BANDITS, members_of  # noqa: PLC0415  # slow to import
    from lastblock.store.store import Store  # noqa: PLC0415  # likewise

    check_exists(options.store)
    with Store(options.store, keep_events=True) as store:
        there, notes = store.names(), store.documents.all(BANDITS, {})
        for name in options.names:
            store.last_event(name)  # complain of a wrong name at once
        wanted = [each for name in options.names for each in members_of(name, there, notes)]
        gone = list(dict.fromkeys(reversed(wanted)))  # what belongs to a bandit goes before it
        for name in gone:
            store.delete(name)
            store.documents.drop(BANDITS, name)
            if not options.json:
                print(f"{name} is deleted")
    if options.json:
        print(json.dumps(gone, indent=2, ensure_ascii=False))
    return 0
