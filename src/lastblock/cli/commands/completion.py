"""``lastblock completion``: a script that lets the shell complete the program's arguments."""

import argparse
from typing import Any

from lastblock.cli.arguments import Parser

SHELLS = ("bash", "zsh", "tcsh")
_EPILOG = """\
examples:
  eval "$(lastblock completion bash)"                  in this shell
  lastblock completion zsh > ~/.zfunc/_lastblock       in every shell with ~/.zfunc in $fpath
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "completion",
        help="print a completion script for the shell",
        description="Print a script that lets the shell complete commands, options and names.",
        epilog=_EPILOG,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print the script."""
    import shtab  # noqa: PLC0415  # optional, and slow to import

    from lastblock.cli.parser import make_parser  # which imports this module  # noqa: PLC0415

    parser = make_parser()
    for action in _actions(parser):
        offered, files = getattr(action, "offered", (None, None))
        if offered and files:
            action.complete = _names_or_files(list(offered()))  # type: ignore[attr-defined]  # shtab reads this attribute
        elif offered:
            action.choices = list(offered())
        elif files:
            action.complete = getattr(shtab, files)  # type: ignore[attr-defined]  # shtab reads this attribute
    print(shtab.complete(parser, options.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of the program and of all its commands."""
    actions = list(parser._actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                actions += _actions(command)
    return actions


def _names_or_files(names: list[str]) -> dict[str, Any]:
    """Return shtab's completion of a scenario: one of `names`, or a TOML file."""
    words = " ".join(names)
    return {
        "bash": "_lastblock_scenario_files",
        "zsh": "_lastblock_scenario_files",
        "tcsh": "f:*.toml",
        "preamble": {
            "bash": (
                "_lastblock_scenario_files() {\n"
                f'  compgen -W "{words}" -- $1\n'
                "  compgen -f -X '!*.toml' -- $1\n"
                "  compgen -d -- $1\n"
                "}\n"
            ),
            "zsh": (
                "_lastblock_scenario_files() {\n"
                f"  _alternative 'names:scenario:({words})' 'files:file:_files -g \"*.toml\"'\n"
                "}\n"
            ),
        },
    }
