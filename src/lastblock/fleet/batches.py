"""Work on batches of a fleet: sort them by bandit, divide them among threads, run the kernels."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lastblock.core.failures import specialise
from lastblock.core.protocol import States
from lastblock.engine.fleet import (
    BLOCK,
    DIGIT_BITS,
    NOWHERE,
    Flags,
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
from lastblock.engine.record_check import Damage, RecordCheck
from lastblock.fleet.plan import FleetPlan
from lastblock.kernels.seals import RecordWords, sealed_words
from lastblock.support.errors import UnknownDecisionError

SMALL_BATCH = 2048
"""Up to this number of ids, one thread is faster than several."""

CHECKED_AT_ONCE = 1 << 14
"""The number of records that a thread checks at a time."""

SEALED_AT_ONCE = CHECKED_AT_ONCE // BLOCK
"""The number of blocks of records that a thread seals at a time."""

T = TypeVar("T")


class Records(NamedTuple):
    """The records of a fleet, in the form that kernels take."""

    states: States
    """The records."""
    memory: RecordWords
    """The same memory as words."""
    touched: Flags
    """Which blocks of records have changed since the last flush."""
    sealed: int
    """The number of words of a record that each change seals."""

    @classmethod
    def of(cls, states: States) -> "Records":
        """Return records in this form; none of them has changed yet."""
        touched = np.zeros(-(-states.size // BLOCK), np.uint8)
        words = states.view(np.ndarray).view(np.uint64)
        return cls(states, words, touched, sealed_words(states.dtype.itemsize))


class Batches:
    """The kernels of a fleet, and the threads that run them.

    Parameters
    ----------
    plan
        The policy, arms, size and layout of the fleet.
    threads
        The number of threads, which start with the first large batch.
    """

    def __init__(self, plan: FleetPlan, threads: int) -> None:
        self.plan, self.threads = plan, threads
        self._pool: ThreadPoolExecutor | None = None
        self._bits = max(1, (plan.size - 1).bit_length())
        states, numbers = np.zeros(0, plan.dtype), np.zeros(0, np.int64)
        words, rewards, flags = np.zeros(0, np.uint64), np.zeros(0), np.zeros(0, np.uint8)
        records = states, words, flags, 0
        self._sort: Any = specialise(sort_own, numbers, 0, 1, 1, words, words, numbers)
        self._ask: Any = specialise(ask_own, plan.policy, *records, 0, plan.key, words, numbers)
        self._unasked: Any = specialise(first_unasked, states, words, numbers, numbers)
        self._tell: Any = specialise(tell_own, plan.policy, *records, words, numbers, rewards)

    def ask(self, records: Records, batch: Numbers) -> Numbers:
        """Take a decision with each bandit of the batch; return the arms in its order."""
        plan, arms = self.plan, np.empty(batch.size, np.int64)
        self.each(
            self._sorted(batch),
            lambda words: self._ask(plan.policy, *records, plan.arms, plan.key, words, arms),
        )
        return arms

    def tell(
        self, records: Records, batch: Numbers, arms: Numbers, rewards: npt.NDArray[np.float64]
    ) -> None:
        """Learn the rewards of decisions: all of them, or none on an error."""
        parts = self._sorted(batch)
        self._check_asked(records, parts, batch, arms)
        if self.plan.is_limited:
            self._check_room(records, parts, batch, arms, rewards)
        self.each(parts, lambda words: self._tell(self.plan.policy, *records, words, arms, rewards))

    def forget(self, records: Records, batch: Numbers, arms: Numbers) -> None:
        """Drop decisions: all of them, or none on an error."""
        parts = self._sorted(batch)
        self._check_asked(records, parts, batch, arms)
        run: Any = specialise(forget_own, *records, parts[0], arms)
        self.each(parts, lambda words: run(*records, words, arms))

    def seal(self, records: Records) -> None:
        """Seal every record that has changed since the last call, as a whole."""
        size, blocks = self.plan.state_size // records.memory.itemsize, records.touched.size
        self.each(
            [(i, min(i + SEALED_AT_ONCE, blocks)) for i in range(0, blocks, SEALED_AT_ONCE)],
            lambda part: seal_all(records.memory, size, records.touched, *part),
        )

    def look_over(
        self, states: States, written: list[tuple[int, int]], *, repair: bool
    ) -> list[Damage]:
        """Check the records in these ranges, and return those that are damaged.

        With `repair`, the bandits of damaged records start again. Records that a killed process
        left half done are reset, unless there is damage and `repair` is False: then nothing
        changes.
        """
        plan = self.plan
        check = RecordCheck(plan.policy, plan.dtype, plan.arms)
        parts = [
            (first, min(first + CHECKED_AT_ONCE, end))
            for start, end in written
            for first in range(start, end, CHECKED_AT_ONCE)
        ]
        found = self.each(parts, lambda part: check.damaged(states, *part))
        damages = [damage for part, _ in found for damage in part]
        if damages and not repair:
            return damages
        for part, (_, is_half_done) in zip(parts, found, strict=True):
            if is_half_done:
                check.finish(states, *part)
        for number, _ in damages:
            states[number : number + 1].view(np.ndarray).view(np.uint64)[:] = 0
        return damages

    def each(self, parts: list[Any], work: Callable[[Any], T]) -> list[T]:
        """Call `work` with each part, in parallel, and return the results in order.

        The parts of a batch belong together, so an interruption waits until all of them are done.
        """
        if len(parts) == 1:
            return [work(parts[0])]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        futures = []
        try:
            for part in parts:
                futures.append(self._pool.submit(work, part))
            wait(futures)
        finally:
            futures += [self._pool.submit(work, part) for part in parts[len(futures) :]]
            wait(futures)
        return [future.result() for future in futures]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def forget_threads(self) -> None:
        """Forget the threads, in the child of a fork, which does not have them."""
        self._pool = None

    def _sorted(self, batch: Numbers) -> list[Words]:
        """Divide the batch among threads, and sort each part; see `engine.fleet`."""
        owners = 1 if batch.size <= SMALL_BATCH else self.threads

        def sort(owner: int) -> Words:
            words, spare = (np.empty(batch.size + 1, np.uint64) for _ in range(2))
            counts = np.empty(1 << DIGIT_BITS, np.int64)
            n = self._sort(batch, owner, owners, self._bits, words, spare, counts)
            return words[:n]

        return self.each(list(range(owners)), sort)

    def _check_asked(
        self, records: Records, parts: list[Words], batch: Numbers, arms: Numbers
    ) -> None:
        wrong = min(
            self.each(
                parts,
                lambda words: self._unasked(
                    records.states, words, arms, np.zeros(self.plan.arms, np.int64)
                ),
            )
        )
        if wrong < NOWHERE:
            raise UnknownDecisionError(
                f"position {wrong}: bandit {batch[wrong]} has no such decision out for arm "
                f"{arms[wrong]}; tell or forget what ask() returned, once"
            )

    def _check_room(
        self,
        records: Records,
        parts: list[Words],
        batch: Numbers,
        arms: Numbers,
        rewards: npt.NDArray[np.float64],
    ) -> None:
        policy, states, dtype = self.plan.policy, records.states, self.plan.dtype
        scratch = np.zeros(1, dtype)
        run: Any = specialise(first_without_room, policy, states, scratch, parts[0], arms, rewards)
        wrong = min(
            self.each(
                parts,
                lambda words: run(policy, states, np.zeros(1, dtype), words, arms, rewards),
            )
        )
        if wrong < NOWHERE:
            other = (
                "of a policy of bounded memory, such as LBSDAGM" if self.plan.grows else "with none"
            )
            raise ValueError(
                f"position {wrong}: the record of bandit {batch[wrong]} has no room for one more "
                f"reward of arm {arms[wrong]}; make a fleet with a longer horizon than "
                f"{self.plan.horizon}, or {other}"
            )
