"""``lastblock store list``: the bandits of a store."""

import argparse
import json

from lastblock.cli.arguments import Parser
from lastblock.cli.store_actions.places import add_json, add_place, shown_time
from lastblock.cli.tables import table


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "list",
        help="list the bandits of a store",
        description="List the bandits of a store: policy, arms, decisions, the time of the last "
        "event that is kept, and who has it open. Nothing is changed, and others may go on "
        "writing.",
    )
    add_place(parser, "store", "the path or URL of a store")
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print the table."""
    from lastblock.store.reading import reading  # noqa: PLC0415  # slow to import

    with reading(options.store) as store:
        found = [store.about(name) for name in store.names()]
        label = store.label
    if options.json:
        print(json.dumps([about.to_dict() for about in found], indent=2, ensure_ascii=False))
        return 0
    if not found:
        print(f"{label} has no bandits")
        return 0
    rows = [
        (
            about.name,
            about.policy,
            f"{about.arms} + {about.retired} retired" if about.retired else str(about.arms),
            f"{about.decisions:,}",
            shown_time(about.last),
            about.owner or "–",
        )
        for about in found
    ]
    header = "bandit", "policy", "arms", "decisions", "last event (UTC)", "open in"
    print(table(header, rows, aligned="<<<><<"))
    for about in found:
        if about.damage is not None:
            print(f"{about.name}: {about.damage}")
    return 0
