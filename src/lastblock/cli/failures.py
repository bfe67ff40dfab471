"""What went wrong, in one line, and whose mistake it was."""

import argparse
import errno
import traceback
from pathlib import Path

from lastblock.kernels.jit import cache_folder
from lastblock.lab.registries import REGISTRIES
from lastblock.support.errors import ResultError, ScenarioError

OURS = 1
YOURS = 2
INTERRUPTED = 130

_EXTRAS = {  # which extra of the package brings an optional dependency
    "matplotlib": "lab",
    "pandas": "lab",
    "pyarrow": "lab",
    "scipy": "lab",
    "cloudpickle": "cluster",
    "dask": "cluster",
    "distributed": "cluster",
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


_LONGEST = 400  # numba explains itself at length


class UserError(ValueError):
    """A mistake of the user's; the message says what to change."""


def explain(error: BaseException, options: argparse.Namespace) -> tuple[int, str]:
    """The exit status and the line for standard error."""
    status, text = _explain(error, options)
    return status, f"lastblock: {'' if status == INTERRUPTED else 'error: '}{one_line(text)}"


def one_line(text: str) -> str:
    """The text without its line breaks, and not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _explain(error: BaseException, options: argparse.Namespace) -> tuple[int, str]:
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED, _interrupted(options)
        case UserError() | ScenarioError() | ResultError():
            return YOURS, str(error)
        case ModuleNotFoundError(name=str(name)) if name.partition(".")[0] in _EXTRAS:
            package = name.partition(".")[0]
            return YOURS, f"this needs {package}: pip install 'lastblock[{_EXTRAS[package]}]'"
        case MemoryError():
            return YOURS, "not enough memory; ask for fewer --replications or --threads"
        case IsADirectoryError(errno=None):  # ours, and it says what to change
            return YOURS, str(error)
        case OSError() if error.errno in _FULL:
            return YOURS, _no_space(error, options)
        case OSError() if error.errno in _UNUSABLE:
            return (
                YOURS,
                f"cannot write to {_place(options)} ({error.strerror}); give another place",
            )
        case OSError(filename=str() | Path()):
            return YOURS, f"{error.filename}: {error.strerror}"
    if own := _own_classes():
        return YOURS, (
            f"most likely a mistake in {', '.join(own)}; --traceback shows where: "
            f"{type(error).__name__}: {error}"
        )
    return OURS, (
        "this is a mistake of lastblock's, not yours; please report it, with what --traceback "
        f"prints: {type(error).__name__}: {error}"
    )


def _own_classes() -> list[str]:
    """The policies and arms of the user's own."""
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
        f"interrupted: what is done is kept in {options.out}; the same command goes on from there"
    )


def _no_space(error: OSError, options: argparse.Namespace) -> str:
    if _while_caching_kernels(error):
        return f"no space left in {cache_folder()}; free some space and give the same command again"
    if not getattr(options, "resumes", False):
        return f"no space left for {_place(options)}; free some and give the same command again"
    return (
        f"no space left in {options.out}; finished chunks are kept: "
        "free some space and give the same command again"
    )


def _place(options: argparse.Namespace) -> object:
    """Where the command writes to."""
    for name in ("file", "output", "out"):
        if hasattr(options, name):
            return getattr(options, name)
    return "standard output"


def _while_caching_kernels(error: OSError) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return any(
        Path(frame.filename).parts[-3:] == ("numba", "core", "caching.py") for frame in frames
    )
