"""``lastblock store copy``: copy bandits from one store to another."""

import argparse
import json

from lastblock.cli.arguments import Parser
from lastblock.cli.failures import UserError
from lastblock.cli.store_actions.places import add_json, add_place, open_any, open_existing
from lastblock.store.transfer import copy_bandit, events_to_copy
from lastblock.support.parallel import progress_bar


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "copy",
        help="copy bandits from one store to another",
        description="Copy bandits with all their events to another store, of the same or the other "
        "kind, byte for byte, and compare the copies. Nobody may have them open meanwhile. Use "
        "only one of the two afterwards: both would give the same ids to different decisions. "
        "Ids of decisions stay good, but tokens do not: they name the store that made them. Keys "
        "and settings of a service stay behind, too.",
    )
    add_place(parser, "source", "the store to read")
    add_place(parser, "target", "the store to write; it is created if need be")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="the bandits to copy (default: all of them)"
    )
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Copy the bandits one after the other, and print their names."""
    if options.source == options.target:
        raise UserError("source and target are the same store; give another target")
    source = open_existing(options.source)
    try:
        events = events_to_copy(source, options.names)
        target = open_any(options.target)
        try:
            with progress_bar(2 * sum(events.values()), None, unit="event") as bar:
                for name, count in events.items():
                    copy_bandit(source, target, name, bar.update)
                    if not options.json:
                        bar.write(f"{name}: {count:,} events")
        finally:
            target.close()
    finally:
        source.close()
    if options.json:
        rows = [{"bandit": name, "events": count} for name, count in events.items()]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    print(f"{len(events)} bandits copied to {target.label}, and compared")
    print("tokens of open decisions are void there: tell these by id; what a service keeps stays")
    return 0
