"""``lastblock store check``: can a store be used, and is it whole?"""

import argparse

from lastblock.cli.arguments import Parser
from lastblock.cli.failures import YOURS
from lastblock.cli.store_actions.places import add_place
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
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print what was found."""
    is_good = True
    for finding in check_store(options.store):
        print(f"{'good' if finding.is_good else 'BAD '}  {finding.text}", flush=True)
        is_good = is_good and finding.is_good
    return 0 if is_good else YOURS
