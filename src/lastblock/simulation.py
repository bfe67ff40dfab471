"""Monte Carlo: many replications of one policy in one environment."""

import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from lastblock.engine import play
from lastblock.jit import specialise
from lastblock.protocol import EnvironmentTable, Policy, check_policy, number, whole
from lastblock.random import Seed, Stream, key_of
from lastblock.state import state_dtype

_BAR_AFTER_SECONDS = 2.0
_STEPS_A_CHUNK = 1 << 20
LONGEST_HORIZON = 1 << 53


class Environment(Protocol):
    """What `simulate` needs of an environment."""

    @property
    def n_arms(self) -> int: ...
    def compile(self, horizon: int) -> EnvironmentTable: ...


@dataclass(frozen=True)
class Run:
    """The outcome of `simulate`."""

    policy: Policy
    environment: Environment
    horizon: int
    times: npt.NDArray[np.int64]
    """Numbers of pulls at which the regret was taken; the last one is the horizon."""
    regret: npt.NDArray[np.float64]
    """Dynamic pseudo-regret, (replications, times): from true means, never from rewards."""
    pulls: npt.NDArray[np.int64]
    """(replications, K)"""
    seconds: float
    """Time taken, without compilation."""

    @property
    def replications(self) -> int:
        return int(self.regret.shape[0])

    def mean(self) -> npt.NDArray[np.float64]:
        """Mean regret at each of `times`."""
        return np.asarray(self.regret.mean(axis=0))

    def quantile(self, q: float) -> npt.NDArray[np.float64]:
        """A quantile of the regret at each of `times`."""
        q = number(q, "q")
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"q={q} must lie in [0, 1]")
        return np.asarray(np.quantile(self.regret, q, axis=0))

    def standard_error(self) -> npt.NDArray[np.float64]:
        """Standard error of `mean()`; NaN with a single replication."""
        if self.replications < 2:
            return np.full(self.times.size, np.nan)
        return np.asarray(self.regret.std(axis=0, ddof=1) / np.sqrt(self.replications))

    def __repr__(self) -> str:
        return (
            f"<Run of {self.policy}: {self.replications} × {self.horizon} steps, "
            f"final regret {self.mean()[-1]:.2f} ± {self.standard_error()[-1]:.2f}>"
        )


@dataclass(frozen=True)
class Trace:
    """One replication, step by step."""

    arms: npt.NDArray[np.int64]
    rewards: npt.NDArray[np.float64]


def simulate(
    policy: Policy,
    environment: Environment,
    *,
    horizon: int,
    replications: int = 1,
    seed: Seed = None,
    times: Iterable[int] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Run:
    """Play a policy against an environment, many times over, in parallel.

    The result depends on nothing but the arguments before `threads`: replication i has its own
    random streams, derived from (seed, i), and all policies meet the same draws.

    Parameters
    ----------
    horizon
        T, the number of pulls of a replication; at least the number of arms.
    seed
        Anything `numpy.random.SeedSequence` takes; None for a fresh one.
    times
        Where to take the regret (numbers of pulls, increasing); the horizon is added if it is
        missing. By default about 200 times, evenly and logarithmically spaced.
    threads
        How many to use; by default one for each core.
    progress
        Show a bar; by default when it takes over two seconds and the output is a terminal.
    """
    check_policy(policy)
    horizon, replications, threads = _check(environment, horizon, replications, threads)
    taken = _times(times, horizon)
    regret = np.empty((replications, taken.size))
    pulls = np.empty((replications, environment.n_arms), dtype=np.int64)
    no_trace = np.empty((replications, 0), dtype=np.int64), np.empty((replications, 0))
    seconds = _play(
        policy,
        environment,
        horizon,
        key_of(seed),
        taken,
        regret,
        pulls,
        no_trace,
        threads,
        progress,
    )
    return Run(policy, environment, horizon, taken, regret, pulls, seconds)


def trace(policy: Policy, environment: Environment, *, horizon: int, seed: Seed = None) -> Trace:
    """The arms and rewards of replication 0 of `simulate` with the same seed."""
    check_policy(policy)
    horizon, _, _ = _check(environment, horizon, 1, 1)
    arms = np.empty((1, horizon), dtype=np.int64)
    rewards = np.empty((1, horizon))
    regret = np.empty((1, 1))
    pulls = np.empty((1, environment.n_arms), dtype=np.int64)
    taken = np.array([horizon])
    _play(
        policy, environment, horizon, key_of(seed), taken, regret, pulls, (arms, rewards), 1, False
    )
    return Trace(arms[0], rewards[0])


def _check(
    environment: Environment, horizon: int, replications: int, threads: int | None
) -> tuple[int, int, int]:
    if isinstance(environment, type) or not hasattr(environment, "compile"):
        raise ValueError(
            f"environment={environment!r} is not an environment; "
            "give one such as Stationary([Bernoulli(0.4), Bernoulli(0.6)])"
        )
    horizon = whole(horizon, "horizon")
    replications = whole(replications, "replications")
    threads = _cores() if threads is None else whole(threads, "threads")
    if horizon > LONGEST_HORIZON:
        raise ValueError(f"horizon={horizon} must be at most {LONGEST_HORIZON}")
    if horizon < environment.n_arms:
        raise ValueError(
            f"horizon={horizon} is shorter than the {environment.n_arms} arms; "
            "each arm is pulled once first, so choose a longer horizon"
        )
    if replications < 1:
        raise ValueError(f"replications={replications} must be at least 1")
    if threads < 1:
        raise ValueError(f"threads={threads} must be at least 1")
    return horizon, replications, threads


def _times(times: Iterable[int] | None, horizon: int) -> npt.NDArray[np.int64]:
    if times is None:
        even = np.linspace(1, horizon, 101)
        logarithmic = np.geomspace(1, horizon, 101)
        return np.unique(np.rint(np.concatenate([even, logarithmic])).astype(np.int64))
    try:
        taken = [whole(t, "times") for t in times]
    except TypeError:
        raise ValueError(f"times={times!r} must be a list of whole numbers") from None
    if len(taken) == 0 or taken[-1] != horizon:
        taken.append(horizon)
    if taken[0] < 1 or any(later <= earlier for earlier, later in pairwise(taken)):
        raise ValueError(f"times must increase, from at least 1 to at most the horizon {horizon}")
    return np.array(taken, dtype=np.int64)


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _play(
    policy: Policy,
    environment: Environment,
    horizon: int,
    key: Stream,
    times: npt.NDArray[np.int64],
    regret: npt.NDArray[np.float64],
    pulls: npt.NDArray[np.int64],
    traces: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]],
    threads: int,
    progress: bool | None,
) -> float:
    """Cut the replications into chunks and hand them to threads; the kernels release the GIL.

    Returns the seconds it took, without compilation.
    """
    dtype = state_dtype(policy, environment.n_arms, horizon)
    table = environment.compile(horizon)
    arms, rewards = traces
    run = specialise(
        play,
        policy,
        table,
        np.empty(1, dtype),
        key,
        np.empty((2, 4), np.uint64),
        0,
        times,
        regret,
        pulls,
        arms,
        rewards,
    )

    def chunk(first: int, last: int) -> int:
        # One record per chunk, used again for each replication: it stays in the core's own cache.
        state = np.empty(1, dtype)
        part = slice(first, last)
        run(
            policy,
            table,
            state,
            key,
            np.empty((2, 4), np.uint64),
            first,
            times,
            regret[part],
            pulls[part],
            arms[part],
            rewards[part],
        )
        return last - first

    replications = regret.shape[0]
    size = max(1, min(_STEPS_A_CHUNK // horizon, -(-replications // threads)))
    pieces = [(i, min(i + size, replications)) for i in range(0, replications, size)]
    bar = _progress_bar(replications, progress)
    started = time.perf_counter()
    if threads == 1 or len(pieces) == 1:
        with bar:
            for first, last in pieces:
                bar.update(chunk(first, last))
        return time.perf_counter() - started
    with ThreadPoolExecutor(threads) as pool:
        futures: list[Future[int]] = [pool.submit(chunk, *piece) for piece in pieces]
        try:
            for future in as_completed(futures):
                bar.update(future.result())
        finally:  # an interruption leaves no chunk waiting
            pool.shutdown(wait=True, cancel_futures=True)
            bar.close()
    return time.perf_counter() - started


def _progress_bar(total: int, progress: bool | None) -> Any:
    wanted = sys.stderr.isatty() if progress is None else progress
    delay = _BAR_AFTER_SECONDS if progress is None else 0.0
    return tqdm(total=total, disable=not wanted, delay=delay, unit="rep", leave=False)
