"""Compile what several players need before they play, in processes beside this one.

Numba compiles one function at a time in a process, on one core. Other processes compile on the
other cores, and leave the code in the cache on disk, from which this process loads it. Nothing
depends on them: what they fail to compile, this process compiles when it needs it.
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from lastblock.core.protocol import Policy
from lastblock.kernels.compile_cache import cache_folder
from lastblock.kernels.jit import DISABLED
from lastblock.kernels.streams import key_of
from lastblock.simulation.run import Environment
from lastblock.simulation.simulate import Player, times_taken
from lastblock.support.parallel import progress_bar

_PROGRAM = "import sys; sys.path[:] = {path!r}; from {module} import serve; serve()"
_DONE = b"."


class Job(NamedTuple):
    """Something to compile: a policy in an environment. It crosses to other processes."""

    policy: Policy
    environment: Environment
    horizon: int

    def player(self) -> Player:
        """Return the player; the seed and the times do not matter for its code."""
        times = times_taken([self.horizon], self.horizon)
        return Player(self.policy, self.environment, self.horizon, key_of(0), times)


def compile_all(jobs: Sequence[Job], processes: int, progress: bool | None) -> int:
    """Compile what is not in the cache yet, and count on a progress bar.

    Parameters
    ----------
    jobs
        What will be played. Several may need the same code.
    processes
        The largest number of processes that compile at the same time, this one included.
    progress
        Whether to show the bar; see `lastblock.support.parallel.progress_bar`.

    Returns
    -------
    int
        How many pieces of code were missing.
    """
    if DISABLED:
        return 0
    missing: dict[Any, tuple[Job, Player]] = {}
    for job in jobs:
        player = job.player()
        signature = player.signature
        if signature not in missing and not player.is_compiled:
            missing[signature] = job, player
    if not missing:
        return 0
    with progress_bar(len(missing), progress, unit="policy", name="compiling") as bar:
        # Other processes cannot import what a user has defined in a script, so those stay here.
        ours = [player for _, player in missing.values() if player.is_foreign]
        shared: queue.SimpleQueue[tuple[Job, Player]] = queue.SimpleQueue()
        for job, player in missing.values():
            if not player.is_foreign:
                shared.put((job, player))
        count = min(processes, len(missing)) - 1 if cache_folder() is not None else 0
        helpers = [_Helper(shared, lambda: bar.update(1)) for _ in range(count)]
        try:
            for player in ours:
                player.compile()
                bar.update(1)
            with suppress(queue.Empty):
                while True:
                    _, player = shared.get_nowait()
                    player.compile()
                    bar.update(1)
            for helper in helpers:
                helper.join()
        finally:
            for helper in helpers:
                helper.stop()
    return len(missing)


class _Helper:
    """Another process that compiles, and the thread that hands it one job after the other."""

    def __init__(
        self, jobs: "queue.SimpleQueue[tuple[Job, Player]]", tick: Callable[[], object]
    ) -> None:
        self._jobs, self._tick = jobs, tick
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        with suppress(OSError, TypeError):  # no such program, or no more processes
            self._process = _start()
            self._thread.start()

    def _work(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        # A broken pipe: the process has ended, so that others do the rest.
        with suppress(queue.Empty, OSError), process.stdin as sent:
            while True:
                job, _ = self._jobs.get_nowait()
                pickle.dump(job, sent)
                sent.flush()
                if process.stdout.read(1) != _DONE:
                    return
                self._tick()

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


def _start() -> "subprocess.Popen[bytes]":
    folder = cache_folder()
    assert folder is not None
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(path=sys.path, module=__name__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder.parent)},
        start_new_session=True,  # Ctrl-C is for the process that the user has started
    )


def serve() -> None:
    """Compile the jobs that arrive on standard input, in a process that `compile_all` starts."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what others print is no answer
    with suppress(EOFError):
        while True:
            job: Job = pickle.load(sys.stdin.buffer)
            job.player().compile()
            answers.write(_DONE)
