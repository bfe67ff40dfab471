"""Imports the user's own policies, detectors and arm families from files that a scenario names.

A file is imported under a name made from its path. So two files of the same name do not collide,
and an edited file replaces its former version. A pickled policy or arm contains the text of its
file, so that it can be sent to processes that do not have the file.
"""

import hashlib
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from lastblock.lab.registries import REGISTRIES
from lastblock.lab.scenario_files.document import TomlTable, read_text
from lastblock.support.errors import ScenarioError, short
from lastblock.support.spelling import nearest


class File(ModuleType):
    """A module made from the text of a file."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name)
        self.__file__ = path
        self.__text__ = text


_files: dict[str, File] = {}
_origins: dict[type[Any], File] = {}


def read_imports(top: TomlTable, folder: Path) -> None:
    """Import the modules and the files that `imports` names; paths are relative to `folder`."""
    wanted = top.values.get("imports", [])
    if not isinstance(wanted, list):
        raise top.error(
            f'imports={short(wanted)} must be a list, such as ["my_policies.py"]', "imports"
        )
    for i, item in enumerate(wanted):
        try:
            _import(item, folder)
        except Exception as error:  # a user's own file may raise anything
            raise top.error(_reason(item, error), "imports", i) from None


def import_item(item: str, folder: Path) -> None:
    """Import one file or module that a command line names; paths are relative to `folder`.

    Raises
    ------
    ScenarioError
        If it cannot be imported; the message says why.
    """
    try:
        _import(item, folder)
    except Exception as error:  # a user's own file may raise anything
        raise ScenarioError(f"--imports: {_reason(item, error)}") from None


def _import(item: Any, folder: Path) -> None:
    if not isinstance(item, str) or not item:
        raise ValueError(f"{short(item)} must be the name of a file or module, in quotes")
    path = folder / item
    if item.endswith(".py"):
        if not path.exists():
            hint = _advice(item, folder, f"lastblock looked in {folder.resolve()}")
            raise ValueError(f"there is no file {item!r}; {hint}")
        with _importing_from(path.parent):
            import_text(_module_name(path), str(path), read_text(path, item))
        return
    try:
        with _all_or_nothing():
            importlib.import_module(item)
    except ModuleNotFoundError as error:
        if f"{item}.".startswith(f"{error.name}."):  # the module itself, not one that it imports
            hint = _advice(item, folder, "install the module, or name a file that ends in .py")
            raise ValueError(f"there is no module {item!r}; {hint}") from None
        raise


def import_text(name: str, path: str, text: str) -> File:
    """Return the module with this text; run it unless a module with the same text exists."""
    for file in _files.values():
        if file.__text__ == text:
            return file
    file = File(name, path, text)
    with _all_or_nothing():
        code = _compiled(text, path)
        for registry, cls in _definitions(name):  # those of the file before its last edit
            del registry[cls.__name__]
        sys.modules[name] = file  # Python looks up annotations there
        try:
            exec(code, file.__dict__)
        except BaseException:
            del sys.modules[name]
            if name in _files:
                sys.modules[name] = _files[name]
            raise
    _files[name] = file
    for _, cls in _definitions(name):
        _origins[cls] = file
        cls.__reduce__ = _reduce  # type: ignore[assignment]  # a method of every class
    return file


def _compiled(text: str, path: str) -> CodeType:
    try:
        return compile(text, path, "exec")
    except ValueError as error:  # older versions of Python raise this for a null byte
        raise SyntaxError(str(error), (path, 1, None, None)) from None


def _definitions(module: str) -> list[tuple[dict[str, type[Any]], type[Any]]]:
    """Return the registry and the class of everything that a module has registered."""
    return [
        (registry, cls)
        for registry in REGISTRIES
        for cls in registry.values()
        if cls.__module__ == module
    ]


def _reduce(self: Any) -> tuple[Any, ...]:
    """Pickle a policy or an arm together with the text of the file that defines it."""
    file = _origins[type(self)]
    parts = file.__name__, file.__file__, file.__text__, type(self).__name__, tuple(self)
    return _rebuild, parts


def _rebuild(module: str, path: str, text: str, name: str, values: tuple[Any, ...]) -> Any:
    return getattr(import_text(module, path, text), name)(*values)


def _module_name(path: Path) -> str:
    """Return a module name that differs between files of the same name."""
    place = hashlib.blake2b(str(path.resolve()).encode(), digest_size=4).hexdigest()
    return f"scenario_{path.stem}_{place}"


def _advice(item: str, folder: Path, otherwise: str) -> str:
    near = nearest(item.removesuffix(".py"), [path.stem for path in folder.glob("*.py")])
    return otherwise if near is None else f"did you mean '{near}.py'?"


def _reason(item: Any, error: Exception) -> str:
    """Return what went wrong in a file, and in which line of it."""
    if isinstance(error, SyntaxError):
        return f"{item}, line {error.lineno or 1}: {error.msg}"
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(str(item)):
            line = trace.tb_lineno
        trace = trace.tb_next
    text = f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    for file in _files.values():  # show the file's path instead of our name for its module
        text = text.replace(file.__name__, str(file.__file__))
    return text if line is None else f"{item}, line {line}: {text}"


@contextmanager
def _all_or_nothing() -> Iterator[None]:
    """Remove the policies, detectors and families that a failing file registered."""
    before = [dict(registry) for registry in REGISTRIES]
    try:
        yield
    except BaseException:
        for registry, old in zip(REGISTRIES, before, strict=True):
            registry.clear()
            registry.update(old)
        raise


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Let a file import other files of its folder."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
