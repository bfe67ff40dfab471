"""Share compilations with other Python processes that this one starts.

Numba compiles one function at a time in a process, on one core. Other processes compile on the
other cores, and leave the code in the cache on disk, from which this process loads it. Nothing
depends on them: what they fail to compile, this process compiles.
"""

import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

_PROGRAM = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve()"
_SECONDS = struct.Struct("<d")


class Compilable(Protocol):
    """Something to compile. It can be pickled, unless it stays in this process."""

    def compile(self) -> object:
        """Compile it, and leave the code in the cache on disk."""


J = TypeVar("J", bound=Compilable)


def compile_shared(
    shared: Sequence[J],
    ours: Sequence[J],
    helpers: int,
    cache: Path | None,
    done: Callable[[J, float], object],
) -> None:
    """Compile everything, with the help of other processes.

    Parameters
    ----------
    shared
        What any process may compile.
    ours
        What only this process can compile, such as policies that a user has defined in a script.
    helpers
        The largest number of other processes to start.
    cache
        The folder that holds compiled code; None if code cannot be kept, and then nobody helps.
    done
        It is called with each of them that is compiled, and with the seconds that this took. It may
        be called in any thread, one at a time.
    """
    waiting: queue.SimpleQueue[J] = queue.SimpleQueue()
    for job in shared:
        waiting.put(job)
    finished: set[int] = set()
    lock = threading.Lock()

    def tick(job: J, seconds: float) -> None:
        with lock:
            finished.add(id(job))
            done(job, seconds)

    count = 0 if cache is None else min(helpers, len(shared) + len(ours) - 1)
    others = [Helper(waiting, tick, cache.parent) for _ in range(count) if cache is not None]
    try:
        for job in ours:
            tick(job, _seconds(job))
        with suppress(queue.Empty):
            while True:
                job = waiting.get_nowait()
                tick(job, _seconds(job))
        for helper in others:
            helper.join()
    finally:
        for helper in others:
            helper.stop()
    for job in shared:  # what processes have begun that ended too early
        if id(job) not in finished:
            tick(job, _seconds(job))


def _seconds(job: Compilable) -> float:
    """Compile one job, and return how long it took."""
    begun = time.perf_counter()
    job.compile()
    return time.perf_counter() - begun


class Helper(Generic[J]):
    """Another process that compiles, and the thread that hands it one job after the other.

    Parameters
    ----------
    jobs
        The jobs that nobody has begun.
    tick
        Called with each job that is compiled, and with its seconds.
    cache
        The folder in which compiled code is kept, for ``NUMBA_CACHE_DIR``.
    """

    def __init__(
        self, jobs: "queue.SimpleQueue[J]", tick: Callable[[J, float], object], cache: Path
    ) -> None:
        self._jobs, self._tick = jobs, tick
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        with suppress(OSError, TypeError):  # no such program, or no more processes
            self._process = start(cache)
            self._thread.start()

    def _work(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        # A broken pipe: the process has ended, so that others do the rest.
        with suppress(queue.Empty, OSError), process.stdin as sent:
            while True:
                job = self._jobs.get_nowait()
                pickle.dump(job, sent)
                sent.flush()
                answer = process.stdout.read(_SECONDS.size)
                if len(answer) < _SECONDS.size:
                    return
                self._tick(job, *_SECONDS.unpack(answer))

    def join(self) -> None:
        """Wait until it finds no job any more."""
        if self._process is not None:
            self._thread.join()

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._thread.join()
            if self._process.stdout is not None:
                self._process.stdout.close()


def start(cache: Path) -> "subprocess.Popen[bytes]":
    """Start a process that compiles what it reads, and keeps the code in this folder."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(path=sys.path, module=__name__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        start_new_session=True,  # Ctrl-C is for the process that the user has started
    )


def serve() -> None:
    """Compile the jobs that arrive on standard input, in a process that `start` has started."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what others print is no answer
    with suppress(EOFError):
        while True:
            job: Compilable = pickle.load(sys.stdin.buffer)
            answers.write(_SECONDS.pack(_seconds(job)))
