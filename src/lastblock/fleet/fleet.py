"""The fleet: many live bandits that are asked and told in batches."""

import os
import threading
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy, States
from lastblock.engine.fleet import Numbers
from lastblock.fleet import file
from lastblock.fleet.batch_input import check_all_arms, check_arm_numbers, check_ids, check_rewards
from lastblock.fleet.batches import Batches
from lastblock.fleet.copies import bandit_of
from lastblock.fleet.plan import FleetPlan, read_fleet
from lastblock.kernels.streams import Seed, key_of
from lastblock.live.bandit import Bandit
from lastblock.support.checks import whole
from lastblock.support.parallel import check_threads


class Fleet:
    """Many bandits with the same policy and number of arms, in one array of records.

    A bandit takes no memory before it is first asked. An id that occurs several times in a batch is
    served several times, in order. If each reward is told before the next `ask`, bandit i pulls the
    same arms as replication i of `simulate` with the same seed and rewards, for any number of
    threads; bandit 0 pulls those of a `Bandit` with that seed.

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
        threads = check_threads(threads)
        plan = FleetPlan(policy, arms, size, key_of(seed), horizon)
        self._begin(plan, plan.new_records(), threads)

    def _begin(self, plan: FleetPlan, states: States, threads: int) -> None:
        self._plan, self._states = plan, states
        self._batches = Batches(plan, states, threads)
        self._lock, self._process = threading.Lock(), os.getpid()

    @property
    def _free(self) -> threading.Lock:
        """The lock, for ``with``; a forked process gets an error, since it has no other threads."""
        if os.getpid() != self._process:
            raise ValueError(
                "this fleet belongs to the process that made or loaded it, and a forked process "
                "cannot use it; load its file after the fork, or start workers by spawn"
            )
        return self._lock

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> "Fleet":
        """Return the fleet that `save` wrote to a file; it continues bit for bit.

        A progress bar appears on a terminal after two seconds.

        Parameters
        ----------
        path
            The file.
        threads
            The number of threads; by default one per core.

        Raises
        ------
        OSError
            If the file cannot be read.
        StateFileError
            If the file is not a fleet's, is damaged, or was made by another version.
        """
        threads = check_threads(threads)
        self = cls.__new__(cls)
        self._begin(*read_fleet(Path(path)), threads)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fleet to a file; batches wait meanwhile.

        A progress bar appears on a terminal after two seconds.

        Parameters
        ----------
        path
            The file. An existing file is replaced only after the new one is written completely.

        Raises
        ------
        OSError
            If the file cannot be written; an existing one is unchanged then.
        """
        with self._free:
            file.write(Path(path), self._plan.about(), self._states)

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
        return int(self._plan.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The size of all records in bytes; bandits that nobody has asked take no memory yet."""
        return self._plan.nbytes

    def __len__(self) -> int:
        return self._plan.size

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
        with self._free:
            return self._batches.ask(batch)

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
        with self._free:
            self._batches.tell(batch, numbers, values)

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
        with self._free:
            self._batches.forget(batch, numbers)

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
        with self._free:
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
        with self._free:
            record = self._states[i].copy()
        return bandit_of(plan, record, i)

    def __repr__(self) -> str:
        plan = self._plan
        return f"<Fleet of {plan.size} × {plan.policy}, {plan.arms} arms, {self.nbytes} bytes>"
