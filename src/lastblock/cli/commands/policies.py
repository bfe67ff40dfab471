"""``lastblock policies``: list every policy with its parameters and what it does."""

import argparse
import inspect
from typing import Any

from lastblock.cli.arguments import Parser, offer
from lastblock.cli.failures import check_name
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
        description="List the policies with their parameters, or describe one in full.",
        epilog=_EPILOG,
    )
    name = parser.add_argument(
        "name", nargs="?", metavar="NAME", help="describe this policy in full"
    )
    offer(name, lambda: POLICIES)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print the list, or the description of one policy."""
    if options.name is not None:
        known = sorted(POLICIES, key=str.casefold)
        print(_details(POLICIES[check_name(options.name, known, "policy")]))
        return 0
    for cls in sorted(POLICIES.values(), key=lambda cls: cls.__name__.casefold()):
        print(f"{_call(cls)}\n    {_summary(cls)}")
    print("\nlastblock policies NAME describes one in full.")
    return 0


def _call(cls: type[Any]) -> str:
    """Return the policy's name and parameters as in a call, with the defaults."""
    defaults = cls._field_defaults
    parameters = [
        f"{name}={_plain(defaults[name])}" if name in defaults else name for name in cls._fields
    ]
    return f"{cls.__name__}({', '.join(parameters)})"


def _plain(value: Any) -> str:
    """Return a default as a user would write it: a word for a member of an enumeration."""
    return value.name.lower() if hasattr(value, "name") else repr(value)


def _summary(cls: type[Any]) -> str:
    """Return the first paragraph of the class's docstring, on one line."""
    first = (inspect.getdoc(cls) or "").partition("\n\n")[0]
    return " ".join(first.split())


def _details(cls: type[Any]) -> str:
    parts = [_call(cls), inspect.getdoc(cls) or ""]
    tuned = getattr(cls, "tuned", None)
    if tuned is not None:
        arguments = ", ".join(inspect.signature(tuned).parameters)
        parts.append(f"{cls.__name__}.tuned({arguments})\n    {inspect.getdoc(tuned)}")
    return "\n\n".join(parts)
