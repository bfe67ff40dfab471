"""How kernels are compiled, and where the compiled code is kept.

Four decorators:

- ``kernel``: a short function called by other kernels, and compiled into them. Never cached by
  itself, since the machine code of its callers contains it.
- ``routine``: the same for long functions, which are called instead.
- ``entry``: a function called from Python. Cached on disk, in a folder named by a hash of every
  source file that kernels can see: numba only looks at the time stamp of the one file that holds
  the cached function, so without this an edited policy would leave an old engine in the cache.
- ``moment``: the same for what is done in a moment, shorter than letting go of the GIL takes.

Classes from outside the package (a user's own policy) are not covered by that hash, so `specialise`
compiles their kernels in memory only. A cache that cannot know is not asked.
"""

import functools
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np

from lastblock.kernels.interrupts import deferred_interrupts

P = ParamSpec("P")
R = TypeVar("R")

# Numba's annotations leave out some options and settings, so these two are taken as they come.
_njit: Any = numba.njit
_config: Any = numba.config

DISABLED = bool(_config.DISABLE_JIT)

# No fastmath: compensated sums and reproducible comparisons need IEEE semantics as written.
# The numpy error model leaves out a branch before each division. The GIL is released so that
# replications run on plain Python threads. Kernels own no memory, so that numba's reference counts,
# which cost three times the work itself here, are left out. Nothing calls them from C; what only
# other kernels call needs no way in from Python either, which saves a quarter of its compilation.
_FLAGS = {"error_model": "numpy", "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
_INNER = {**_FLAGS, "no_cpython_wrapper": True}
INLINE = {**_INNER, "forceinline": True}

_KEPT_CACHES = 4
_PREFIX = "lastblock-kernels-"
PACKAGE = Path(__file__).parents[1]
KERNEL_FOLDERS = (
    "kernels",
    "core",
    "detectors",
    "arms",
    "theory",
    "policies",
    "environments",
    "engine",
)
"""All that compiled code can come from: nothing in them imports a folder above them, the layers'
contract sees to it."""


class Inner:
    """A function for kernels to call.

    Python may call it too: it is compiled once more then, with a way in.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._compiled = _njit(**options)(function)
        self._numba_type_ = self._compiled._numba_type_  # what other kernels see

    def __call__(self, *arguments: Any) -> Any:
        return _in_memory(self.py_func)(*arguments)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a short function into every kernel that calls it."""
    return _inner(function, INLINE)


def routine(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a long function that kernels call, without copying it into each of them."""
    return _inner(function, _INNER)


def _inner(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    inner: Any = Inner
    return function if DISABLED else inner(function, options)


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls, and keep the result on disk."""
    return _outer(function, nogil=True)


def moment(function: Callable[P, R]) -> Callable[P, R]:
    """The same for a function that returns at once: other threads wait for it."""
    return _outer(function, nogil=False)


def _outer(function: Callable[P, R], nogil: bool) -> Callable[P, R]:
    folder = cache_folder()
    compiled: Callable[P, R]
    if folder is None:
        compiled = _in_memory(function, nogil)
    else:
        with _numba_cache_folder(folder):
            compiled = _uninterrupted(_njit(cache=True, **{**_FLAGS, "nogil": nogil})(function))
    return compiled


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """The Python function behind a kernel, for what happens too rarely to be worth compiling."""
    uncompiled: Callable[P, R] = getattr(function, "py_func", function)
    return uncompiled


def wrapping(function: Callable[P, R]) -> Callable[P, R]:
    """Let unsigned arithmetic wrap silently when it runs as plain Python on numpy scalars."""
    return np.errstate(over="ignore")(function) if DISABLED else function


def specialise(function: Callable[P, R], *arguments: Any) -> Callable[P, R]:
    """The compiled code of an `entry` for arguments of these types, without the dispatcher.

    Calling it costs about 0.2 µs instead of 1 µs: the types are not looked at again, so the caller
    promises that they never change.
    """
    if DISABLED:
        return function
    dispatcher: Any = function
    typeof: Any = numba.typeof
    if any(is_foreign(argument) for argument in arguments):
        dispatcher = _in_memory(dispatcher.py_func, dispatcher.targetoptions.get("nogil", True))
    signature = tuple(typeof(argument) for argument in arguments)
    dispatcher.compile(signature)
    compiled: Callable[P, R] = dispatcher.overloads[signature].entry_point
    return compiled


@functools.cache
def _in_memory(function: Any, nogil: bool = True) -> Any:
    return _uninterrupted(_njit(**{**_FLAGS, "nogil": nogil})(function))


def _uninterrupted(dispatcher: Any) -> Any:
    """Let interrupts wait while a function is compiled.

    Numba does not survive an exception just anywhere: what it had half done stays so, and the
    function can never be compiled in that process again.
    """
    if DISABLED:
        return dispatcher
    compile_now = dispatcher.compile

    def compile_later_interrupted(signature: Any) -> Any:
        if signature in dispatcher.overloads:  # compiled before: done in a moment
            return compile_now(signature)
        with deferred_interrupts():
            return compile_now(signature)

    dispatcher.compile = compile_later_interrupted  # what the dispatcher itself calls, too
    return dispatcher


def is_foreign(value: object) -> bool:
    """Whether a kernel argument holds a class defined outside this package."""
    if not isinstance(value, tuple):
        return False
    package = __name__.partition(".")[0]
    own = type(value) is tuple or type(value).__module__.partition(".")[0] == package
    return not own or any(is_foreign(item) for item in value)


@functools.cache
def cache_folder() -> Path | None:
    """The folder of compiled kernels for exactly these sources; older ones are pruned.

    None where nothing can be written: then kernels are compiled in memory, since numba would fall
    back to a folder of its own, which does not know the sources.
    """
    for root in _cache_roots():
        folder = root / f"{_PREFIX}{source_hash()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
            _prune(folder)
        except OSError:
            continue
        return folder
    return None


@functools.cache
def source_hash(folders: tuple[str, ...] = KERNEL_FOLDERS) -> str:
    """A short hash of the sources in these folders of the package, and of what compiles them."""
    digest = hashlib.blake2b(digest_size=10)
    digest.update(f"{sys.version}|{numba.__version__}|{np.__version__}".encode())
    for path in sorted(path for folder in folders for path in (PACKAGE / folder).rglob("*.py")):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode())
        digest.update(path.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()


def _cache_roots() -> Iterator[Path]:
    """The user's NUMBA_CACHE_DIR; else beside the package, or in the user's cache folder."""
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR)
        return
    yield PACKAGE / "__pycache__"
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    with suppress(RuntimeError):  # no home
        yield Path(base or Path.home() / ".cache") / "lastblock"


def _prune(current: Path) -> None:
    siblings = [path for path in current.parent.glob(f"{_PREFIX}*") if path != current]
    siblings.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in siblings[_KEPT_CACHES - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _numba_cache_folder(folder: Path) -> Iterator[None]:
    """Numba reads its setting when a function is decorated; other functions keep theirs."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _config.CACHE_DIR = before
