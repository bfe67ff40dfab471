"""The fleet: many live bandits that are asked and told in batches, in memory or in a file."""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy, States
from lastblock.engine.fleet import Numbers
from lastblock.fleet.batch_input import check_all_arms, check_arm_numbers, check_ids, check_rewards
from lastblock.fleet.batches import Batches, Records
from lastblock.fleet.copies import bandit_of
from lastblock.fleet.file import FleetFile
from lastblock.fleet.forks import open_fleets
from lastblock.fleet.messages import HALF_DONE, SHARED, is_corrupt
from lastblock.fleet.plan import FleetPlan, plan_in
from lastblock.kernels.streams import Seed, key_of
from lastblock.live.bandit import Bandit
from lastblock.support.checks import flag, whole
from lastblock.support.parallel import check_threads


class Fleet:
    """Many bandits with the same policy and number of arms, in one array of records.

    ``Fleet(…)`` keeps the bandits in memory, `Fleet.create` and `Fleet.open` in a file. A bandit
    takes no memory before it is first asked. An id that occurs several times in a batch is served
    several times, in order. If each reward is told before the next `ask`, bandit i pulls the same
    arms as replication i of `simulate` with the same seed and rewards, for any number of threads;
    bandit 0 pulls those of a `Bandit` with that seed.

    Parameters
    ----------
    policy
        A policy of the library, or your own.
    arms
        The number of arms of each bandit.
    size
        The number of bandits; their ids are 0 … size − 1.
    seed
        Anything that `numpy.random.SeedSequence` takes; None for a fresh seed.
    horizon
        The number of rewards of an arm that a record must hold: needed for a policy that keeps
        every reward, and a smaller record of `LBSDAGM`.
    threads
        The number of threads; by default one per core.

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
        threads: int | None = None,
    ) -> None:
        plan = FleetPlan(policy, arms, size, key_of(seed), horizon, sealed=False)
        batches = Batches(plan, check_threads(threads))
        self._begin(batches, plan.new_records())

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
        threads: int | None = None,
        reserve: bool = False,
    ) -> "Fleet":
        """Create a fleet in a new file, which is mapped into memory.

        Parameters
        ----------
        path
            The file; there must be none of this name.
        policy, arms, size, seed, horizon, threads
            As for `Fleet`.
        reserve
            Take all the space on the disk now. Otherwise the file takes it when bandits are first
            asked; if the disk is full then, the system ends the process.

        Returns
        -------
        Fleet
            The open fleet.

        Raises
        ------
        OSError, ValueError
            If there is such a file, or no room for it, or an argument is out of range.
        """
        plan = FleetPlan(policy, arms, size, key_of(seed), horizon, sealed=True)
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
        """Open the fleet in a file that `create` made; it continues bit for bit.

        A file can be open only once at a time. Every record that has been written is checked.

        Parameters
        ----------
        path
            The file.
        threads
            The number of threads; by default one per core.
        repair
            Restart the bandits whose records are damaged, and keep all others as they are;
            `repaired` then names them. Without it, a damaged record is an error.

        Raises
        ------
        StateFileError
            If the file is not a fleet's, is open elsewhere, is damaged, or was made by a newer
            version.
        """
        threads = check_threads(threads)
        repair = flag(repair, "repair")
        file = FleetFile.open(Path(path))
        batches = Batches(plan_in(file), threads)
        self = cls._on(batches, file)
        try:
            damages = batches.look_over(self._states, file.written, repair=repair)
            if damages and not repair:
                raise is_corrupt(path, damages)
        except BaseException:
            self.close()
            raise
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
        self._records: Records | None = Records.of(states)
        self._file = file
        self._lock = threading.RLock()
        self._repaired: dict[int, str] = {}
        self._unusable = "this fleet is closed; open its file again, or make a new one"
        open_fleets.add(self)

    @property
    def _open_records(self) -> Records:
        if self._records is None:
            raise ValueError(self._unusable)
        return self._records

    @property
    def _states(self) -> States:
        return self._open_records.states

    @property
    def repaired(self) -> Mapping[int, str]:
        """What was wrong with each bandit that `open(…, repair=True)` restarted, by id."""
        return MappingProxyType(self._repaired)

    @property
    def policy(self) -> Policy:
        """The policy of every bandit."""
        return self._plan.policy

    @property
    def arms(self) -> int:
        """The number of arms of each bandit."""
        return self._plan.arms

    @property
    def threads(self) -> int:
        """The number of threads that work on a large batch."""
        return self._batches.threads

    @property
    def state_size(self) -> int:
        """The size of one bandit's record in bytes."""
        return self._plan.state_size

    @property
    def nbytes(self) -> int:
        """The size of all records in bytes; bandits that nobody has asked take no memory yet."""
        return self._plan.nbytes

    @property
    def path(self) -> Path | None:
        """The path of the file; None for a fleet in memory."""
        return None if self._file is None else self._file.path

    def __len__(self) -> int:
        return self._plan.size

    def flush(self) -> None:
        """Seal all records, and wait until they are on the disk; does nothing without a file."""
        with self._lock:
            if self._records is not None and self._file is not None:
                if self._plan.is_sealed:
                    self._batches.seal(self._records)
                self._file.flush()

    def close(self) -> None:
        """Flush, then release file and memory; the fleet and its bandits cannot be used again."""
        with self._lock:
            self.flush()
            self._records = None
            self._batches.close()
            if self._file is not None:
                self._file.close()

    def _forked(self) -> None:
        """Make the fleet safe in the child of a fork; a mapped file stays the parent's alone."""
        self._batches.forget_threads()
        if self._file is not None:
            self._unusable = SHARED.format(path=self._file.path)
        elif not self._lock.acquire(blocking=False):
            self._unusable = HALF_DONE
        else:
            self._lock.release()
            return
        self._lock = threading.RLock()
        self._records = None
        if self._file is not None:
            self._file.abandon()

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(
        self,
        ids: npt.ArrayLike,
        *,
        context: object = None,
        among: None = None,
        without: None = None,
    ) -> Numbers:
        """Take a decision with each of these bandits.

        Parameters
        ----------
        ids
            The bandits; one may occur several times.
        context, among, without
            Not supported: decisions depend on rewards alone, and are among all arms.

        Returns
        -------
        numpy.ndarray
            The arms to pull, in the order of `ids`.

        Raises
        ------
        TypeError
            If a context is given.
        """
        check_all_arms(context, among, without)
        batch = check_ids(ids, self._plan.size)
        with self._lock:
            return self._batches.ask(self._open_records, batch)

    def tell(self, ids: npt.ArrayLike, arms: npt.ArrayLike, rewards: npt.ArrayLike) -> None:
        """Learn the rewards of decisions: all of them, or none on an error.

        Parameters
        ----------
        ids, arms, rewards
            The bandits, the arms that `ask` returned for them, and the rewards of these arms.

        Raises
        ------
        UnknownDecisionError
            If a bandit has no decision out for its arm.
        ValueError
            If an argument is wrong; the message gives the position.
        """
        batch = check_ids(ids, self._plan.size)
        numbers = check_arm_numbers(arms, self._plan.arms, batch.size)
        values = check_rewards(rewards, batch.size, self._plan.policy)
        with self._lock:
            self._batches.tell(self._open_records, batch, numbers, values)

    def forget(self, ids: npt.ArrayLike, arms: npt.ArrayLike) -> None:
        """Drop decisions whose rewards will never come: all of them, or none on an error.

        Parameters
        ----------
        ids, arms
            The bandits, and the arms that `ask` returned for them.

        Raises
        ------
        UnknownDecisionError, ValueError
            As for `tell`.
        """
        batch = check_ids(ids, self._plan.size)
        numbers = check_arm_numbers(arms, self._plan.arms, batch.size)
        with self._lock:
            self._batches.forget(self._open_records, batch, numbers)

    def pulls(self, ids: npt.ArrayLike | None = None) -> Numbers:
        """Return how many rewards each arm has had.

        Parameters
        ----------
        ids
            The bandits; by default all of them.

        Returns
        -------
        numpy.ndarray
            One row per id, one column per arm.
        """
        batch = slice(None) if ids is None else check_ids(ids, self._plan.size)
        with self._lock:
            return self._states["told"][batch, : self._plan.arms].astype(np.int64)

    def bandit(self, id: int) -> Bandit[int]:
        """Return an ordinary bandit, a copy of one in the fleet; its arms are 0, 1, …

        Parameters
        ----------
        id
            The number of the bandit.

        Returns
        -------
        Bandit
            It continues as the bandit in the fleet would, and the two share nothing. Its `pending`
            has the decisions that are out, by arm. The means of the rewards so far are not known.

        Raises
        ------
        ValueError
            If the fleet has no bandit of this number.
        """
        plan, i = self._plan, whole(id, "id")
        if not 0 <= i < plan.size:
            raise ValueError(f"id={id} is not one of this fleet's bandits, 0 to {plan.size - 1}")
        with self._lock:
            record = self._states[i].copy()
        return bandit_of(plan, record, i)

    def __repr__(self) -> str:
        plan, where = self._plan, "" if self._file is None else f" in {self._file.path}"
        size = f"{self.nbytes} bytes{where}"
        return f"<Fleet of {plan.size} × {plan.policy}, {plan.arms} arms, {size}>"
