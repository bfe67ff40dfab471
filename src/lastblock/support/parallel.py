"""Work shared out to threads, with a progress bar."""

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from tqdm import tqdm

_BAR_AFTER_SECONDS = 2.0

_STEPS_A_CHUNK = 1 << 20


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share_out(
    work: Callable[[int, int], None],
    replications: int,
    steps: int,
    threads: int,
    progress: bool | None,
) -> float:
    """Cut replications of so many steps into chunks, and hand them to threads; the seconds taken.

    `work(first, last)` does those from `first` to before `last`; the kernels release the GIL.
    """
    size = max(1, min(_STEPS_A_CHUNK // steps, -(-replications // threads)))
    pieces = [(i, min(i + size, replications)) for i in range(0, replications, size)]
    bar = _progress_bar(replications, progress)
    started = time.perf_counter()
    if threads == 1 or len(pieces) == 1:
        with bar:
            for first, last in pieces:
                work(first, last)
                bar.update(last - first)
        return time.perf_counter() - started
    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(work, *piece): piece for piece in pieces}
        try:
            for future in as_completed(futures):
                future.result()
                first, last = futures[future]
                bar.update(last - first)
        finally:  # an interruption leaves no chunk waiting
            pool.shutdown(wait=True, cancel_futures=True)
            bar.close()
    return time.perf_counter() - started


def _progress_bar(total: int, progress: bool | None) -> Any:
    wanted = sys.stderr.isatty() if progress is None else progress
    delay = _BAR_AFTER_SECONDS if progress is None else 0.0
    return tqdm(total=total, disable=not wanted, delay=delay, unit="rep", leave=False)
