"""One line on standard error and an exit status for every error."""

import argparse
import errno
import traceback
from collections.abc import Collection
from pathlib import Path

from lastblock.kernels.compile_cache import cache_folder
from lastblock.lab.registries import REGISTRIES
from lastblock.support.errors import PolicyError, ResultError, ScenarioError, StoreError
from lastblock.support.spelling import advice

OURS = 1  # exit statuses: a defect of lastblock
YOURS = 2  # something that the user can change
INTERRUPTED = 130

_EXTRAS = {  # optional dependency: the extra of the package that installs it
    "matplotlib": "lab",
    "pandas": "lab",
    "pyarrow": "lab",
    "scipy": "lab",
    "cloudpickle": "cluster",
    "dask": "cluster",
    "distributed": "cluster",
    "psycopg": "postgres",
    "granian": "serve",
    "jinja2": "serve",
    "msgspec": "serve",
}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_UNUSABLE = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ENAMETOOLONG,
}


_LONGEST = 400  # characters; numba's messages fill pages


class UserError(ValueError):
    """Raised when the user must change something; the message says what."""


def check_name(name: str, known: Collection[str], thing: str) -> str:
    """Return `name`; raise a `UserError` that suggests the nearest one if it is not in `known`.

    `thing` says in the message what the name stands for, such as "policy".
    """
    if name not in known:
        raise UserError(f"unknown {thing} {name!r}; {advice(name, known)}")
    return name


def explain(error: BaseException, options: argparse.Namespace) -> tuple[int, str]:
    """Return the exit status and the line for standard error."""
    status, text = _explain(error, options)
    if isinstance(error, ScenarioError) and "\n" in text:  # all mistakes of a file
        head, *lines = text.splitlines()
        return status, "\n".join([f"lastblock: error: {one_line(head)}", *map(one_line, lines)])
    return status, f"lastblock: {'' if status == INTERRUPTED else 'error: '}{one_line(text)}"


def one_line(text: str) -> str:
    """Return `text` on one line, cut after 400 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _explain(error: BaseException, options: argparse.Namespace) -> tuple[int, str]:
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED, _interrupted(options)
        case UserError() | ScenarioError() | ResultError() | StoreError() | PolicyError():
            return YOURS, str(error)
        case ModuleNotFoundError(name=str(name)) if name.partition(".")[0] in _EXTRAS:
            package = name.partition(".")[0]
            return YOURS, f"this needs {package}: pip install 'lastblock[{_EXTRAS[package]}]'"
        case MemoryError():
            return YOURS, "not enough memory; ask for fewer --replications or --threads"
        case IsADirectoryError(errno=None) | FileNotFoundError(errno=None):
            # lastblock raised it and says what to change
            return YOURS, str(error)
        case OSError() if error.errno in _FULL:
            return YOURS, _no_space(error, options)
        case OSError() if error.errno in _UNUSABLE:
            return (
                YOURS,
                f"cannot write to {_place(options)} ({error.strerror}); give another path",
            )
        case OSError(filename=str() | Path()):
            return YOURS, f"{error.filename}: {error.strerror}"
    if own := _own_classes():
        return YOURS, (
            f"probably a mistake in your {', '.join(own)}; --traceback shows where: "
            f"{type(error).__name__}: {error}"
        )
    return OURS, (
        "this is a defect of lastblock, not your mistake; please report it with the output of "
        f"--traceback: {type(error).__name__}: {error}"
    )


def _own_classes() -> list[str]:
    """Return the names of registered policies and arms that the user defined."""
    package = __name__.partition(".")[0]
    return [
        name
        for registry in REGISTRIES
        for name, cls in registry.items()
        if cls.__module__.partition(".")[0] != package
    ]


def _interrupted(options: argparse.Namespace) -> str:
    if not getattr(options, "resumes", False):
        return "interrupted"
    return (
        f"interrupted: finished chunks are kept in {options.out}; "
        "run the same command again to continue"
    )


def _no_space(error: OSError, options: argparse.Namespace) -> str:
    if _while_caching_kernels(error):
        return f"no space left in {cache_folder()}; free some space and run the same command again"
    if not getattr(options, "resumes", False):
        return f"no space left for {_place(options)}; free some and run the same command again"
    return (
        f"no space left in {options.out}; finished chunks are kept: "
        "free some space and run the same command again"
    )


def _place(options: argparse.Namespace) -> object:
    """Return the path that the command writes to."""
    for name in ("file", "output", "out"):
        if hasattr(options, name):
            return getattr(options, name)
    return "standard output"


def _while_caching_kernels(error: OSError) -> bool:
    """Return whether numba raised `error` while it wrote its compile cache."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(
        Path(frame.filename).parts[-3:] == ("numba", "core", "caching.py") for frame in frames
    )
