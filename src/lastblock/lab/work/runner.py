"""Run a scenario: cut it into chunks, compute those that are missing, and sum up.

Chunks run on threads here, and unchanged on any executor with the interface of
`concurrent.futures`.
"""

import queue
import sys
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numba
import numpy as np

from lastblock.lab.results import FORMAT, Result, check_place, concatenate
from lastblock.lab.scenario import Scenario
from lastblock.lab.work.aggregate import Aggregate
from lastblock.lab.work.chunks import Chunk, Course, Shelf, compute, cut, sources_hash
from lastblock.simulation.simulate import times_taken
from lastblock.support.parallel import check_threads, progress_bar
from lastblock.theory import lai_robbins

_WAKE_SECONDS = 0.5
CHUNKS = ".chunks"


class Progress(Protocol):
    """What is told of the progress, such as a bar of tqdm's."""

    def update(self, steps: int, /) -> object: ...


def run(
    scenario: Scenario | str | Path,
    *,
    out: str | Path = "results",
    replications: int | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool | Progress | None = None,
) -> Result:
    """Run a scenario and keep its results.

    Parameters
    ----------
    scenario
        What to run: a scenario, a TOML file, or the name of a scenario of the package.
    out
        The results go into a folder of the scenario's name in here. Finished chunks of work are
        kept beside it: a run that was interrupted goes on where it stopped.
    replications
        Instead of the scenario's.
    threads
        How many to use; by default one for each core. The results do not depend on it.
    executor
        Anything like a `concurrent.futures.Executor`, such as a Dask client's, instead of threads.
    progress
        Show a bar; by default when it takes over two seconds and the output is a terminal. Or a bar
        of your own, which is told the steps as they are done.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    if replications is not None:
        scenario = scenario.replace(replications=replications)
    threads = check_threads(threads)
    out = Path(out)
    check_place(out / scenario.name)
    shelf = Shelf(out / CHUNKS)
    chunks = _cut(scenario)
    missing = [chunk for row in chunks.values() for chunk in row if chunk not in shelf]
    pool = ThreadPoolExecutor(threads) if executor is None else executor
    try:
        _compute_all(missing, shelf, pool, progress, scenario.name)
    finally:
        if executor is None:  # do not wait for chunks that an interruption leaves running
            pool.shutdown(wait=False, cancel_futures=True)
    result = _sum_up(scenario, chunks, shelf)
    result.save(out / scenario.name)
    return result


def steps_missing(scenario: Scenario, *, out: str | Path = "results") -> int:
    """How many steps a run has still to compute, by the files that are there."""
    shelf = Shelf(Path(out) / CHUNKS)
    rows = _cut(scenario).values()
    return sum(chunk.steps for row in rows for chunk in row if not shelf.has_file(chunk))


def _cut(scenario: Scenario) -> dict[str, list[Chunk]]:
    """The chunks of every policy."""
    times = tuple(times_taken(None, scenario.horizon).tolist())
    return {
        label: cut(
            Course(policy, scenario.environment, scenario.horizon, scenario.seed, times),
            scenario.replications,
        )
        for label, policy in scenario.policies.items()
    }


def _compute_all(
    chunks: Sequence[Chunk],
    shelf: Shelf,
    executor: Executor,
    progress: bool | Progress | None,
    name: str,
) -> None:
    """Hand the chunks to the executor and keep each as soon as it is finished."""
    done: queue.SimpleQueue[Future[bytes]] = queue.SimpleQueue()
    waiting: dict[Future[bytes], Chunk] = {}
    sources = sources_hash()
    steps = sum(chunk.steps for chunk in chunks)
    try:
        with _bar(steps, progress, name) as bar:
            for chunk in chunks:
                future = executor.submit(compute, chunk, sources)
                waiting[future] = chunk
                future.add_done_callback(done.put)
            while waiting:
                try:
                    future = done.get(timeout=_WAKE_SECONDS)  # so that an interruption is heard
                except queue.Empty:
                    continue
                chunk = waiting.pop(future)  # and with it the bytes
                shelf.put(chunk, future.result())
                bar.update(chunk.steps)
    finally:  # what an interruption leaves is not begun
        for future in waiting:
            future.cancel()


def _bar(
    steps: int, progress: bool | Progress | None, name: str
) -> AbstractContextManager[Progress]:
    if progress is not None and not isinstance(progress, bool):
        return nullcontext(progress)  # whoever gave it closes it
    return progress_bar(steps, progress, unit="step", name=name)


def _sum_up(scenario: Scenario, chunks: dict[str, list[Chunk]], shelf: Shelf) -> Result:
    """One policy at a time, so that memory does not grow with their number."""
    labels = list(chunks)
    frames: dict[str, list[Any]] = {}
    for label, row in chunks.items():
        aggregate = Aggregate(label, scenario, row, shelf)
        for name, frame in aggregate.frames().items():
            frames.setdefault(name, []).append(frame)
    whole = {name: concatenate(parts, labels) for name, parts in frames.items()}
    return Result(about(scenario), **whole)


def about(scenario: Scenario) -> dict[str, Any]:
    """What is written into every file of the results."""
    import lastblock  # for its version only  # noqa: PLC0415

    try:
        constant: float | None = lai_robbins(scenario.environment)
    except ValueError:  # arms that change, or of several families
        constant = None
    return {
        "format": FORMAT,
        "versions": {
            "lastblock": lastblock.__version__,
            "sources": sources_hash(),
            "python": ".".join(map(str, sys.version_info[:3])),
            "numpy": np.__version__,
            "numba": numba.__version__,
        },
        "scenario": scenario.describe(),
        "source": scenario.source,
        "changes": list(scenario.environment.changes),
        "lai_robbins": constant,
    }
