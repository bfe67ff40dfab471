"""``lastblock init``: write a commented scenario to start from."""

import argparse
from pathlib import Path

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.cli.failures import UserError
from lastblock.support import files

_DEFAULT = Path("scenario.toml")
_EPILOG = """\
examples:
  lastblock init
  lastblock init my.toml && lastblock run my.toml
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "init",
        help="write a commented scenario to start from",
        description="Write a commented scenario to start from. It runs as it is.",
        epilog=_EPILOG,
    )
    file = parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        default=_DEFAULT,
        metavar="FILE",
        help=f"the file to write (default: {_DEFAULT}); an existing file is never overwritten",
    )
    offer(file, files=FILE)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Write the file and print the next command."""
    from lastblock.lab.scenario_files.reading import TEMPLATE  # noqa: PLC0415  # slow to import

    path: Path = options.file
    if path.exists():
        raise UserError(f"{path} exists already; choose another name: lastblock init FILE")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent}; make it first")
    files.write(path, TEMPLATE.encode())
    print(f"wrote {path}; edit it, then run: lastblock run {path}")
    return 0
