"""Many live bandits at once: ask and tell on arrays, in memory or in a file."""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy, States
from lastblock.engine.fleet import BLOCK, Numbers
from lastblock.engine.live import open_live
from lastblock.engine.record_check import Damage
from lastblock.fleet.batch_input import check_arms, check_ids, check_rewards
from lastblock.fleet.batches import Batches, Records
from lastblock.fleet.file import FleetFile
from lastblock.fleet.member import CLOSED, FleetBandit, FleetBandits, FleetDesk, RecordSeal
from lastblock.fleet.plan import FleetPlan, Memory
from lastblock.kernels.jit import specialise
from lastblock.kernels.seals import sealed_words
from lastblock.kernels.streams import Seed, key_of
from lastblock.live.state import Live
from lastblock.support.checks import flag, whole
from lastblock.support.errors import UNREADABLE, StateFileError
from lastblock.support.parallel import check_threads

NAMED = 3
"""Damaged records that an error names."""

SHARED = (
    "this fleet belongs to the process that opened {path}, and a forked process cannot use it; "
    "open the file after the fork, in one process, or start workers by spawn"
)
HALF_DONE = (
    "another thread was using this fleet when the process was forked, so that its copy here is "
    "half done; fork when no batch is being worked on, or start workers by spawn"
)


class Fleet:
    """Many bandits with the same policy and arms, each with a record of its own, in one array.

    `ask(ids)` and `tell(ids, arms, rewards)` take arrays, and work in parallel. An id that comes
    several times in a batch is served several times, in the order of the batch. A bandit begins
    when it is asked for the first time; until then it costs nothing. Told at once, bandit i of a
    fleet takes the arms of replication i of `simulate` with the same seed and rewards, whatever the
    number of threads; bandit 0 those of a `Bandit` with that seed.

    This one is in memory; `Fleet.create` and `Fleet.open` keep one in a file.

    Parameters
    ----------
    policy
        Any policy of the library, or your own.
    arms
        How many arms each bandit has.
    size
        How many bandits there are; their ids are 0 … size − 1.
    seed
        Anything `numpy.random.SeedSequence` takes; None for a fresh one.
    horizon
        For a policy that keeps every reward: how many rewards of an arm a record has room for.
    memory
        "full", or "compact" for smaller records: rewards are kept as float32, counts in as few
        bytes as they need. The arms are the same where rewards are small whole numbers, or any
        that float32 holds; see docs/how-to/a-million-bandits.md.
    threads
        How many to use; by default one for each core.

    Examples
    --------
    >>> import lastblock as lb
    >>> fleet = lb.Fleet(lb.LBSDAGM(), arms=3, size=1000, seed=7)
    >>> ids = [3, 999, 3]
    >>> arms = fleet.ask(ids)
    >>> fleet.tell(ids, arms, [1.0, 0.0, 0.5])
    >>> fleet.pulls(ids).sum(axis=1).tolist()
    [2, 1, 2]
    """

    def __init__(
        self,
        policy: Policy,
        *,
        arms: int,
        size: int,
        seed: Seed = None,
        horizon: int | None = None,
        memory: Memory = "full",
        threads: int | None = None,
    ) -> None:
        plan = FleetPlan(policy, arms, size, key_of(seed), horizon, memory, sealed=False)
        batches = Batches(plan, check_threads(threads))
        try:
            states = np.zeros(plan.size, plan.dtype)
        except (MemoryError, ValueError):  # or more than numpy can count
            raise MemoryError(
                f"size={size} bandits take {plan.nbytes} bytes, more memory than there is; choose "
                "a smaller size, memory='compact', or keep them in a file with Fleet.create()"
            ) from None
        self._begin(batches, states)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        policy: Policy,
        *,
        arms: int,
        size: int,
        seed: Seed = None,
        horizon: int | None = None,
        memory: Memory = "full",
        threads: int | None = None,
        reserve: bool = False,
    ) -> "Fleet":
        """A new fleet in a file, which is mapped into memory; see the class for the parameters.

        The file takes room on the disk as bandits are asked for the first time. When the disk is
        full then, the system ends the process, as it does with every mapped file; `reserve` takes
        the room at once, or raises an error.
        """
        plan = FleetPlan(policy, arms, size, key_of(seed), horizon, memory, sealed=True)
        batches = Batches(plan, check_threads(threads))
        file = FleetFile.create(Path(path), plan.about(), plan.nbytes, reserve=reserve)
        return cls._on(batches, file)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        threads: int | None = None,
        repair: bool = False,
    ) -> "Fleet":
        """The fleet of a file that `create` made; it goes on bit for bit.

        Only one can be open at a time. Every record that has been written is looked at.

        Parameters
        ----------
        path
            The file.
        threads
            How many to use; by default one for each core.
        repair
            Restart the bandits whose records are damaged, and keep all others as they are:
            `repaired` names them. Without it a damaged record is an error.

        Raises
        ------
        StateFileError
            If the file is not a fleet's, is cut off, is corrupt or was made by a newer version, or
            if a record in it is damaged.
        """
        threads = check_threads(threads)
        repair = flag(repair, "repair")
        file = FleetFile.open(Path(path))
        try:
            batches = Batches(FleetPlan.read(file.about, sealed=file.version > 1), threads)
        except UNREADABLE as error:
            file.close()
            raise StateFileError(
                f"{path} does not fit this version of lastblock: {error}; "
                "open it with the version that made it"
            ) from error
        self = cls._on(batches, file)
        try:
            damages = batches.look_over(self._states, file.written, repair=repair)
        except BaseException:
            self.close()
            raise
        if damages and not repair:
            self.close()
            raise StateFileError(
                f"{path} is corrupt: {_in_words(damages)}; restore it from a copy, or open it "
                "with repair=True, which restarts these bandits and keeps the others"
            )
        self._repaired.update(damages)
        return self

    @classmethod
    def _on(cls, batches: Batches, file: FleetFile) -> "Fleet":
        try:
            states = file.records(batches.plan.dtype, batches.plan.size)
        except BaseException:
            file.close()
            raise
        self = cls.__new__(cls)
        self._begin(batches, states, file)
        return self

    def _begin(self, batches: Batches, states: States, file: FleetFile | None = None) -> None:
        self._plan, self._batches = batches.plan, batches
        touched = np.zeros(-(-self._plan.size // BLOCK), np.uint8)
        self._records: Records | None = Records(
            states,
            states.view(np.ndarray).view(np.uint64),
            touched,
            sealed_words(self._plan.state_size),
        )
        self._file = file
        self._lock = threading.RLock()
        self._bandits = FleetBandits()
        self._repaired: dict[int, str] = {}
        self._unusable = CLOSED
        _fleets.add(self)

    @property
    def _open_records(self) -> "Records":
        if self._records is None:
            raise ValueError(self._unusable)
        return self._records

    @property
    def _states(self) -> States:
        return self._open_records.states

    @property
    def repaired(self) -> Mapping[int, str]:
        """The bandits that `open(…, repair=True)` restarted, and what was wrong with each."""
        return MappingProxyType(self._repaired)

    @property
    def policy(self) -> Policy:
        return self._plan.policy

    @property
    def arms(self) -> int:
        """How many arms each bandit has."""
        return self._plan.arms

    @property
    def memory(self) -> Memory:
        """ "full" or "compact"."""
        return self._plan.memory

    @property
    def threads(self) -> int:
        return self._batches.threads

    @property
    def state_size(self) -> int:
        """The size of one bandit's record in bytes."""
        return self._plan.state_size

    @property
    def nbytes(self) -> int:
        """The size of all records in bytes; those that nobody has asked take no memory yet."""
        return self._plan.nbytes

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        return None if self._file is None else self._file.path

    def __len__(self) -> int:
        return self._plan.size

    def flush(self) -> None:
        """Wait until the file, if there is one, has everything on the disk, sealed."""
        with self._lock:
            if self._records is not None and self._file is not None:
                if self._plan.is_sealed:
                    self._batches.seal(self._records)
                self._file.flush()

    def close(self) -> None:
        """Flush, and let go of file and memory; fleet and bandits cannot be used any more."""
        with self._lock:
            self.flush()
            self._bandits.close(self._unusable)
            self._records = None
            self._batches.close()
            if self._file is not None:
                self._file.close()

    def _forked(self) -> None:
        """In a child process, just after a fork.

        The child has a copy of what was in memory, and can go on with it, by threads of its own.
        What is mapped from a file is shared with the parent: two processes would write into each
        other's records.
        """
        self._batches.forget_threads()
        if self._file is not None:
            self._unusable = SHARED.format(path=self._file.path)
        elif not self._lock.acquire(blocking=False):
            self._unusable = HALF_DONE
        else:
            self._lock.release()
            return
        self._lock = threading.RLock()
        self._bandits.close(self._unusable)
        self._records = None
        if self._file is not None:
            self._file.abandon()

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, ids: npt.ArrayLike) -> Numbers:
        """Take a decision of each of these bandits; return the arms, in the order of `ids`."""
        batch = check_ids(ids, self._plan.size)
        with self._lock:
            return self._batches.ask(self._open_records, batch)

    def tell(self, ids: npt.ArrayLike, arms: npt.ArrayLike, rewards: npt.ArrayLike) -> None:
        """Take in the rewards of decisions. If one of them is wrong, nothing is changed."""
        batch = check_ids(ids, self._plan.size)
        numbers = check_arms(arms, self._plan.arms, batch.size)
        values = check_rewards(rewards, self._plan.largest_reward, batch.size, self._plan.policy)
        with self._lock:
            self._batches.tell(self._open_records, batch, numbers, values)

    def forget(self, ids: npt.ArrayLike, arms: npt.ArrayLike) -> None:
        """Drop decisions whose rewards will never come. If one is wrong, nothing is changed."""
        batch = check_ids(ids, self._plan.size)
        numbers = check_arms(arms, self._plan.arms, batch.size)
        with self._lock:
            self._batches.forget(self._open_records, batch, numbers)

    def pulls(self, ids: npt.ArrayLike | None = None) -> Numbers:
        """How many rewards each arm has had: a row for each of these bandits, or for every one."""
        batch = slice(None) if ids is None else check_ids(ids, self._plan.size)
        with self._lock:
            return self._states["told"][batch, : self._plan.arms].astype(np.int64)

    def bandit(self, id: int) -> FleetBandit:
        """A live bandit on the record of this number; its arms are labelled 0, 1, …

        What it asks and what it is told changes the fleet, and the other way round. It says what it
        asked for itself (`pending`), and knows the mean of the rewards that it was told itself; the
        arms of one bandit of a fleet cannot come or go. Saved or copied it is on its own. It knows
        its decisions until they are answered, even if you do not keep it.
        """
        plan, i = self._plan, whole(id, "id")
        if not 0 <= i < plan.size:
            raise ValueError(f"id={id} is not one of this fleet's bandits, 0 to {plan.size - 1}")
        with self._lock:
            records, bandit = self._open_records, self._bandits.get(i)
            if bandit is None:
                record = records.states[i : i + 1]
                seal = RecordSeal(records, i)
                if record[0]["round"] == 0:
                    start: Any = specialise(open_live, plan.policy, record, 0, plan.key, 0)
                    with seal.broken():
                        start(plan.policy, record, plan.arms, plan.key, i)
                live = Live(
                    plan.policy,
                    plan.arms,
                    width=record.dtype["queue"].shape[0],
                    depth=plan.horizon if plan.grows else None,
                    states=record,
                )
                desk = FleetDesk(
                    live, largest_reward=plan.largest_reward, lock=self._lock, seal=seal
                )
                bandit = self._bandits.make(i, desk)
            return bandit

    def __repr__(self) -> str:
        where = "" if self._file is None else f" in {self._file.path}"
        return (
            f"<Fleet of {self._plan.size} × {self._plan.policy}, {self._plan.arms} arms, "
            f"{self.nbytes} bytes{where}>"
        )


_fleets: WeakSet[Fleet] = WeakSet()


def _after_fork() -> None:
    """In a child process: see to it that it neither shares memory nor waits for lost threads."""
    for fleet in list(_fleets):
        fleet._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _in_words(damages: list[Damage]) -> str:
    """What is wrong with the first records, and how many there are."""
    named = "; ".join(f"in the record of bandit {i}, {what}" for i, what in damages[:NAMED])
    more = len(damages) - NAMED
    return named if more <= 0 else f"{named}; and in {more} more"
