"""``lastblock store verify``: replay the events of bandits, and compare with their states."""

import argparse
import json

from lastblock.cli.arguments import Parser
from lastblock.cli.failures import YOURS
from lastblock.cli.policy_words import add_imports, import_all
from lastblock.cli.store_actions.places import (
    add_json,
    add_place,
)
from lastblock.support.errors import StoreError
from lastblock.support.parallel import progress_bar


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "verify",
        help="replay events, and compare with the states",
        description="Replay the events of each bandit from its earliest snapshot, and compare "
        "with its latest state, byte for byte. Nothing is changed, and others may go on writing. "
        "The exit status is 2 if something is wrong.",
    )
    add_place(parser, "store", "the path or URL of a store")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="the bandits to verify (default: all of them)"
    )
    add_imports(parser)
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Verify one bandit after the other, and print what was found."""
    import_all(options)
    from lastblock.store.reading import reading  # noqa: PLC0415  # slow to import

    found: list[dict[str, object]] = []
    with reading(options.store) as store:
        names = list(dict.fromkeys(options.names)) or list(store.names())
        for name in names:
            store.number(name)  # complain of a wrong name at once
        total = sum(store.events_to_verify(name) for name in names)
        with progress_bar(total, None, unit="event") as bar:
            for name in names:
                try:
                    events = store.verify(name, bar.update)
                    text = f"{events:,} events lead to its state"
                    found.append({"bandit": name, "is_good": True, "events": events, "text": text})
                except StoreError as error:
                    found.append(
                        {"bandit": name, "is_good": False, "events": None, "text": str(error)}
                    )
                if not options.json:
                    state = "good" if found[-1]["is_good"] else "BAD "
                    bar.write(f"{state}  {name}: {found[-1]['text']}")
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    elif not found:
        print(f"{store.label} has no bandits")
    return 0 if all(each["is_good"] for each in found) else YOURS
