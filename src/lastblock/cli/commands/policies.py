"""``lastblock policies``: every policy, its parameters and what it does."""

import argparse
import inspect
from typing import Any

from lastblock.cli import names
from lastblock.cli.arguments import Parser, offer
from lastblock.core.registry import POLICIES

_EPILOG = """\
examples:
  lastblock policies
  lastblock policies SWLBSDA
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "policies",
        help="list the policies and their parameters",
        description="List the policies with their parameters, or tell all about one.",
        epilog=_EPILOG,
    )
    name = parser.add_argument("name", nargs="?", metavar="NAME", help="tell all about this one")
    offer(name, lambda: POLICIES)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print the list, or one policy."""
    if options.name is not None:
        print(_details(POLICIES[names.check(options.name, POLICIES, "policy")]))
        return 0
    for cls in sorted(POLICIES.values(), key=lambda cls: cls.__name__.casefold()):
        print(f"{_call(cls)}\n    {_summary(cls)}")
    print("\nlastblock policies NAME tells all about one.")
    return 0


def _call(cls: type[Any]) -> str:
    """The parameters as in a call; those with a default with it."""
    defaults = cls._field_defaults
    shown = [
        f"{name}={_plain(defaults[name])}" if name in defaults else name for name in cls._fields
    ]
    return f"{cls.__name__}({', '.join(shown)})"


def _plain(value: Any) -> str:
    return value.name.lower() if hasattr(value, "name") else repr(value)


def _summary(cls: type[Any]) -> str:
    """The first sentence of the docstring."""
    first = (inspect.getdoc(cls) or "").partition("\n\n")[0]
    return " ".join(first.split())


def _details(cls: type[Any]) -> str:
    parts = [_call(cls), inspect.getdoc(cls) or ""]
    tuned = getattr(cls, "tuned", None)
    if tuned is not None:
        arguments = ", ".join(inspect.signature(tuned).parameters)
        parts.append(f"{cls.__name__}.tuned({arguments})\n    {inspect.getdoc(tuned)}")
    return "\n\n".join(parts)
