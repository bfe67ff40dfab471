"""``lastblock keys``: who may use a service, and for what."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from lastblock.cli.arguments import Parser, finish, number, offer
from lastblock.cli.failures import UserError
from lastblock.cli.store_actions.places import add_place, open_any, open_existing
from lastblock.cli.tables import table
from lastblock.serve.keys import RIGHTS, Key, Keys
from lastblock.store.documents import Documents

_EPILOG = """\
A key is shown once, when it is made; the store keeps a digest of it only. A running server
takes changes over within seconds.

examples:
  lastblock keys create shop.db --scope admin
  lastblock keys create shop.db --scope ask --scope tell --bandit checkout-button --days 90
  lastblock keys list shop.db
  lastblock keys rotate shop.db 4k2m9x0c7vha
  lastblock keys revoke shop.db 4k2m9x0c7vha
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "keys",
        help="make, list, rotate and revoke keys of a service",
        description="Make, list, rotate and revoke the keys with which programs use `lastblock "
        "serve`.",
        epilog=_EPILOG,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    new = actions.add_parser("create", help="make a key, and print it")
    add_place(new, "store", "the path or URL of a store; it is created if need be")
    scope = new.add_argument(
        "--scope",
        action="append",
        required=True,
        metavar="SCOPE",
        choices=RIGHTS,
        help=f"what it allows: {', '.join(RIGHTS)} (everything); may be repeated",
    )
    offer(scope, lambda: RIGHTS)
    new.add_argument(
        "--bandit",
        action="append",
        metavar="NAME",
        help="only for this bandit; may be repeated (default: for all)",
    )
    new.add_argument("--name", default="", metavar="WORD", help="a word to know it by")
    new.add_argument("--days", type=number, metavar="N", help="end it after N days")
    new.set_defaults(execute=create)
    listed = actions.add_parser("list", help="list the keys, without their secrets")
    add_place(listed, "store", "the path or URL of a store")
    listed.set_defaults(execute=list_all)
    for name, text, execute in (
        ("rotate", "give a key another secret, and print it", rotate),
        ("revoke", "end a key", revoke),
    ):
        one = actions.add_parser(name, help=text)
        add_place(one, "store", "the path or URL of a store")
        one.add_argument("id", metavar="ID", help="the id of the key: see `lastblock keys list`")
        one.set_defaults(execute=execute)
    for action in actions.choices.values():
        finish(action)
    return parser


@contextmanager
def _keys(place: str, *, may_create: bool = False) -> Iterator[Keys]:
    storage = (open_any if may_create else open_existing)(place)
    try:
        yield Keys(Documents(storage))
    except LookupError as error:
        raise UserError(str(error.args[0])) from None
    finally:
        storage.close()


def create(options: argparse.Namespace) -> int:
    """Make a key and print it."""
    with _keys(options.store, may_create=True) as keys:
        try:
            text, _ = keys.create(
                options.scope, bandits=options.bandit, name=options.name, days=options.days
            )
        except ValueError as error:
            raise UserError(str(error)) from None
    print(text)
    return 0


def rotate(options: argparse.Namespace) -> int:
    """Give a key another secret and print it."""
    with _keys(options.store) as keys:
        print(keys.rotate(options.id)[0])
    return 0


def revoke(options: argparse.Namespace) -> int:
    """End a key."""
    with _keys(options.store) as keys:
        keys.revoke(options.id)
    print("the key is revoked")
    return 0


def list_all(options: argparse.Namespace) -> int:
    """Print all keys."""
    with _keys(options.store) as keys:
        rows = [_row(key) for key in keys.all()]
    print(table(("id", "name", "scopes", "bandits", "created", "expires"), rows, aligned="<<<<<<"))
    return 0


def _row(key: Key) -> tuple[str, ...]:
    bandits = "all" if key.bandits is None else ", ".join(key.bandits)
    return key.id, key.name, ", ".join(key.scopes), bandits, key.created, key.expires or "never"
