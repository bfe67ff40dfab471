"""``lastblock serve``: bandits behind HTTP."""

import argparse
import os
from typing import Any

from lastblock.cli.arguments import FILE, Parser, number, offer, whole
from lastblock.cli.failures import UserError
from lastblock.serve.settings import NAMES, SettingError, about, kind_of, read_settings

_EPILOG = """\
A STORE is the path of an SQLite file, or postgresql://user:password@host/database.

Settings may also come from the environment (LASTBLOCK_PORT=8080); a flag comes before it.

examples:
  lastblock serve shop.db
  lastblock serve shop.db --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "serve",
        help="put the bandits of a store behind HTTP",
        description="Put the bandits of a store behind HTTP, for programs in any language. It "
        "prints where it listens and, once, the first admin key; SIGTERM ends it in order.",
        epilog=_EPILOG,
    )
    offer(
        parser.add_argument("store", nargs="?", metavar="STORE", help=about("store").text),
        files=FILE,
    )
    for name in NAMES:
        if name != "store":
            _add_flag(parser, name)
    parser.set_defaults(execute=execute)
    return parser


def _add_flag(parser: Parser, name: str) -> None:
    known, kind = about(name), kind_of(name)
    options: dict[str, Any] = {"dest": name, "default": None, "help": known.text}
    if kind is bool:
        options["action"] = argparse.BooleanOptionalAction
    else:
        options["metavar"] = known.metavar or None
        options["type"] = {int: whole(), float: number}.get(kind, str)  # `_checked` knows ranges
        options["choices"] = known.choices or None
    parser.add_argument(f"--{name.replace('_', '-')}", **options)


def execute(options: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    try:
        settings = read_settings(vars(options), os.environ)
        from lastblock.serve.server import greeting, run  # noqa: PLC0415  # optional, slow

        run(settings, lambda state, url: print(greeting(state, url), flush=True))
    except SettingError as error:
        raise UserError(str(error)) from None
    return 0
