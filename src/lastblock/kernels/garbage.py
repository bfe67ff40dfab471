"""Lets Python look for unreachable objects less often while it compiles."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SELDOM = 100_000
"""New objects between two searches; by default Python searches after some hundreds."""

_lock = threading.Lock()
_blocks: list[tuple[int, int, int]] = []
"""For each block that runs now, the thresholds that the first of them has found."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Search for unreachable objects rarely until the block is done.

    A compilation makes some hundred thousand objects and keeps most of them, so that searches take
    an eighth of its time and find little. Memory still cannot grow without bound. A program that
    has switched the searches off, or made them rarer still, keeps its setting.
    """
    with _lock:
        before = _blocks[0] if _blocks else gc.get_threshold()
        _blocks.append(before)
        if 0 < before[0] < _SELDOM:
            gc.set_threshold(_SELDOM, *before[1:])
    try:
        yield
    finally:
        with _lock:
            _blocks.pop()
            if not _blocks and gc.get_threshold() == (_SELDOM, *before[1:]):
                gc.set_threshold(*before)
