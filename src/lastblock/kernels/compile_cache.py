"""Where compiled code is kept: a folder for exactly these sources.

The folder has a hash of every source file that kernels can see in its name. Numba alone looks at
the time stamp of the one file that holds the cached function: after an edit of a policy it would go
on using an engine compiled with the old policy. The hash does not cover classes from outside the
package (a user's own policy); `lastblock.kernels.own_code` does.
"""

import functools
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from lastblock.kernels.numba_on_demand import numba

_log = logging.getLogger(__name__)

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
"""The folders that compiled code can come from. None of them imports a folder above them; the
import contract of the layers enforces it."""


@functools.cache
def cache_folder() -> Path | None:
    """Return the cache folder for exactly these sources, and remove the oldest other ones.

    Returns None if no folder can be written. Kernels are then compiled in memory, because numba
    would fall back to a folder of its own, whose name does not depend on the sources.
    """
    import tempfile  # noqa: PLC0415  # slow to import

    tried = []
    for root in _cache_roots():
        folder = root / f"{_PREFIX}{source_hash()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
            os.utime(folder)
            _prune(folder)
        except OSError as error:
            tried.append(f"{root} ({error.strerror})")
            continue
        return folder
    _log.warning(
        "compiled code cannot be kept, so every process compiles for seconds: no folder can be "
        "written, tried %s; set NUMBA_CACHE_DIR to one that can",
        ", ".join(tried),
    )
    return None


@functools.cache
def source_hash(folders: tuple[str, ...] = KERNEL_FOLDERS) -> str:
    """Return a short hash of the sources in `folders`, and of what else makes their code.

    That is the version of Python, numba and NumPy, and how much the compiler optimises (NUMBA_OPT).
    """
    import hashlib  # noqa: PLC0415  # slow to import

    digest = hashlib.blake2b(digest_size=10)
    versions = sys.version, numba().__version__, np.__version__, numba().config.OPT
    digest.update("|".join(map(str, versions)).encode())
    for path in sorted(path for folder in folders for path in (PACKAGE / folder).rglob("*.py")):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode())
        digest.update(path.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()


def _cache_roots() -> Iterator[Path]:
    """Yield where the cache may lie: NUMBA_CACHE_DIR, or the package, then the user's cache."""
    chosen = numba().config.CACHE_DIR
    if chosen:
        yield Path(chosen)
        return
    yield PACKAGE / "__pycache__"
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    with suppress(RuntimeError):  # the user has no home folder
        yield Path(base or Path.home() / ".cache") / "lastblock"


def _prune(current: Path) -> None:
    """Remove all but the four newest cache folders."""
    import shutil  # noqa: PLC0415  # slow to import

    siblings = [path for path in current.parent.glob(f"{_PREFIX}*") if path != current]
    siblings.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in siblings[_KEPT_CACHES - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def numba_cache_folder(folder: Path) -> Iterator[None]:
    """Set numba's cache folder for the functions decorated inside this context only."""
    config = numba().config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before
