"""Run a scenario: cut it into chunks, compute those that are missing, and summarise them.

Chunks run on threads, or on any executor with the interface of `concurrent.futures`.
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

from lastblock.lab.results import FORMAT, Result, check_place
from lastblock.lab.scenario import Scenario
from lastblock.lab.work.aggregate import Aggregate, concatenate
from lastblock.lab.work.chunks import Chunk, Course, Shelf, compute, cut, sources_hash
from lastblock.simulation.compiling import Job, compile_all
from lastblock.simulation.simulate import times_taken
from lastblock.support.parallel import check_threads, progress_bar
from lastblock.theory import lai_robbins

_WAKE_SECONDS = 0.5
CHUNKS = ".chunks"


class Progress(Protocol):
    """A progress bar, such as one of tqdm: `update` is told how many more steps are done."""

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
    """Run a scenario and write its results.

    Parameters
    ----------
    scenario
        A scenario, a TOML file, or the name of a scenario of the package.
    out
        The folder in which the results get a folder with the scenario's name. Finished chunks of
        work are kept beside it, so that an interrupted run continues where it stopped.
    replications
        The number of replications, instead of the scenario's.
    threads
        The number of threads; by default one per core. The results do not depend on it.
    executor
        An executor to use instead of threads: anything like a `concurrent.futures.Executor`, such
        as that of `connect`.
    progress
        True to show a progress bar, False not to; by default it appears after two seconds, on a
        terminal only. Or a bar of your own, whose `update` is called with the steps done.

    Returns
    -------
    Result
        The results, which are also written to the folder.

    Raises
    ------
    ScenarioError
        If the scenario has a mistake.
    ResultError
        If the results cannot be written to this place, or a worker has other versions.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    if replications is not None:
        scenario = scenario.replace(replications=replications)
    folder = Path(out) / scenario.name
    check_place(folder)
    result = run_chunks(scenario, out=out, threads=threads, executor=executor, progress=progress)
    result.save(folder)
    return result


def run_chunks(
    scenario: Scenario,
    *,
    out: str | Path = "results",
    threads: int | None = None,
    executor: Executor | None = None,
    progress: bool | Progress | None = None,
) -> Result:
    """Run a scenario as `run` does: keep its chunks in the folder `out`, but write no results."""
    threads = check_threads(threads)
    shelf = Shelf(Path(out) / CHUNKS)
    chunks = _cut(scenario)
    missing = [chunk for row in chunks.values() for chunk in row if chunk not in shelf]
    if executor is None:
        shown = progress if progress is None or isinstance(progress, bool) else False
        _compile(missing, threads, shown)
    done = scenario_steps(scenario) - sum(chunk.steps for chunk in missing)
    pool = ThreadPoolExecutor(threads) if executor is None else executor
    try:
        with _bar(scenario_steps(scenario), done, progress, scenario.name) as bar:
            _compute_all(missing, shelf, pool, bar)
            return _sum_up(scenario, chunks, shelf)
    finally:
        if executor is None:  # after an interruption, do not wait for chunks that still run
            pool.shutdown(wait=False, cancel_futures=True)


def compile_missing(
    scenarios: Sequence[Scenario],
    *,
    out: str | Path = "results",
    threads: int | None = None,
    progress: bool | None = None,
) -> int:
    """Compile what runs of several scenarios need and the compile cache does not have yet.

    `run` does this for its own scenario. For several, it is faster to compile for all of them
    first, because processes on all cores share the work.

    Parameters
    ----------
    scenarios
        What will be run.
    out
        The folder of the results; policies whose chunks are all finished need no code.
    threads
        The number of cores to use; by default all.
    progress
        True to show a progress bar, False not to; by default it appears after two seconds, on a
        terminal only.

    Returns
    -------
    int
        How many pieces of code were compiled.
    """
    shelf = Shelf(Path(out) / CHUNKS)
    rows = [row for scenario in scenarios for row in _cut(scenario).values()]
    missing = [chunk for row in rows for chunk in row if not shelf.has_file(chunk)]
    return _compile(missing, check_threads(threads), progress)


def _compile(chunks: Sequence[Chunk], threads: int, progress: bool | None) -> int:
    courses = {chunk.course.address: chunk.course for chunk in chunks}.values()
    jobs = [Job(each.policy, each.environment, each.horizon, each.delay) for each in courses]
    return compile_all(jobs, threads, progress)


def steps_missing(scenario: Scenario, *, out: str | Path = "results") -> int:
    """Return how many steps a run still has to compute, judging by the files of finished chunks."""
    shelf = Shelf(Path(out) / CHUNKS)
    rows = _cut(scenario).values()
    return sum(chunk.steps for row in rows for chunk in row if not shelf.has_file(chunk))


def scenario_steps(scenario: Scenario) -> int:
    """Return the steps of all replications of all policies."""
    return scenario.replications * scenario.horizon * len(scenario.policies)


def _cut(scenario: Scenario) -> dict[str, list[Chunk]]:
    """Return the chunks of every policy."""
    times = tuple(times_taken(None, scenario.horizon).tolist())
    fixed = scenario.environment, scenario.horizon, scenario.seed, times, scenario.delay
    courses = {label: Course(policy, *fixed) for label, policy in scenario.policies.items()}
    return {label: cut(course, scenario.replications) for label, course in courses.items()}


def _compute_all(
    chunks: Sequence[Chunk],
    shelf: Shelf,
    executor: Executor,
    bar: Progress,
) -> None:
    """Hand the chunks to the executor and keep each as soon as it is finished."""
    done: queue.SimpleQueue[Future[bytes]] = queue.SimpleQueue()
    waiting: dict[Future[bytes], Chunk] = {}
    sources = sources_hash()
    try:
        for chunk in chunks:
            future = executor.submit(compute, chunk, sources)
            waiting[future] = chunk
            future.add_done_callback(done.put)
        while waiting:
            try:
                future = done.get(timeout=_WAKE_SECONDS)  # wake up, to notice interruptions
            except queue.Empty:
                continue
            chunk = waiting.pop(future)  # remove it, or it would keep the bytes in memory
            shelf.put(chunk, future.result())
            bar.update(chunk.steps)
    finally:  # after an interruption, do not start the chunks that still wait
        for future in waiting:
            future.cancel()


def _bar(
    steps: int, done: int, progress: bool | Progress | None, name: str
) -> AbstractContextManager[Progress]:
    if progress is not None and not isinstance(progress, bool):
        return nullcontext(progress)  # the caller's bar, which the caller closes
    # Nothing to do, no bar.
    wanted = False if done == steps else progress
    return progress_bar(steps, wanted, unit="step", name=name, done=done)


def _sum_up(scenario: Scenario, chunks: dict[str, list[Chunk]], shelf: Shelf) -> Result:
    """Summarise one policy at a time, so that memory does not grow with their number."""
    labels = list(chunks)
    frames: dict[str, list[Any]] = {}
    for label, row in chunks.items():
        aggregate = Aggregate(label, scenario, row, shelf)
        for name, frame in aggregate.frames().items():
            frames.setdefault(name, []).append(frame)
    whole = {name: concatenate(parts, labels) for name, parts in frames.items()}
    return Result(about(scenario), **whole)


def about(scenario: Scenario) -> dict[str, Any]:
    """Return the description of a run that every file of the results holds."""
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
