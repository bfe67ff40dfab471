"""A hash of the user's own code: the files of policies and arms, and those that they import.

The address of a chunk covers everything that determines its outcome. A hash of the package's
sources covers the package's own code; this one covers the files that define a user's classes and,
at any depth, the user's modules that these files import. An installed package counts by its version
and the hashes of its files.
"""

import ast
import functools
import hashlib
import importlib.metadata
import importlib.util
import operator
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType

from lastblock.kernels.own_code import STARTED

_PACKAGE = __name__.partition(".")[0]
_HASHED = {_PACKAGE, "numpy", "numba", *sys.builtin_module_names}  # the package's hash covers them


class _NoFileError(Exception):
    """Raised for code that no file tells."""


def fingerprint(*values: object) -> str | None:
    """Hash the files of the classes and functions in these values from outside the package.

    Returns
    -------
    str or None
        The hash, in hexadecimal; "" if there is no such class or function. None if no file tells
        the code: that of a notebook's cell, that of a class made by a function, and that of a file
        that has changed since the package was imported.
    """
    contents: dict[str, bytes] = {}
    try:
        for code in _foreign(values, {}):
            _add(code.__module__, contents)
            if _top(code.__module__) not in sys.stdlib_module_names and not _is_named(code):
                raise _NoFileError
    except _NoFileError:
        return None
    about = repr(sorted(contents.items())).encode()
    return hashlib.blake2b(about, digest_size=16).hexdigest() if contents else ""


def _foreign(value: object, met: dict[int, object]) -> Iterator[type | FunctionType]:
    """Yield the classes and functions in a value, at any depth, that are not the package's."""
    if id(value) in met:
        return
    met[id(value)] = value  # which holds it, so that no other object gets its id
    code = value if isinstance(value, FunctionType | type) else type(value)
    if _top(code.__module__) not in _HASHED:
        yield code
    parts: list[object] = []
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif code is not value and (_top(code.__module__) == _PACKAGE or is_users(code.__module__)):
        parts = list(getattr(value, "__dict__", {}).values())
    for part in parts:
        yield from _foreign(part, met)


def _is_named(code: type | FunctionType) -> bool:
    """Return whether a module has this very class or function under its name."""
    try:
        return operator.attrgetter(code.__qualname__)(sys.modules.get(code.__module__)) is code
    except AttributeError:
        return False


def _add(name: str, contents: dict[str, bytes]) -> None:
    """Add the file of a user's module and of all that it imports, or a package's version."""
    top, parent = _top(name), name.rpartition(".")[0]
    if name in contents or top in _HASHED:
        return
    if not is_users(name):
        if top not in sys.stdlib_module_names:
            contents[top] = _version(top)
        return
    if parent:
        _add(parent, contents)
    module, file = sys.modules.get(name), _file(name)
    if file is None:
        if module is not None and not hasattr(module, "__path__"):
            raise _NoFileError
        return
    text = getattr(module, "__text__", None)  # the file of a scenario, as it was read
    if text is None and (not file.is_file() or file.stat().st_mtime > STARTED):
        raise _NoFileError
    contents[name] = file.read_bytes() if text is None else str(text).encode()
    for other in _imported(contents[name], name if file.stem == "__init__" else parent):
        _add(other, contents)


def _imported(source: bytes, package: str) -> Iterator[str]:
    """Yield the names of the modules that a source imports anywhere, and of what may be modules."""
    with suppress(SyntaxError, ValueError):  # it is compiled
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                with suppress(ImportError):  # it leaves the package
                    name = "." * node.level + (node.module or "")
                    base = importlib.util.resolve_name(name, package)
                    yield from (f"{base}.{alias.name}" for alias in node.names)


def is_users(name: str) -> bool:
    """Return whether a module is neither of this package, nor Python's, nor installed."""
    top = _top(name)
    file = _file(top)
    if file is None or top in _HASHED:
        return top not in {*_HASHED, *sys.stdlib_module_names}
    return not any(file.is_relative_to(folder) for folder in _folders())


def _file(name: str) -> Path | None:
    """Return the file of a module, if it has one; this imports nothing but packages around it."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if name not in sys.modules:
        with suppress(ImportError, ValueError, AttributeError):
            spec = importlib.util.find_spec(name)
            file = spec.origin if spec is not None and spec.has_location else None
    return None if file is None else Path(os.path.realpath(file))


@functools.cache
def _folders() -> tuple[str, ...]:
    kinds = "purelib", "platlib", "stdlib", "platstdlib"
    paths = [*map(sysconfig.get_path, kinds), *site.getsitepackages(), site.getusersitepackages()]
    return tuple({os.path.realpath(path) for path in paths})


@functools.cache
def _version(top: str) -> bytes:
    """Return what distributions say of a package: their versions, and hashes of all files."""
    names = set(importlib.metadata.packages_distributions().get(top, ()))
    found = map(importlib.metadata.distribution, sorted(names))
    return "".join(f"{one.version}\n{one.read_text('RECORD')}" for one in found).encode()


def _top(name: str) -> str:
    return name.partition(".")[0]
