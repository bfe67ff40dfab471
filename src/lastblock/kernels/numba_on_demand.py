"""Numba, imported when something is compiled for the first time, and not before.

To import it takes longer than to import the rest of this package, and a live bandit can decide
without it. What must tell numba something, such as which code a kernel is, waits for that moment
with `when_compiling`.
"""

import importlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lastblock.kernels.interrupts import deferred_interrupts


def _is_disabled() -> bool:
    """Return whether numba is told not to compile; ask numba itself only if it may know more."""
    if "numba" in sys.modules or Path(".numba_config.yaml").exists():
        return bool(numba().config.DISABLE_JIT)
    try:
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT") or 0))
    except ValueError:
        return False  # as numba does, which warns when it is imported


def numba() -> Any:
    """Return numba: as Any, because its annotations lack some options and settings."""
    return importlib.import_module("numba")


DISABLED = _is_disabled()

importing = threading.RLock()
"""Held while numba is imported, and while something is made that exists once."""
in_background = threading.Lock()
"""Held by the thread that compiles in the background, while it does anything: numba imports modules
here and there, and an import that a fork cuts off would hang in the child."""
_is_ready = False
_waiting: list[Callable[[], None]] = []


def when_compiling(prepare: Callable[[], None]) -> Callable[[], None]:
    """Call `prepare`, which may import numba, before the first compilation, or at once after it."""
    if not DISABLED:
        _waiting.append(prepare)
        if _is_ready:
            make_ready()
    return prepare


def make_ready() -> None:
    """Import numba and call what waits for it; every compilation begins with this."""
    global _is_ready  # noqa: PLW0603  # one a process
    if DISABLED or (_is_ready and not _waiting):
        return
    with deferred_interrupts(), importing:
        numba()
        # Numba imports it when it first sees an array, in any thread; here no fork cuts that off.
        importlib.import_module("numpy.ma")
        logger = logging.getLogger("numba")
        if logger.level == logging.NOTSET:  # it would tell a DEBUG log of each of its steps
            logger.setLevel(logging.WARNING)
        while _waiting:
            try:
                _waiting[0]()
            finally:
                del _waiting[0]  # only now, so that another thread waits for it
        _is_ready = True


def hold_compiler() -> Callable[[], None]:
    """Wait until no thread compiles, and let none begin; return the function that lets them.

    A fork calls this. Otherwise a lock that another thread holds would stay locked in the child.
    """
    in_background.acquire()
    while True:
        numbas = compiler_lock()
        if numbas is not None:
            numbas.acquire()
        # Whoever holds `importing` may wait for numba's lock, so hold none while waiting for one.
        if importing.acquire(blocking=False):
            if numbas is not None or compiler_lock() is None:
                break
            importing.release()  # another thread has imported numba meanwhile
        if numbas is not None:
            numbas.release()
        time.sleep(0.001)

    def release() -> None:
        importing.release()
        if numbas is not None:
            numbas.release()
        in_background.release()

    return release


def compiler_lock() -> Any:
    """Return the lock that numba holds while it compiles; None if numba is not imported."""
    return getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)


def is_ready() -> bool:
    """Return whether something may have been compiled in this process."""
    return _is_ready
