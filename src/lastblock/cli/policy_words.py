"""Policies as users write them on the command line: ``LBSDAGM``, ``Thompson(family="gaussian")``.

The words are those of Python, and of messages that show a policy. Nothing else is evaluated than
names of policies and detectors, their constructors and literals.
"""

import argparse
import ast
from pathlib import Path
from typing import Any

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.cli.failures import UserError
from lastblock.core.protocol import Policy
from lastblock.core.registry import DETECTORS, POLICIES, require_policy
from lastblock.support.errors import short
from lastblock.support.spelling import advice

_EXAMPLE = """such as LBSDAGM or 'SWLBSDA(window=400)'"""


def offer_policies(action: argparse.Action) -> None:
    """Let the shell complete the names of policies for an argument."""
    offer(action, lambda: POLICIES)


def read_policy(text: str) -> Policy:
    """Return the policy that a text describes.

    Parameters
    ----------
    text
        The name of a policy, alone or with parameters in parentheses, as in Python.

    Raises
    ------
    UserError
        If the text is not a policy; the message says why.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UserError(
            f"policy {short(text)}: this is not a policy; write one {_EXAMPLE}"
        ) from None
    try:
        made = _made(tree)
        require_policy(made)
    except UserError:
        raise
    except (TypeError, ValueError) as error:
        # What is wrong with a name alone has the name in it already.
        where = "" if isinstance(tree, ast.Name) else f"policy {short(text)}: "
        raise UserError(f"{where}{error}") from None
    policy: Policy = made
    return policy


def read_policies(texts: list[str]) -> dict[str, Policy]:
    """Return policies by the texts that describe them."""
    return {text: read_policy(text) for text in texts}


def _made(node: ast.expr) -> Any:
    """Return what an expression means: a policy, a detector, or a plain value."""
    match node:
        case ast.Name():
            return _class(node)()
        case ast.Call(func=ast.Name() as name):
            return _call(_class(name), node)
        case ast.Call(func=ast.Attribute(value=ast.Name() as name, attr=constructor)):
            cls = _class(name)
            known = [other for other in ("tuned",) if hasattr(cls, other)]
            if constructor not in known:
                hint = advice(constructor, known) if known else f"write {name.id}(…)"
                raise ValueError(f"{name.id} has no constructor {constructor!r}; {hint}")
            return _call(getattr(cls, constructor), node)
        case ast.Tuple() | ast.List():
            return tuple(_made(item) for item in node.elts)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        raise ValueError(f"{ast.unparse(node)!r} is not a value; write one {_EXAMPLE}") from None


def _class(name: ast.Name) -> Any:
    known = POLICIES | DETECTORS
    if name.id not in known:
        names = [*sorted(POLICIES, key=str.casefold), *sorted(DETECTORS, key=str.casefold)]
        raise ValueError(f"unknown policy {name.id!r}; {advice(name.id, names)}")
    return known[name.id]


def _call(made: Any, node: ast.Call) -> Any:
    if any(keyword.arg is None for keyword in node.keywords):
        raise ValueError("give each parameter by its name")
    return made(
        *(_made(argument) for argument in node.args),
        **{str(keyword.arg): _made(keyword.value) for keyword in node.keywords},
    )


def add_imports(parser: Parser) -> None:
    """Add --imports, for policies of the user's own."""
    action = parser.add_argument(
        "--imports",
        action="append",
        default=[],
        metavar="FILE",
        help="a .py file or module that defines policies of your own; may be given several times",
    )
    offer(action, files=FILE)


def import_all(options: argparse.Namespace) -> None:
    """Import what --imports names."""
    if options.imports:
        from lastblock.lab.scenario_files.imports import import_item  # noqa: PLC0415  # slow

        for item in options.imports:
            import_item(item, Path())
