"""Policies and arm families of the user's own, from Python files that a scenario names.

A file is imported under a name made from its path, so that files of the same name do not meet, and
an edited file replaces its former self. Its policies and arms can be sent to other processes, which
need not have the file: it travels with them.
"""

import hashlib
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from lastblock.families import FAMILIES
from lastblock.lab.document import Table, nearest, read_text, shown
from lastblock.protocol import POLICIES

_TEXT = "__lastblock_text__"


def read_imports(top: Table, folder: Path) -> None:
    """Import what a scenario names: files, relative to its folder, and modules."""
    wanted = top.values.get("imports", [])
    if not isinstance(wanted, list):
        raise top.error(f'imports={shown(wanted)} must be a list: ["my_policies.py"]', "imports")
    for i, item in enumerate(wanted):
        if not isinstance(item, str) or not item:
            raise top.error(
                f"imports: {shown(item)} must be a file or module in quotes", "imports", i
            )
        try:
            if item.endswith(".py"):
                path = folder / item
                if not path.exists():
                    hint = _advice(item, folder, f"it is looked for in {folder.resolve()}")
                    raise ValueError(f"there is no file {item!r}; {hint}")
                import_text(
                    _module_name(path), str(path), read_text(path, item), folder=path.parent
                )
            else:
                with _all_or_nothing():
                    importlib.import_module(item)
        except ModuleNotFoundError as error:
            if error.name != item.partition(".")[0]:
                raise top.error(f"imports: {_reason(item, error)}", "imports", i) from None
            hint = _advice(item, folder, "install the module, or name a file that ends in .py")
            raise top.error(f"imports: there is no module {item!r}; {hint}", "imports", i) from None
        except Exception as error:  # a file of the user's may raise anything
            raise top.error(f"imports: {_reason(item, error)}", "imports", i) from None


def import_text(module: str, path: str, text: str, *, folder: Path | None = None) -> ModuleType:
    """The module of a file with this text; imported already, it is not run again."""
    known = sys.modules.get(module)
    if known is not None and getattr(known, _TEXT, None) == text:
        return known
    made = ModuleType(module)
    made.__file__ = path
    setattr(made, _TEXT, text)
    with _all_or_nothing(), _importing_from(folder):
        code = compile(text, path, "exec")
        sys.modules[module] = made  # the decorators look up annotations there
        try:
            exec(code, made.__dict__)
        except BaseException:
            if known is None:
                del sys.modules[module]
            else:
                sys.modules[module] = known
            raise
    for registry in (POLICIES, FAMILIES):
        for cls in registry.values():
            if cls.__module__ == module:
                cls.__reduce__ = _reduce  # type: ignore[assignment]  # a method of every class
    return made


def _reduce(self: Any) -> tuple[Any, ...]:
    """How a policy or an arm is pickled: with the file that defines it."""
    module = sys.modules[type(self).__module__]
    return _rebuild, (
        module.__name__,
        module.__file__,
        getattr(module, _TEXT),
        type(self).__name__,
        tuple(self),
    )


def _rebuild(module: str, path: str, text: str, name: str, values: tuple[Any, ...]) -> Any:
    return getattr(import_text(module, path, text), name)(*values)


def _module_name(path: Path) -> str:
    place = hashlib.blake2b(str(path.resolve()).encode(), digest_size=4).hexdigest()
    return f"scenario_{path.stem}_{place}"


def _advice(item: str, folder: Path, otherwise: str) -> str:
    near = nearest(item.removesuffix(".py"), [path.stem for path in folder.glob("*.py")])
    return otherwise if near is None else f"did you mean '{near}.py'?"


def _reason(item: str, error: Exception) -> str:
    """What went wrong in a file, and in which of its lines."""
    if isinstance(error, SyntaxError):
        return f"{item}, line {error.lineno}: {error.msg}"
    trace = error.__traceback__
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(item):
            line = trace.tb_lineno
        trace = trace.tb_next
    if line is not None:
        return f"{item}, line {line}: {type(error).__name__}: {error}"
    return f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


@contextmanager
def _all_or_nothing() -> Iterator[None]:
    """Forget the policies and families of a file that fails half-way."""
    before = dict(POLICIES), dict(FAMILIES)
    try:
        yield
    except BaseException:
        for registry, old in zip((POLICIES, FAMILIES), before, strict=True):
            registry.clear()
            registry.update(old)
        raise


@contextmanager
def _importing_from(folder: Path | None) -> Iterator[None]:
    """Let a file import its neighbours."""
    if folder is not None:
        sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if folder is not None:
            sys.path.remove(str(folder))
