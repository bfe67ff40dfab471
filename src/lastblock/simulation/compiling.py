"""Compile what several players need before they play, in processes beside this one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lastblock.core.protocol import Policy
from lastblock.kernels.compile_cache import cache_folder
from lastblock.kernels.jit import DISABLED
from lastblock.kernels.streams import key_of
from lastblock.simulation.delays import Delay
from lastblock.simulation.run import Environment
from lastblock.simulation.simulate import Player, times_taken
from lastblock.support.compiling_processes import compile_shared
from lastblock.support.parallel import progress_bar


class Job(NamedTuple):
    """Something to compile: a policy in an environment. It crosses to other processes."""

    policy: Policy
    environment: Environment
    horizon: int
    delay: Delay | None = None

    def player(self) -> Player:
        """Return the player; the seed and the times do not matter for its code."""
        times = times_taken([self.horizon], self.horizon)
        return Player(self.policy, self.environment, self.horizon, key_of(0), times, self.delay)

    def compile(self) -> None:
        """Compile it, or load it from the cache."""
        self.player().compile()


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
    # Other processes cannot import what a user has defined in a script, so those stay here.
    ours = [job for job, player in missing.values() if player.is_foreign]
    shared = [job for job, player in missing.values() if not player.is_foreign]
    with progress_bar(len(missing), progress, unit="policy", name="compiling") as bar:
        compile_shared(shared, ours, processes - 1, cache_folder(), lambda *_: bar.update(1))
    return len(missing)
