"""Find out whether code is the user's, or of a package whose version identifies the code."""

import builtins
import dis
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import operator
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np

_PACKAGE = __name__.partition(".")[0]
_HASHED = "hashed"
"""The origin of this package, Python, numpy and numba: `sources_hash` covers their versions."""


def origin(space: dict[str, Any]) -> str | None:
    """Return the origin of functions with these globals; see `origin_of_module`."""
    name = space.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None or vars(module) is not space:
        return None
    return origin_of_module(module)


def origin_of_class(cls: type) -> str | None:
    """Return the origin of a class; see `origin_of_module`."""
    module = sys.modules.get(cls.__module__)
    found = None if module is None else origin_of_module(module)
    if found is None or _top(cls.__module__) == _PACKAGE or not hasattr(module, "__file__"):
        return found
    try:  # a class that a function made may claim the module of that function
        there = operator.attrgetter(cls.__qualname__)(module)
    except AttributeError:
        there = None
    return found if there is cls else None


def origin_of_module(module: ModuleType) -> str | None:
    """Return the version of the package that a module belongs to.

    Returns
    -------
    str or None
        None for the user's own code: no version tells when it changes, so it has to be hashed.
    """
    top = _top(module.__name__)
    if top == _PACKAGE:
        return _HASHED
    file = getattr(module, "__file__", None)
    if file is None:  # it is compiled into Python, or was made at run time
        return _HASHED if sys.modules.get(module.__name__) is module and _is_pythons(top) else None
    place = os.path.realpath(file)
    if _lies_in(place, _site_folders()):
        return installed(top)
    return _HASHED if _lies_in(place, _python_folders()) else None


@functools.cache
def installed(top: str) -> str | None:
    """Return the versions of the distributions that installed a package, and hashes of their files.

    Returns None for a package that no distribution has installed.
    """
    if top in {"numpy", "numba", "llvmlite"}:
        return _HASHED
    names = sorted(set(importlib.metadata.packages_distributions().get(top, ())))
    found = []
    for name in names:
        distribution = importlib.metadata.distribution(name)
        # RECORD lists all files with their hashes. We need them because packages under development
        # are often installed again without a new version.
        record = (distribution.read_text("RECORD") or "").encode()
        found.append(
            f"{name} {distribution.version} {hashlib.blake2b(record, digest_size=8).hexdigest()}"
        )
    return ", ".join(found) or None


def home_of_ufunc(ufunc: np.ufunc) -> str:
    """Return the package of a ufunc, with its version; a ufunc may not know its module."""
    if getattr(np, ufunc.__name__, None) is ufunc:
        return _HASHED
    tops = {
        _top(name)
        for name, module in list(sys.modules.items())
        if getattr(module, "__dict__", {}).get(ufunc.__name__) is ufunc
    }
    return ", ".join(sorted(f"{top}: {version}" for top in tops if (version := installed(top))))


def imported(code: CodeType, space: dict[str, Any]) -> Iterator[ModuleType]:
    """Import the user's modules that code imports when it runs, and yield them."""
    instructions = list(dis.get_instructions(code))
    for i, instruction in enumerate(instructions):
        if instruction.opname != "IMPORT_NAME":
            continue
        level, name = instructions[i - 2].argval, str(instruction.argval)
        if level == 0 and (_is_pythons(_top(name)) or installed(_top(name)) is not None):
            continue  # not the user's; the bytecode has its name
        try:
            dots = "." * (level if isinstance(level, int) else 0)
            yield importlib.import_module(dots + name, space.get("__package__"))
        except Exception:  # the code may never reach this import
            continue
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from imported(constant, space)


def _top(name: str) -> str:
    return name.partition(".")[0]


def _is_pythons(top: str) -> bool:
    return top in sys.stdlib_module_names or top == builtins.__name__


def _lies_in(place: str, folders: tuple[str, ...]) -> bool:
    return any(place.startswith(folder + os.sep) for folder in folders)


@functools.cache
def _site_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    return tuple({os.path.realpath(f) for f in [*folders, site.getusersitepackages()]})


@functools.cache
def _python_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib")})
