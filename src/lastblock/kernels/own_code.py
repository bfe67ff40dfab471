"""Keep on disk what is compiled for classes from outside the package.

The name of the cache's folder covers the package's own sources. What is compiled for a user's
class lies in a folder below it, named by a hash of the class's file and of the user's modules that
the file imports (`lastblock.kernels.fingerprint`). So an edited class is compiled anew, and an
unchanged one is not, in this process or another. Where no file tells the code, as in a notebook,
it is compiled in memory.

Numba's own cache cannot do this: it knows a signature by its types, which hold the class itself,
and a class that a script or a notebook has defined is another one in every process.
"""

import functools
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any

STARTED = time.time()
"""When the package was imported: Python may have read another text of files that are newer."""

_PREFIX = "own-"
_KEPT_FOLDERS = 64


def foreign_classes(value: object) -> Iterator[type[Any]]:
    """Yield the NamedTuples defined outside this package: of `value`, and of the items in it."""
    if isinstance(value, tuple):
        cls = type(value)
        package = __name__.partition(".")[0]
        if cls is not tuple and cls.__module__.partition(".")[0] != package:
            yield cls
        for item in value:
            yield from foreign_classes(item)


@functools.cache
def mark_of(classes: tuple[type[Any], ...]) -> str | None:
    """Return the hash of the code of these classes, or None if no file tells it."""
    from lastblock.kernels.fingerprint import fingerprint  # noqa: PLC0415  # slow to import

    return fingerprint(*classes) or None


def own_folder(cache: Path, mark: str) -> Path:
    """Return the folder for classes with this hash, and remove the oldest of many others."""
    import shutil  # noqa: PLC0415  # slow to import

    folder = cache / f"{_PREFIX}{mark}"
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
        folder.touch()
        others = [path for path in cache.glob(f"{_PREFIX}*") if path != folder]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_KEPT_FOLDERS - 1 :]:
            shutil.rmtree(path, ignore_errors=True)
    return folder


def named_by(mark: str, function: FunctionType) -> FunctionType:
    """Return a copy of a function that has the hash in its name, and so in its machine code's.

    A process may hold the code for several versions of a class; each must have a name of its own.
    """
    name = f"{function.__name__}_{mark}"
    copy = FunctionType(function.__code__, function.__globals__, name, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, name
    copy.__annotations__ = function.__annotations__
    return copy


def keep_by_name(dispatcher: Any) -> Any:
    """Let a dispatcher with a cache know signatures by their names, without classes; return it."""
    dispatcher._cache = _cache_class()(dispatcher.py_func)
    return dispatcher


@functools.cache
def _cache_class() -> type[Any]:
    from numba.core.caching import FunctionCache  # noqa: PLC0415  # slow to import
    from numba.core.compiler import CompileResult  # noqa: PLC0415  # slow to import
    from numba.core.typing.templates import signature as signature_for  # noqa: PLC0415  # slow to import

    base: Any = FunctionCache
    result: Any = CompileResult
    make_signature: Any = signature_for

    class OwnCache(base):  # type: ignore[misc]  # numba has no types
        """Numba's cache on disk, without types in what it writes."""

        def _index_key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
            return str(signature), codegen.magic_tuple()

        def _save_overload(self, signature: Any, compiled: Any) -> None:
            with suppress(Exception):  # what cannot be written is compiled again next time
                library, description, *others = compiled._reduce()
                types, description.argtypes = description.argtypes, None
                environment, returned = others[0], compiled.signature.return_type
                kept = library, description, environment, returned, *others[-2:]
                try:
                    self._impl.locator.ensure_cache_path()
                    self._cache_file.save(self._index_key(signature, compiled.codegen), kept)
                finally:
                    description.argtypes = types

        def _load_overload(self, signature: Any, context: Any) -> Any:
            with suppress(Exception):  # a damaged file, or a module that is no longer there
                kept = self._cache_file.load(self._index_key(signature, context.codegen()))
                if kept is not None:
                    library, description, environment, returned, *others = kept
                    description.argtypes = signature
                    types = make_signature(returned, *signature)
                    return result._rebuild(
                        context, library, description, environment, types, False, (), "", *others
                    )
            return None

    return OwnCache
