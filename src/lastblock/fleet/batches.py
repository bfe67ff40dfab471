"""Work on batches of a fleet: sort them by bandit, divide them among threads, run the kernels."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lastblock.core.failures import specialise
from lastblock.core.protocol import States
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
from lastblock.fleet.plan import FleetPlan
from lastblock.kernels.record_arrays import RecordArray
from lastblock.support.errors import UnknownDecisionError

SMALL_BATCH = 2048
"""Up to this number of ids, one thread is faster than several."""

T = TypeVar("T")


class Batches:
    """The kernels of a fleet, and the threads that run them.

    Parameters
    ----------
    plan
        The policy, arms, size and layout of the fleet.
    states
        Its records.
    threads
        The number of threads, which start with the first large batch.
    """

    def __init__(self, plan: FleetPlan, states: States, threads: int) -> None:
        self.plan, self.states, self.threads = plan, RecordArray(states), threads
        self._pool: ThreadPoolExecutor | None = None
        self._bits = max(1, (plan.size - 1).bit_length())
        numbers, words = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        records, rewards = self.states, np.zeros(0)
        self._sort: Any = specialise(sort_own, numbers, 0, 1, 1, words, words, numbers)
        self._ask: Any = specialise(ask_own, plan.policy, records, 0, plan.key, words, numbers)
        self._unasked: Any = specialise(first_unasked, records, words, numbers, numbers)
        self._tell: Any = specialise(tell_own, plan.policy, records, words, numbers, rewards)

    def ask(self, batch: Numbers) -> Numbers:
        """Take a decision with each bandit of the batch; return the arms in its order."""
        plan, arms = self.plan, np.empty(batch.size, np.int64)
        self._each(
            self._sorted(batch),
            lambda words: self._ask(plan.policy, self.states, plan.arms, plan.key, words, arms),
        )
        return arms

    def tell(self, batch: Numbers, arms: Numbers, rewards: npt.NDArray[np.float64]) -> None:
        """Learn the rewards of decisions: all of them, or none on an error."""
        parts = self._sorted(batch)
        self._check_asked(parts, batch, arms)
        if self.plan.is_limited:
            self._check_room(parts, batch, arms, rewards)
        self._each(
            parts, lambda words: self._tell(self.plan.policy, self.states, words, arms, rewards)
        )

    def forget(self, batch: Numbers, arms: Numbers) -> None:
        """Drop decisions: all of them, or none on an error."""
        parts = self._sorted(batch)
        self._check_asked(parts, batch, arms)
        run: Any = specialise(forget_own, self.states, parts[0], arms)
        self._each(parts, lambda words: run(self.states, words, arms))

    def _each(self, parts: list[Any], work: Callable[[Any], T]) -> list[T]:
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

    def _sorted(self, batch: Numbers) -> list[Words]:
        """Divide the batch among threads, and sort each part; see `engine.fleet`."""
        owners = 1 if batch.size <= SMALL_BATCH else self.threads

        def sort(owner: int) -> Words:
            words, spare = (np.empty(batch.size + 1, np.uint64) for _ in range(2))
            counts = np.empty(1 << DIGIT_BITS, np.int64)
            n = self._sort(batch, owner, owners, self._bits, words, spare, counts)
            return words[:n]

        return self._each(list(range(owners)), sort)

    def _check_asked(self, parts: list[Words], batch: Numbers, arms: Numbers) -> None:
        wrong = min(
            self._each(
                parts,
                lambda words: self._unasked(
                    self.states, words, arms, np.zeros(self.plan.arms, np.int64)
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
        parts: list[Words],
        batch: Numbers,
        arms: Numbers,
        rewards: npt.NDArray[np.float64],
    ) -> None:
        policy, states, dtype = self.plan.policy, self.states, self.plan.dtype
        scratch = RecordArray(np.zeros(1, dtype))
        run: Any = specialise(first_without_room, policy, states, scratch, parts[0], arms, rewards)
        wrong = min(
            self._each(
                parts,
                lambda words: run(
                    policy, states, RecordArray(np.zeros(1, dtype)), words, arms, rewards
                ),
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
