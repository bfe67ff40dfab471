"""Many live bandits at once: ask and tell on arrays, in memory or in a file."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from lastblock.core.history import LARGEST_COMPACT_REWARD
from lastblock.core.layout import fleet_dtype, grows, layout_id
from lastblock.core.protocol import Policy, States
from lastblock.core.registry import build, check_policy, describe
from lastblock.engine.fleet import (
    DIGIT_BITS,
    NOWHERE,
    Numbers,
    Words,
    ask_own,
    first_unasked,
    first_without_room,
    forget_own,
    sort_own,
    tell_own,
)
from lastblock.engine.live import open_live
from lastblock.fleet.batch_input import LARGEST_FLEET, check_arms, check_ids, check_rewards
from lastblock.fleet.file import FleetFile
from lastblock.fleet.member import CLOSED, FleetBandit, FleetBandits
from lastblock.fleet.record_check import FINE, RecordCheck
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import specialise
from lastblock.kernels.streams import STREAM_WORDS, Seed, Stream, key_of
from lastblock.live.bandit import Bandit
from lastblock.support.checks import whole
from lastblock.support.errors import StateFileError, UnknownDecisionError
from lastblock.support.parallel import cores

SMALL_BATCH = 2048
"""Up to so many ids one thread is faster than waking several."""

CHECKED_AT_ONCE = 1 << 14
"""Records of a file, by one thread."""

Memory: TypeAlias = Literal["full", "compact"]
FULL: Final = "full"
COMPACT: Final = "compact"
MEMORIES = (FULL, COMPACT)

T = TypeVar("T")


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
    >>> fleet = lb.Fleet(lb.LBSDALM(), arms=3, size=1000, seed=7)
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
        self._prepare(policy, arms, size, key_of(seed), horizon, memory, threads)
        try:
            states = np.zeros(self._size, self._dtype)
        except (MemoryError, ValueError):  # or more than numpy can count
            raise MemoryError(
                f"size={size} bandits take {self.nbytes} bytes, more memory than there is; choose "
                "a smaller size, memory='compact', or keep them in a file with Fleet.create()"
            ) from None
        self._begin(states)

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
        self = cls.__new__(cls)
        self._prepare(policy, arms, size, key_of(seed), horizon, memory, threads)
        file = FleetFile.create(Path(path), self._about(), self.nbytes, reserve=reserve)
        self._map(file)
        return self

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> "Fleet":
        """The fleet of a file that `create` made; it goes on bit for bit.

        Only one can be open at a time. A file that is none, cut off, corrupt, or made by a newer
        version is a `StateFileError`, and so is one with a damaged record: every record that has
        been written is looked at.
        """
        threads = _check_threads(threads)
        file = FleetFile.open(Path(path))
        self = cls.__new__(cls)
        try:
            self._read(file.about, threads)
        except (KeyError, TypeError, ValueError) as error:
            file.close()
            raise StateFileError(
                f"{path} does not fit this version of lastblock: {error}; "
                "open it with the version that made it"
            ) from error
        self._map(file, checked=False)
        return self

    def _about(self) -> dict[str, Any]:
        """All but the records, as plain data."""
        return {
            "policy": describe(self._policy),
            "layout": layout_id(self._dtype),
            "arms": self._arms,
            "size": self._size,
            "horizon": self._horizon,
            "memory": self._memory,
            "key": self._key.tolist(),
        }

    def _read(self, about: dict[str, Any], threads: int | None) -> None:
        key = np.array(about["key"], np.uint64)
        if key.shape != (STREAM_WORDS,):
            raise ValueError("its seed has another length")
        policy = build(about["policy"])
        arms, size, horizon = about["arms"], about["size"], about["horizon"]
        self._prepare(policy, arms, size, key, horizon, about["memory"], threads)
        if about["layout"] != layout_id(self._dtype):
            raise ValueError("its records have another layout")

    def _map(self, file: FleetFile, *, checked: bool = True) -> None:
        try:
            states = file.records(self._dtype, self._size)
        except BaseException:
            file.close()
            raise
        self._begin(states, file)
        del states
        try:
            damage = None if checked else self._first_damage(file.written)
        except BaseException:
            self.close()
            raise
        if damage is not None:
            self.close()
            raise StateFileError(f"{file.path} is corrupt: {damage}; restore it from a copy")

    def _first_damage(self, written: list[tuple[int, int]]) -> str | None:
        """What is wrong with the first of these records that would lead a kernel astray."""
        states, check = self._states, RecordCheck(self._policy, self._dtype, self._arms)
        parts = [
            (first, min(first + CHECKED_AT_ONCE, end))
            for start, end in written
            for first in range(start, end, CHECKED_AT_ONCE)
        ]
        found = self._each(parts, lambda part: check.first_damaged(states, *part))
        for number, what, _ in found:
            if number != FINE:
                return f"in the record of bandit {number}, {what}"
        for part, (_, _, unfinished) in zip(parts, found, strict=True):
            if unfinished:
                check.finish_rounds(states, *part)
        return None

    def _prepare(
        self,
        policy: Policy,
        arms: int,
        size: int,
        key: Stream,
        horizon: int | None,
        memory: Memory,
        threads: int | None,
    ) -> None:
        """All but the records: checked, and kept, with the kernels compiled for them."""
        check_policy(policy)
        self._policy, self._key = policy, key
        self._arms, self._size = whole(arms, "arms"), whole(size, "size")
        self._horizon = None if horizon is None else whole(horizon, "horizon")
        self._threads = _check_threads(threads)
        self._grows = grows(policy, self._arms)
        if not 1 <= self._size <= LARGEST_FLEET:
            raise ValueError(f"size={size} must lie between 1 and {LARGEST_FLEET}")
        if self._grows and self._horizon is None:
            raise ValueError(
                f"{type(policy).__name__} keeps every reward, and the records of a fleet do not "
                "grow; give horizon=…, how many rewards of an arm they have room for"
            )
        if self._horizon is not None and self._horizon < 1:
            raise ValueError(f"horizon={horizon} must be at least 1")
        if memory not in MEMORIES:
            raise ValueError(f"memory={memory!r} must be 'full' or 'compact'")
        self._memory = memory
        self._dtype = fleet_dtype(policy, self._arms, self._horizon, compact=memory == COMPACT)
        self._bits = max(1, (self._size - 1).bit_length())
        states, numbers = np.zeros(0, self._dtype), np.zeros(0, np.int64)
        words, rewards = np.zeros(0, np.uint64), np.zeros(0)
        self._sort: Any = specialise(sort_own, numbers, 0, 1, 1, words, words, numbers)
        self._ask: Any = specialise(ask_own, self._policy, states, 0, self._key, words, numbers)
        self._unasked: Any = specialise(first_unasked, states, words, numbers, numbers)
        self._tell: Any = specialise(tell_own, self._policy, states, words, numbers, rewards)

    def _begin(self, states: States, file: FleetFile | None = None) -> None:
        """Take the records."""
        self._records: States | None = states
        self._file = file
        self._lock = threading.RLock()
        self._pool: ThreadPoolExecutor | None = None
        self._bandits = FleetBandits()

    @property
    def _states(self) -> States:
        if self._records is None:
            raise ValueError(CLOSED)
        return self._records

    @property
    def policy(self) -> Policy:
        return self._policy

    @property
    def arms(self) -> int:
        """How many arms each bandit has."""
        return self._arms

    @property
    def memory(self) -> Memory:
        """ "full" or "compact"."""
        return self._memory

    @property
    def threads(self) -> int:
        return self._threads

    @property
    def state_size(self) -> int:
        """The size of one bandit's record in bytes."""
        return int(self._dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The size of all records in bytes; those that nobody has asked take no memory yet."""
        return self._size * self.state_size

    @property
    def path(self) -> Path | None:
        """The file, if there is one."""
        return None if self._file is None else self._file.path

    def __len__(self) -> int:
        return self._size

    def flush(self) -> None:
        """Wait until the file, if there is one, has everything on the disk."""
        with self._lock:
            if self._records is not None and self._file is not None:
                self._file.flush()

    def close(self) -> None:
        """Flush, and let go of file and memory; fleet and bandits cannot be used any more."""
        with self._lock:
            self.flush()
            self._bandits.close()
            self._records = None
            if self._pool is not None:
                self._pool.shutdown()
            if self._file is not None:
                self._file.close()

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, ids: npt.ArrayLike) -> Numbers:
        """A decision of each of these bandits: the arms, in the order of `ids`."""
        batch = check_ids(ids, self._size)
        arms = np.empty(batch.size, np.int64)
        with self._lock:
            states = self._states
            parts = self._sorted(batch)
            self._each(
                parts,
                lambda words: self._ask(self._policy, states, self._arms, self._key, words, arms),
            )
        return arms

    def tell(self, ids: npt.ArrayLike, arms: npt.ArrayLike, rewards: npt.ArrayLike) -> None:
        """The rewards of decisions. If one of them is wrong, nothing is changed."""
        batch = check_ids(ids, self._size)
        numbers = check_arms(arms, self._arms, batch.size)
        values = check_rewards(rewards, self._largest_reward, batch.size)
        with self._lock:
            states = self._states
            parts = self._sorted(batch)
            self._check_asked(parts, batch, numbers)
            if self._grows:
                self._check_room(parts, batch, numbers, values)
            self._each(
                parts, lambda words: self._tell(self._policy, states, words, numbers, values)
            )

    def forget(self, ids: npt.ArrayLike, arms: npt.ArrayLike) -> None:
        """Drop decisions whose rewards will never come. If one is wrong, nothing is changed."""
        batch = check_ids(ids, self._size)
        numbers = check_arms(arms, self._arms, batch.size)
        with self._lock:
            states = self._states
            parts = self._sorted(batch)
            self._check_asked(parts, batch, numbers)
            run: Any = specialise(forget_own, states, parts[0], numbers)
            self._each(parts, lambda words: run(states, words, numbers))

    def pulls(self, ids: npt.ArrayLike | None = None) -> Numbers:
        """How many rewards each arm has had: a row for each of these bandits, or for every one."""
        batch = slice(None) if ids is None else check_ids(ids, self._size)
        with self._lock:
            return self._states["told"][batch, : self._arms].astype(np.int64)

    def bandit(self, id: int) -> Bandit[int]:
        """A live bandit on the record of this number; its arms are labelled 0, 1, …

        What it asks and what it is told changes the fleet, and the other way round. It says what it
        asked for itself (`pending`), and knows the mean of the rewards that it was told itself; the
        arms of one bandit of a fleet cannot come or go. Saved or copied it is on its own. It knows
        its decisions until they are answered, even if you do not keep it.
        """
        i = whole(id, "id")
        if not 0 <= i < self._size:
            raise ValueError(f"id={id} is not one of this fleet's bandits, 0 to {self._size - 1}")
        with self._lock:
            states, bandit = self._states, self._bandits.get(i)
            if bandit is None:
                record = states[i : i + 1]
                if record[0]["round"] == 0:
                    start: Any = specialise(open_live, self._policy, record, 0, self._key, 0)
                    start(self._policy, record, self._arms, self._key, i)
                bandit = FleetBandit.of(
                    self._policy,
                    record,
                    self._arms,
                    depth=self._horizon if self._grows else None,
                    largest_reward=self._largest_reward,
                    lock=self._lock,
                )
                self._bandits.add(i, bandit)
            return bandit

    @property
    def _largest_reward(self) -> float:
        return LARGEST_REWARD if self._memory == FULL else LARGEST_COMPACT_REWARD

    def _check_asked(self, parts: list[Words], batch: Numbers, arms: Numbers) -> None:
        wrong = min(
            self._each(
                parts,
                lambda words: self._unasked(
                    self._states, words, arms, np.zeros(self._arms, np.int64)
                ),
            )
        )
        if wrong < NOWHERE:
            raise UnknownDecisionError(
                f"position {wrong}: bandit {batch[wrong]} has no such decision out for arm "
                f"{arms[wrong]}; tell or forget what ask() gave, once"
            )

    def _check_room(
        self,
        parts: list[Words],
        batch: Numbers,
        arms: Numbers,
        rewards: npt.NDArray[np.float64],
    ) -> None:
        policy, states = self._policy, self._states
        scratch = np.zeros(1, self._dtype)
        run: Any = specialise(first_without_room, policy, states, scratch, parts[0], arms, rewards)
        wrong = min(
            self._each(
                parts,
                lambda words: run(policy, states, np.zeros(1, self._dtype), words, arms, rewards),
            )
        )
        if wrong < NOWHERE:
            raise ValueError(
                f"position {wrong}: the record of bandit {batch[wrong]} has no room for one more "
                f"reward of arm {arms[wrong]}; make a fleet with a longer horizon than "
                f"{self._horizon}, or of a policy of bounded memory, such as LBSDALM"
            )

    def _sorted(self, batch: Numbers) -> list[Words]:
        """The batch, shared out and put in order: see `batches`."""
        owners = 1 if batch.size <= SMALL_BATCH else self._threads

        def sort(owner: int) -> Words:
            words, spare = (np.empty(batch.size + 1, np.uint64) for _ in range(2))
            counts = np.empty(1 << DIGIT_BITS, np.int64)
            n = self._sort(batch, owner, owners, self._bits, words, spare, counts)
            return words[:n]

        return self._each(list(range(owners)), sort)

    def _each(self, parts: list[Any], work: Callable[[Any], T]) -> list[T]:
        """Work on each part, in parallel.

        Parts of a batch belong together, so an interruption waits for all of them.
        """
        if len(parts) == 1:
            return [work(parts[0])]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads)
        futures = []
        try:
            for part in parts:
                futures.append(self._pool.submit(work, part))
            wait(futures)
        finally:
            futures += [self._pool.submit(work, part) for part in parts[len(futures) :]]
            wait(futures)
        return [future.result() for future in futures]

    def __repr__(self) -> str:
        where = "" if self._file is None else f" in {self._file.path}"
        return (
            f"<Fleet of {self._size} × {self._policy}, {self._arms} arms, "
            f"{self.nbytes} bytes{where}>"
        )


def _check_threads(threads: int | None) -> int:
    n = cores() if threads is None else whole(threads, "threads")
    if n < 1:
        raise ValueError(f"threads={threads} must be at least 1")
    return n
