"""Compile ahead what live bandits will need, on several cores, and say what was there already."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lastblock.core.layout import room_for
from lastblock.core.protocol import Policy, check_arms
from lastblock.core.registry import as_written, require_policy
from lastblock.kernels.background import SoonCompiled
from lastblock.kernels.compile_cache import cache_folder
from lastblock.kernels.jit import DISABLED, is_foreign
from lastblock.live.event_replay import repeating
from lastblock.live.state import Live
from lastblock.support.checks import at_least, flag
from lastblock.support.compiling_processes import compile_shared
from lastblock.support.parallel import cores, progress_bar

ROOMS = (2, 4, 8, 16)
"""The rooms that are compiled if nobody names others."""


class Warmed(NamedTuple):
    """What `warm` did for one policy and one room."""

    policy: Policy
    room: int
    """The number of arms that there is room for."""
    was_there: bool
    """Whether all code was in memory or on the disk before."""
    seconds: float
    """How long the compilation took; 0 if the code was there."""


class Warmth(tuple[Warmed, ...]):
    """What `warm` did: a tuple of `Warmed`, which prints as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [(as_written(row.policy), str(row.room), _outcome(row)) for row in self]
        lines = [("policy", "room", "code"), *rows]
        first, second = (max(len(line[i]) for line in lines) for i in (0, 1))
        return "\n".join(f"{name:<{first}}  {room:>{second}}  {code}" for name, room, code in lines)


def _outcome(row: Warmed) -> str:
    return "was there" if row.was_there else f"compiled in {row.seconds:.1f} s"


class LiveCode(NamedTuple):
    """The code of live bandits with one policy and one room. It crosses to other processes."""

    policy: Policy
    room: int
    floors: bool

    def kernels(self) -> list[SoonCompiled]:
        """Return the kernels, with which nobody has asked or told anything."""
        found: list[SoonCompiled] = []
        for floored in (False, True) if self.floors else (False,):
            live = Live(self.policy, self.arms, width=self.room, floored=floored)
            found += live.kernels
        return [*found, repeating(live)]

    @property
    def arms(self) -> int:
        """The smallest number of arms that gets this room: a policy may not take more."""
        return self.room // 2 + 1

    def compile(self) -> None:
        """Compile what is not in the cache."""
        for kernel in self.kernels():
            kernel.wait()

    def is_kept(self) -> bool:
        """Return whether all code is in memory or on the disk, from which this loads it."""
        kept = [kernel.is_kept() for kernel in self.kernels()]  # so that all are loaded
        return all(kept)

    @property
    def signature(self) -> tuple[Any, ...]:
        """What the code is compiled for; policies that differ in numbers may share it."""
        return tuple(kernel.signature for kernel in self.kernels())


def warm(
    policies: Policy | Iterable[Policy],
    rooms: int | Iterable[int] = ROOMS,
    *,
    floors: bool = False,
    processes: int | None = None,
    progress: bool | None = None,
) -> Warmth:
    """Compile ahead what live bandits need, so that they decide in compiled code from the start.

    The code is kept on the disk, for every later process; what is there is loaded into this one.
    A policy that keeps every reward is compiled for its first record, of 1023 rewards an arm.

    Parameters
    ----------
    policies
        One or several policies, with the parameters that the bandits will have.
    rooms
        For how many arms. A bandit has room for 2, 4, 8, 16, 32 … arms, and so other numbers are
        rounded up to the next of these.
    floors
        Whether there will be bandits with traffic floors, too.
    processes
        How many processes compile at the same time; by default one for each core.
    progress
        Whether to show a bar; by default when it takes over two seconds and the output is a
        terminal.

    Returns
    -------
    Warmth
        What was done for each policy and room: whether the code was there, or the seconds that it
        took to compile. It prints as a table.

    Raises
    ------
    ValueError
        If an argument is not a policy, or out of range, or a policy cannot play that many arms.
    PolicyError
        If a policy of your own cannot be compiled.

    Examples
    --------
    >>> import lastblock as lb
    >>> done = lb.warm(lb.EpsilonGreedy(), rooms=[4])
    >>> [(row.room, lb.Bandit(row.policy, arms=3).is_compiled) for row in done]
    [(4, True)]
    """
    jobs = [
        LiveCode(policy, room, flag(floors, "floors"))
        for policy in _policies(policies)
        for room in _rooms(rooms)
    ]
    for job in jobs:
        check_arms(job.policy, job.arms)
    count = cores() if processes is None else at_least(1, processes, "processes")
    if DISABLED:
        return Warmth(Warmed(job.policy, job.room, True, 0.0) for job in jobs)
    signatures = [job.signature for job in jobs]
    missing: dict[Any, LiveCode] = {}
    for signature, job in zip(signatures, jobs, strict=True):
        if signature not in missing and not job.is_kept():
            missing[signature] = job
    times = _compile(list(missing.values()), count, progress)
    seconds = dict(zip(missing, times, strict=True))
    return Warmth(
        Warmed(job.policy, job.room, signature not in missing, seconds.get(signature, 0.0))
        for signature, job in zip(signatures, jobs, strict=True)
    )


def _compile(jobs: Sequence[LiveCode], processes: int, progress: bool | None) -> list[float]:
    """Compile all of them and load them here; return the seconds of each."""
    if not jobs:
        return []
    seconds: dict[int, float] = {}  # by the identity of a job, since equal tuples may differ
    ours = [job for job in jobs if is_foreign(job.policy)]
    shared = [job for job in jobs if not is_foreign(job.policy)]
    with progress_bar(len(jobs), progress, unit="room", name="compiling") as bar:

        def note(job: LiveCode, took: float) -> None:
            seconds[id(job)] = took
            bar.update(1)

        compile_shared(shared, ours, processes - 1, cache_folder(), note)
        for job in shared:
            job.is_kept()  # loads what other processes have compiled
    return [seconds[id(job)] for job in jobs]


def _policies(given: Any) -> list[Policy]:
    """Return the policies, each once."""
    # A policy is iterable itself: it is a tuple of its parameters.
    is_one = isinstance(given, str | type) or hasattr(given, "plan")
    several = [given] if is_one or not isinstance(given, Iterable) else list(given)
    for policy in several:
        require_policy(policy)
    return list({repr(policy): policy for policy in several}.values())


def _rooms(given: int | Iterable[int]) -> list[int]:
    """Return the rooms in order, each once."""
    several = list(given) if isinstance(given, Iterable) else [given]
    return sorted({room_for(at_least(2, room, "rooms")) for room in several})
