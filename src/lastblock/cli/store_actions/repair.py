"""``lastblock store repair``: cut a log off where it is damaged."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.cli.failures import UserError
from lastblock.cli.policy_words import add_imports, import_all
from lastblock.cli.store_actions.places import add_bandit, add_json, add_place, check_exists

if TYPE_CHECKING:
    from lastblock.store.repairing import Damage


def add(actions: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = actions.add_parser(
        "repair",
        help="cut a damaged log off, and export what follows",
        description="Repair a bandit that does not open or verify: keep all events up to the first "
        "one that is missing or wrong, write those that follow to a new file, and remove them. "
        "Labels and policies that were edited in the tables are put right. It says what it will "
        "remove, and asks first. No other process may have the bandit open.",
    )
    add_place(parser, "store", "the path or URL of a store")
    add_bandit(parser)
    file = parser.add_argument(
        "file", metavar="FILE", help="a new file for what is removed: .jsonl, .csv or .parquet"
    )
    offer(file, files=FILE)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_imports(parser)
    add_json(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Say what is wrong, ask, and repair it."""
    from lastblock.store.export_formats import format_of  # noqa: PLC0415  # slow to import
    from lastblock.store.store import Store  # noqa: PLC0415  # likewise

    import_all(options)
    check_exists(options.store)
    with Store(options.store, keep_events=True) as store:
        damage = store.damage(options.bandit)
        if damage is None:
            print("null" if options.json else f"{options.bandit}: nothing is wrong")
            return 0
        try:
            format_of(Path(options.file), None)
        except ValueError as error:
            raise UserError(str(error).replace(", or give format=", "")) from None
        if not options.yes and not _agrees(damage, options.file):
            raise UserError("nothing was changed")
        store.repair(options.bandit, options.file)
    if options.json:
        print(json.dumps(damage._asdict(), indent=2, ensure_ascii=False))
    else:
        print(f"{options.bandit}: {_words(damage, options.file)}; it opens and verifies now")
    return 0


def _agrees(damage: "Damage", file: str) -> bool:
    """Say what would be done, and return whether the user wants it."""
    print(damage.reason, file=sys.stderr)
    if not sys.stdin.isatty():
        raise UserError(f"repair it with --yes: {_words(damage, file)}")
    print(f"Repair it: {_words(damage, file)}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _words(damage: "Damage", file: str) -> str:
    if damage.first is None:
        return f"events up to {damage.kept:,} stay, nothing is removed"
    missing = (damage.last or 0) - damage.kept - damage.events
    words = f"events up to {damage.kept:,} stay; {damage.events:,} events from {damage.first:,} "
    words += f"to {damage.last:,} are removed, and go to {file}"
    return f"{words} (missing: {missing:,})" if missing else words
