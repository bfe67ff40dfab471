"""One bandit of a fleet, as a live bandit: the record is the fleet's, and so is the lock."""

import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from lastblock import resizing
from lastblock.bandit import Bandit, Decision, Pending
from lastblock.errors import UnknownDecisionError
from lastblock.explanation import Explanation
from lastblock.labels import Label
from lastblock.live import Live
from lastblock.memory import WORD
from lastblock.notes import BEGINNING, LEADER, SINCE
from lastblock.protocol import Policy, States
from lastblock.state import leader_of
from lastblock.summary import Summary


class FleetBandit(Bandit):
    """A live bandit on a record of a fleet. The fleet may change the record at any time."""

    @classmethod
    def of(
        cls,
        policy: Policy,
        states: States,
        arms: int,
        *,
        depth: int | None,
        largest_reward: float,
        lock: threading.RLock,
    ) -> "FleetBandit":
        """The bandit of one record, which has been started."""
        self = cls.__new__(cls)
        width = states.dtype["queue"].shape[0]
        self._begin(Live(policy, arms, width=width, depth=depth, states=states), range(arms))
        self._lock = lock
        self._acquire, self._release = lock.acquire, lock.release
        self._largest_reward = largest_reward
        self._refresh()
        return self

    def _refresh(self) -> None:
        """Bring the notes up to date with what the fleet did in the meantime.

        It does not note means, nor how a round was planned.
        """
        s, notes = self._live.s, self._live.notes
        counts = np.asarray(s.told, np.float64)
        notes.told[counts != notes.told[:, 0], 1:] = np.nan
        notes.told[:, 0] = counts
        leader = leader_of(s)
        if leader != notes.planned[LEADER]:
            notes.planned[LEADER] = leader
            notes.planned[SINCE] = self._next_id
        planned = notes.planned[BEGINNING:]
        fields: Any = s.dtype.fields
        if planned[fields["round"][1] // WORD] != s.round:
            planned[:] = 0

    @property
    def pulls(self) -> Mapping[Label, int]:
        """How many rewards each arm has had, from whomever."""
        with self._lock:
            self._refresh()
            return super().pulls

    def explain(self) -> Explanation:
        """Why the last round was what it was, if this bandit planned it, and not the fleet."""
        with self._lock:
            self._refresh()
            return super().explain()

    def summary(self) -> Summary:
        """Where the bandit stands; means of all rewards are known where it was told them all."""
        with self._lock:
            self._refresh()
            return super().summary()

    def tell(self, decision: Decision | Pending | int, reward: float) -> None:
        """The reward of a decision, unless the fleet has been told it. Errors change nothing."""
        self.tell_many([decision], [reward])

    def _tell_each(self, answers: list[tuple[int, int, float]]) -> None:
        self._check_out([arm for _, arm, _ in answers])
        if self._live.depth is not None:  # is there room for all of them?
            trial = self._live.copy()
            trial.is_foreign = True  # it cannot grow
            for _, arm, value in answers:
                trial.tell(arm, value)
        super()._tell_each(answers)

    def _check_out(self, arms: list[int]) -> None:
        for arm, n in Counter(arms).items():
            if self._live.s.unanswered[arm] < n:
                raise UnknownDecisionError(
                    f"a decision for arm {arm} has been told or forgotten through the fleet; "
                    "tell each decision once"
                )

    def _forget_arm(self, id: int, arm: int) -> None:
        if self._live.s.unanswered[arm] > 0:  # else the fleet has answered it
            self._live.forget(arm)
        del self._out[id]

    def _check_resizable(self, arms: int) -> None:
        raise ValueError("the arms of one bandit of a fleet cannot come or go")

    def copy(self) -> Bandit:
        """An independent, ordinary bandit that would decide alike."""
        with self._lock:
            self._refresh()
            old = self._live
            arms = int(old.s.arms)
            depth = None if old.depth is None else max(old.depth, int(max(old.s.told)))
            new = Live(self.policy, arms, width=old.width, depth=depth)
            resizing.unpack(self.policy, old.s, new.s)
            old.notes.keep(new.notes, list(range(arms)))
            other = Bandit.__new__(Bandit)
            other._begin(new, self._labels)
            other._out = dict(self._out)
            other._next_id = self._next_id
            other._last = super().explain()
            return other

    def to_bytes(self) -> bytes:
        """An independent, ordinary bandit, versioned and checksummed."""
        return self.copy().to_bytes()

    def to_json(self) -> str:
        """The same as text."""
        return self.copy().to_json()

    def __reduce__(self) -> tuple[Any, ...]:
        return self.copy().__reduce__()
