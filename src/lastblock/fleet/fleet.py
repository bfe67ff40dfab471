"""Many live bandits at once: ask and tell on arrays, in memory or in a file."""

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypeVar
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from lastblock.core.history import LARGEST_COMPACT_REWARD
from lastblock.core.layout import fleet_dtype, grows, layout_id
from lastblock.core.protocol import Policy, States
from lastblock.core.registry import build, check_policy, describe
from lastblock.engine.fleet import (
    BLOCK,
    DIGIT_BITS,
    NOWHERE,
    Numbers,
    Words,
    ask_own,
    first_unasked,
    first_without_room,
    forget_own,
    seal_all,
    sort_own,
    tell_own,
)
from lastblock.engine.live import open_live
from lastblock.engine.record_check import Damage, RecordCheck
from lastblock.fleet.batch_input import LARGEST_FLEET, check_arms, check_ids, check_rewards
from lastblock.fleet.file import FleetFile
from lastblock.fleet.member import CLOSED, FleetBandit, FleetBandits, FleetDesk, Records, RecordSeal
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import specialise
from lastblock.kernels.seals import sealed_words
from lastblock.kernels.streams import STREAM_WORDS, Seed, Stream, key_of
from lastblock.live.state import Live
from lastblock.support.checks import flag, whole
from lastblock.support.errors import UNREADABLE, StateFileError, UnknownDecisionError
from lastblock.support.parallel import cores

SMALL_BATCH = 2048
"""Up to so many ids one thread is faster than waking several."""

CHECKED_AT_ONCE = 1 << 14
"""Records of a file, by one thread."""

SEALED_AT_ONCE = CHECKED_AT_ONCE // BLOCK
"""Blocks of them."""

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
        self._prepare(policy, arms, size, key_of(seed), horizon, memory, threads, sealed=False)
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
        self._prepare(policy, arms, size, key_of(seed), horizon, memory, threads, sealed=True)
        file = FleetFile.create(Path(path), self._about(), self.nbytes, reserve=reserve)
        self._map(file)
        return self

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
        threads = _check_threads(threads)
        repair = flag(repair, "repair")
        file = FleetFile.open(Path(path))
        self = cls.__new__(cls)
        try:
            self._read(file.about, threads, sealed=file.version > 1)
        except UNREADABLE as error:
            file.close()
            raise StateFileError(
                f"{path} does not fit this version of lastblock: {error}; "
                "open it with the version that made it"
            ) from error
        self._map(file)
        try:
            damages = self._look_over(file, repair)
        except BaseException:
            self.close()
            raise
        if damages and not repair:
            self.close()
            raise StateFileError(
                f"{path} is corrupt: {_in_words(damages)}; restore it from a copy, or open it "
                "with repair=True, which restarts these bandits and keeps the others"
            )
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

    def _read(self, about: dict[str, Any], threads: int | None, *, sealed: bool) -> None:
        key = np.array(about["key"], np.uint64)
        if key.shape != (STREAM_WORDS,):
            raise ValueError("its seed has another length")
        policy = build(about["policy"])
        arms, size, horizon = about["arms"], about["size"], about["horizon"]
        self._prepare(policy, arms, size, key, horizon, about["memory"], threads, sealed=sealed)
        if about["layout"] != layout_id(self._dtype):
            raise ValueError("its records have another layout")

    def _map(self, file: FleetFile) -> None:
        try:
            states = file.records(self._dtype, self._size)
        except BaseException:
            file.close()
            raise
        self._begin(states, file)

    def _look_over(self, file: FleetFile, repair: bool) -> list[Damage]:
        """Look at every record that has been written; if asked to, restart the damaged ones."""
        states, check = self._states, RecordCheck(self._policy, self._dtype, self._arms)
        parts = [
            (first, min(first + CHECKED_AT_ONCE, end))
            for start, end in file.written
            for first in range(start, end, CHECKED_AT_ONCE)
        ]
        found = self._each(parts, lambda part: check.damaged(states, *part))
        damages = [damage for part, _ in found for damage in part]
        if damages and not repair:
            return damages
        for part, (_, is_half_done) in zip(parts, found, strict=True):
            if is_half_done:
                check.finish(states, *part)
        for number, _ in damages:
            states[number : number + 1].view(np.ndarray).view(np.uint64)[:] = 0
        self._repaired.update(damages)
        return damages

    def _prepare(
        self,
        policy: Policy,
        arms: int,
        size: int,
        key: Stream,
        horizon: int | None,
        memory: Memory,
        threads: int | None,
        *,
        sealed: bool,
    ) -> None:
        """All but the records: checked, and kept, with the kernels compiled for them.

        Records in a file have seals, if its format does; those in memory need none.
        """
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
        self._dtype = fleet_dtype(
            policy, self._arms, self._horizon, compact=memory == COMPACT, sealed=sealed
        )
        self._bits = max(1, (self._size - 1).bit_length())
        states, numbers = np.zeros(0, self._dtype), np.zeros(0, np.int64)
        words, rewards, flags = np.zeros(0, np.uint64), np.zeros(0), np.zeros(0, np.uint8)
        records = states, words, flags, 0
        self._sort: Any = specialise(sort_own, numbers, 0, 1, 1, words, words, numbers)
        self._ask: Any = specialise(ask_own, self._policy, *records, 0, self._key, words, numbers)
        self._unasked: Any = specialise(first_unasked, states, words, numbers, numbers)
        self._tell: Any = specialise(tell_own, self._policy, *records, words, numbers, rewards)

    def _begin(self, states: States, file: FleetFile | None = None) -> None:
        """Take the records."""
        touched = np.zeros(-(-self._size // BLOCK), np.uint8)
        self._records: Records | None = Records(
            states,
            states.view(np.ndarray).view(np.uint64),
            touched,
            sealed_words(self.state_size),
        )
        self._file = file
        self._lock = threading.RLock()
        self._pool: ThreadPoolExecutor | None = None
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
        """Wait until the file, if there is one, has everything on the disk, sealed."""
        with self._lock:
            if self._records is not None and self._file is not None:
                self._seal(self._records)
                self._file.flush()

    def _seal(self, records: "Records") -> None:
        """Seal all of each record that has been changed since it was last done."""
        if "seal" not in (self._dtype.names or ()):
            return
        size, blocks = self._dtype.itemsize // records.memory.itemsize, records.touched.size
        self._each(
            [(i, min(i + SEALED_AT_ONCE, blocks)) for i in range(0, blocks, SEALED_AT_ONCE)],
            lambda part: seal_all(records.memory, size, records.touched, *part),
        )

    def close(self) -> None:
        """Flush, and let go of file and memory; fleet and bandits cannot be used any more."""
        with self._lock:
            self.flush()
            self._bandits.close(self._unusable)
            self._records = None
            if self._pool is not None:
                self._pool.shutdown()
            if self._file is not None:
                self._file.close()

    def _forked(self) -> None:
        """In a child process, just after a fork.

        The child has a copy of what was in memory, and can go on with it, by threads of its own.
        What is mapped from a file is shared with the parent: two processes would write into each
        other's records.
        """
        self._pool = None
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
        """A decision of each of these bandits: the arms, in the order of `ids`."""
        batch = check_ids(ids, self._size)
        arms = np.empty(batch.size, np.int64)
        with self._lock:
            records = self._open_records
            parts = self._sorted(batch)
            self._each(
                parts,
                lambda words: self._ask(self._policy, *records, self._arms, self._key, words, arms),
            )
        return arms

    def tell(self, ids: npt.ArrayLike, arms: npt.ArrayLike, rewards: npt.ArrayLike) -> None:
        """The rewards of decisions. If one of them is wrong, nothing is changed."""
        batch = check_ids(ids, self._size)
        numbers = check_arms(arms, self._arms, batch.size)
        values = check_rewards(rewards, self._largest_reward, batch.size)
        with self._lock:
            records = self._open_records
            parts = self._sorted(batch)
            self._check_asked(parts, batch, numbers)
            if self._grows:
                self._check_room(parts, batch, numbers, values)
            self._each(
                parts, lambda words: self._tell(self._policy, *records, words, numbers, values)
            )

    def forget(self, ids: npt.ArrayLike, arms: npt.ArrayLike) -> None:
        """Drop decisions whose rewards will never come. If one is wrong, nothing is changed."""
        batch = check_ids(ids, self._size)
        numbers = check_arms(arms, self._arms, batch.size)
        with self._lock:
            records = self._open_records
            parts = self._sorted(batch)
            self._check_asked(parts, batch, numbers)
            run: Any = specialise(forget_own, *records, parts[0], numbers)
            self._each(parts, lambda words: run(*records, words, numbers))

    def pulls(self, ids: npt.ArrayLike | None = None) -> Numbers:
        """How many rewards each arm has had: a row for each of these bandits, or for every one."""
        batch = slice(None) if ids is None else check_ids(ids, self._size)
        with self._lock:
            return self._states["told"][batch, : self._arms].astype(np.int64)

    def bandit(self, id: int) -> FleetBandit:
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
            records, bandit = self._open_records, self._bandits.get(i)
            if bandit is None:
                record = records.states[i : i + 1]
                seal = RecordSeal(records, i)
                if record[0]["round"] == 0:
                    start: Any = specialise(open_live, self._policy, record, 0, self._key, 0)
                    with seal.broken():
                        start(self._policy, record, self._arms, self._key, i)
                live = Live(
                    self._policy,
                    self._arms,
                    width=record.dtype["queue"].shape[0],
                    depth=self._horizon if self._grows else None,
                    states=record,
                )
                desk = FleetDesk(
                    live, largest_reward=self._largest_reward, lock=self._lock, seal=seal
                )
                bandit = self._bandits.make(i, desk)
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


def _check_threads(threads: int | None) -> int:
    n = cores() if threads is None else whole(threads, "threads")
    if n < 1:
        raise ValueError(f"threads={threads} must be at least 1")
    return n
