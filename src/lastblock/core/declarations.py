"""Check a user's class when it is declared, and the names in its methods before they are compiled.

Numba reports a misspelt name somewhere in two hundred lines. Most such mistakes can be seen in the
source: a field that the layout does not have, a parameter, a function or a method that is missing.
"""

import ast
import builtins
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from lastblock.core.checked import is_own
from lastblock.support.errors import PolicyError
from lastblock.support.spelling import advice

POLICY_METHODS = {
    "layout": ("self", "arms", "horizon"),
    "plan": ("self", "s"),
    "observe": ("self", "s", "arm", "reward"),
}
POLICY_EXTRAS = {
    "start": ("self", "s"),
    "full": ("self", "s", "arm"),
    "support": ("self",),
    "resized": ("self", "s", "before", "arm"),
    "replanned": ("self", "s", "planned", "kept"),
    "held": ("self", "s", "arm"),
    "explain": ("self", "s"),
    "validate": ("self",),
}
DETECTOR_METHODS = {
    "layout": ("self", "arms"),
    "reset": ("self", "d"),
    "notice": ("self", "d", "arm", "reward", "age"),
}
DETECTOR_EXTRAS = {"support": ("self",)}
FAMILY_METHODS = {
    "parameters": ("self",),
    "draw": ("a", "b", "c", "d", "table", "at", "word", "scratch"),
}
_COMPILED = ("start", "plan", "observe", "full", "reset", "notice")


def without_parentheses(decorator: str, given: object) -> TypeError:
    """Return the error for ``@policy`` without its parentheses."""
    name = getattr(given, "__name__", repr(given))
    return TypeError(f"write @{decorator}() above class {name}: the parentheses are missing")


def check_named_tuple(cls: type[Any], decorator: str) -> None:
    """Raise a TypeError unless a class is a NamedTuple."""
    if isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return
    name = getattr(cls, "__name__", repr(cls))
    found = "a dataclass" if dataclasses.is_dataclass(cls) else "not a NamedTuple"
    instead = "leave out @dataclass and write" if dataclasses.is_dataclass(cls) else "write"
    raise TypeError(
        f"{name} is {found}, but @{decorator}() needs a NamedTuple, whose parameters cannot "
        f"change: {instead} class {name}(NamedTuple):"
    )


def check_methods(
    cls: type[Any],
    required: Mapping[str, tuple[str, ...]],
    optional: Mapping[str, tuple[str, ...]],
) -> None:
    """Raise a TypeError if a user's class lacks a method, or one takes other arguments.

    Compiled code finds the arguments by their names, so names and order are fixed.
    """
    if is_own(cls):
        return
    for name, arguments in {**required, **optional}.items():
        method = getattr(cls, name, None)
        wanted = f"def {name}({', '.join(arguments)}):"
        if method is None:
            if name not in required:
                continue
            near = _misspelt(cls, name, {*required, *optional})
            hint = f"did you mean {name} by {near}?" if near else f"add {wanted}"
            raise TypeError(f"{cls.__name__} has no method {name}; {hint}")
        code = getattr(method, "__code__", None)
        if code is not None and code.co_varnames[: code.co_argcount] != arguments:
            has = ", ".join(code.co_varnames[: code.co_argcount])
            raise TypeError(
                f"{place_of(method)}: {cls.__name__}.{name}({has}): write {wanted} "
                "names and order of the arguments are fixed"
            )


def _misspelt(cls: type[Any], name: str, known: Collection[str]) -> str | None:
    """Return a method of a class whose name is like a missing one's."""
    own = [key for key, value in vars(cls).items() if callable(value) and key[0] != "_"]
    said = advice(name, [key for key in own if key not in known])
    return said.split("'")[1] if said.startswith("did you mean") else None


def place_of(method: Any, line: int = 0) -> str:
    """Return the file and a line of a method, counted from its first one: ``file.py:17``."""
    code = method.__code__
    return shown_place(code.co_filename, code.co_firstlineno + line)


def shown_place(file: str, line: int) -> str:
    """Return a file and a line, relative to the working folder if the file lies below it."""
    path = Path(file)
    with suppress(OSError, ValueError):
        path = path.relative_to(Path.cwd())
    return f"{path}:{line}"


def check_layout(part: Any, layout: Any, taken: Collection[str]) -> list[str]:
    """Return the names of the fields in a user's layout; raise a PolicyError if it is wrong.

    Parameters
    ----------
    part
        A policy or detector.
    layout
        What its method `layout` returned.
    taken
        The names that its fields must not have.
    """
    where = f"{place_of(type(part).layout)}: {type(part).__name__}.layout"
    example = 'such as ("sums", np.float64, (arms,)) or ("total", np.float64)'
    if not isinstance(layout, list):
        raise PolicyError(f"{where} must return a list of fields, {example}; it returns {layout!r}")
    names: list[str] = []
    for field in layout:
        if not isinstance(field, tuple) or len(field) not in (2, 3) or not _is_name(field[0]):
            raise PolicyError(f"{where}: {field!r} is not a field, {example}")
        if field[0] in taken or field[0] in names:
            who = "the engine's" if field[0] in taken else "another"
            raise PolicyError(f"{where}: {field[0]!r} is the name of {who} field; choose another")
        try:
            kind = np.dtype(field[1])
        except TypeError:
            raise PolicyError(f"{where}: {field[0]!r} has no numpy type but {field[1]!r}") from None
        if kind.names is None and kind.base.kind not in "biuf":
            raise PolicyError(
                f"{where}: {field[0]!r} has the type {kind}; fields are numbers, such as "
                "np.float64 and np.int64, or arrays of them"
            )
        names.append(field[0])
    return names


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier() and name[0] != "_"


def check_names(part: Any, fields: Collection[str]) -> None:
    """Raise a PolicyError if a method uses a field, parameter or function that does not exist.

    Parameters
    ----------
    part
        A policy or detector; what it wraps is not looked at.
    fields
        The names of the fields of its record.
    """
    cls: Any = type(part)
    if not is_own(cls):
        _check_names(cls, frozenset(fields))


@functools.lru_cache(maxsize=256)
def _check_names(cls: type[Any], fields: frozenset[str]) -> None:
    for name in _COMPILED:
        method = getattr(cls, name, None)
        if method is not None and hasattr(method, "__code__"):
            _check_method(cls, name, method, fields)


def _check_method(cls: type[Any], name: str, method: Any, fields: frozenset[str]) -> None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    except (OSError, SyntaxError, TypeError):
        return  # no source, as for a class made by exec(); the compiler finds the mistake then
    code, known = method.__code__, method.__globals__
    me, record = (*code.co_varnames, "", "")[:2]
    local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    stored = set(_stored_in(tree))
    first = min((node.lineno for node in ast.walk(tree) if hasattr(node, "lineno")), default=1)

    def wrong(node: Any, text: str) -> PolicyError:
        place = place_of(method, node.lineno - first)
        return PolicyError(f"{place}: {cls.__name__}.{name}: {text}")

    for node in ast.walk(_body(tree)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, attribute = node.value.id, node.attr
            if owner == record and record not in stored and attribute not in fields:
                raise wrong(
                    node,
                    f"its record has no field {attribute!r}; {advice(attribute, sorted(fields))}",
                )
            if owner == me and me not in stored and not hasattr(cls, attribute):
                options = [*cls._fields, *_public(cls)]
                raise wrong(
                    node,
                    f"{cls.__name__} has no parameter {attribute!r}; {advice(attribute, options)}",
                )
            module = None if owner in local else known.get(owner)
            if isinstance(module, ModuleType) and not hasattr(module, attribute):
                raise wrong(
                    node,
                    f"there is no {owner}.{attribute}; {_guess(attribute, dir(module))}",
                )
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id not in local and node.id not in known and not hasattr(builtins, node.id):
                raise wrong(node, f"the name {node.id!r} is not defined; {_guess(node.id, known)}")


def _body(tree: ast.Module) -> ast.Module:
    """Return the statements of a method without its decorators and annotations."""
    method: Any = tree.body[0]
    return ast.Module(body=method.body, type_ignores=[])


def _stored_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a method assigns to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _public(cls: type[Any]) -> list[str]:
    return [name for name in vars(cls) if name[0] != "_"]


def _guess(name: str, options: Collection[str]) -> str:
    """Return what was probably meant; not a list of all options, since there are hundreds."""
    said = advice(name, options)
    return said if said.startswith("did you mean") else "define or import it"
