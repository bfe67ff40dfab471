"""Run work on threads, with a progress bar."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lastblock.support.checks import at_least

if TYPE_CHECKING:
    from tqdm import tqdm

_BAR_AFTER_SECONDS = 2.0
_STEPS_A_CHUNK = 1 << 20


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Return the number of threads to use; None means one per core."""
    return cores() if threads is None else at_least(1, threads, "threads")


def run_in_threads(
    work: Callable[[int, int], None],
    replications: int,
    steps: int,
    threads: int,
    progress: bool | None,
) -> float:
    """Cut replications into chunks, hand the chunks to threads, and wait for all of them.

    Parameters
    ----------
    work
        ``work(first, last)`` does the replications from `first` to before `last`. It should release
        the GIL, as kernels do.
    replications
        How many there are.
    steps
        The number of steps of one replication, from which the size of a chunk follows.
    threads
        The number of threads.
    progress
        See `progress_bar`.

    Returns
    -------
    float
        The seconds that it took.
    """
    size = max(1, min(_STEPS_A_CHUNK // steps, -(-replications // threads)))
    chunks = [(i, min(i + size, replications)) for i in range(0, replications, size)]
    bar = progress_bar(replications, progress, unit="rep")
    started = time.perf_counter()
    if threads == 1 or len(chunks) == 1:
        with bar:
            for first, last in chunks:
                work(first, last)
                bar.update(last - first)
        return time.perf_counter() - started
    with ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(work, *chunk): chunk for chunk in chunks}
        try:
            for future in as_completed(futures):
                future.result()
                first, last = futures[future]
                bar.update(last - first)
        finally:  # after an interruption, do not start the chunks that still wait
            pool.shutdown(wait=True, cancel_futures=True)
            bar.close()
    return time.perf_counter() - started


@contextmanager
def compilation_bar(name: str, progress: bool | None) -> Iterator[None]:
    """Count the functions that numba compiles in the block, on a line of standard error.

    Parameters
    ----------
    name
        What is compiled.
    progress
        See `progress_bar`.
    """
    from numba.core import event  # noqa: PLC0415  # slow to import

    bar = progress_bar(None, progress, unit=" functions", name=f"compiling {name}")

    class Counter(event.Listener):
        def on_start(self, _: object) -> None:
            bar.update(0)

        def on_end(self, _: object) -> None:
            bar.update(1)

    with bar, event.install_listener("numba:compile", Counter()):
        yield


def progress_bar(
    total: int | None,
    progress: bool | None,
    *,
    unit: str,
    name: str | None = None,
    done: int = 0,
) -> "tqdm[Any]":
    """Return a progress bar on standard error, which disappears when the work is done.

    Parameters
    ----------
    total
        The count at the end; None if it is not known.
    progress
        True to show the bar, False not to; None to show it after two seconds, on a terminal only.
    unit, name
        The word for what is counted, and the text before the bar.
    done
        The count at the beginning, of a run that goes on; it does not count for the speed.
    """
    from tqdm import tqdm  # noqa: PLC0415  # it takes a tenth of the time to import this package

    return tqdm(
        total=total,
        initial=done,
        desc=name,
        disable=not (sys.stderr.isatty() if progress is None else progress),
        delay=_BAR_AFTER_SECONDS if progress is None else 0.0,
        unit=unit,
        unit_scale=unit in ("step", "B"),  # there are millions of them
        smoothing=0.1,
        leave=False,
    )
