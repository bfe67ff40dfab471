"""``lastblock store``: look after stores of bandits."""

import argparse

from lastblock.cli.arguments import Parser, finish
from lastblock.cli.store_actions import (
    check,
    copy,
    delete,
    evaluate,
    export,
    importing,
    list,
    migrate,
    repair,
    show,
    verify,
)

ACTIONS = (list, show, verify, export, evaluate, migrate, check, copy, importing, repair, delete)
_EPILOG = """\
A STORE is the path of an SQLite file, or postgresql://user:password@host/database.

examples:
  lastblock store list shop.db
  lastblock store show shop.db checkout-button
  lastblock store export shop.db checkout-button log.csv
  lastblock store evaluate shop.db checkout-button --policy LBSDAGM --policy UCB1
  lastblock store check shop.db
  lastblock store migrate postgresql://shop@db.example.com/shop
  lastblock store copy shop.db postgresql://shop@db.example.com/shop
  lastblock store repair shop.db checkout-button rest.jsonl
  lastblock store delete shop.db checkout-button
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "store",
        help="list, show, verify, export, evaluate, copy, repair and delete bandits of a store",
        description="Look after stores of bandits, in SQLite files and on PostgreSQL.",
        epilog=_EPILOG,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    for module in ACTIONS:
        finish(module.add(actions))
    return parser
