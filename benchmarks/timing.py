"""Times functions: the shortest of a few runs counts, because a busy machine only adds time."""

import time
from collections.abc import Callable

import numpy as np

import lastblock as lb
from lastblock.kernels.jit import entry
from lastblock.kernels.streams import next_word, to_unit

REPEATS = 5


def best_of(function: Callable[[], float], repeats: int = REPEATS) -> float:
    """Return the smallest of the times that `function` returns in `repeats` calls."""
    return min(function() for _ in range(repeats))


@entry
def _uniforms(stream, n):
    total = 0.0
    for _ in range(n):
        total += to_unit(next_word(stream))
    return total


def uniform_ns(n: int = 20_000_000) -> float:
    """Return the nanoseconds of a bare xoshiro256++ uniform in a compiled loop.

    This is the unit in which the benchmarks express the speed of the machine.
    """
    stream = np.array([1, 2, 3, 4], dtype=np.uint64)
    _uniforms(stream, 10)

    def once() -> float:
        started = time.perf_counter()
        _uniforms(stream, n)
        return (time.perf_counter() - started) / n * 1e9

    return best_of(once)


def step_ns(policy, environment, *, horizon=10_000, replications=200, repeats=REPEATS) -> float:
    """Return the nanoseconds a step on one core."""

    def once() -> float:
        run = lb.simulate(
            policy, environment, horizon=horizon, replications=replications, seed=1, threads=1
        )
        return run.seconds / (horizon * replications) * 1e9

    return best_of(once, repeats)
