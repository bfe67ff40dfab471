"""``lastblock store check``: can a store be used, and is it whole?"""

import argparse
import json

from lastblock.cli.arguments import Parser
from lastblock.cli.failures import YOURS
from lastblock.cli.store_actions.places import add_json, add_place
from lastblock.store.checking import check_store


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "check",
        help="check that a store can be used and is whole",
        description="Check a store without changing it: that it can be reached, that its tables "
        "are up to date, that no event is missing, and who has bandits open. The exit status is 2 "
        "if something is wrong.",
    )
    add_place(parser, "store", "the path or URL of a store")
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print what was found."""
    found = []
    for finding in check_store(options.store):
        if not options.json:
            print(f"{'good' if finding.is_good else 'BAD '}  {finding.text}", flush=True)
        found.append(finding)
    if options.json:
        print(json.dumps([each._asdict() for each in found], indent=2, ensure_ascii=False))
    return 0 if all(finding.is_good for finding in found) else YOURS
