"""The desk of one bandit of a fleet: its record is the fleet's, which may change it at any time."""

import threading
from collections import Counter
from typing import Any

import numpy as np

from lastblock.core.failures import specialise
from lastblock.core.last_round import BEGINNING, LEADER, SINCE
from lastblock.core.rounds import leader_of
from lastblock.engine.live import open_live
from lastblock.fleet.batches import Records
from lastblock.fleet.plan import FleetPlan
from lastblock.fleet.record_seal import RecordSeal
from lastblock.kernels.record_memory import WORD
from lastblock.live.desk import Answer
from lastblock.live.journalled import JournalledDesk
from lastblock.live.state import Live
from lastblock.support.errors import UnknownDecisionError


class FleetDesk(JournalledDesk[int]):
    """The desk of one bandit of a fleet, which may change the record at any time."""

    def __init__(
        self,
        live: Live,
        *,
        lock: threading.RLock,
        seal: RecordSeal,
    ) -> None:
        super().__init__(live, range(int(live.s.arms)), lock=lock)
        self.seal = seal
        self.refresh()

    def refresh(self) -> None:
        """Bring the notes up to date with what the fleet did in the meantime.

        The fleet does not note means, nor how a round was planned.
        """
        s, notes = self.live.s, self.live.notes
        counts = np.asarray(s.told, np.float64)
        notes.told[counts != notes.told[:, 0], 1:] = np.nan
        notes.told[:, 0] = counts
        leader = leader_of(s)
        if leader != notes.planned[LEADER]:
            notes.planned[LEADER] = leader
            notes.planned[SINCE] = self.next_id
        planned = notes.planned[BEGINNING:]
        fields: Any = s.dtype.fields
        if planned[fields["round"][1] // WORD] != s.round:
            planned[:] = 0

    def drop_answered(self) -> None:
        """Remove the decisions that were told or forgotten through the fleet.

        The fleet does not note which these were, so we remove the oldest of each arm.
        """
        surplus = Counter(self.out.values())
        surplus.subtract(dict(enumerate(self.live.s.unanswered[: len(self.active)].tolist())))
        for id, arm in list(self.out.items()):
            if surplus[arm] > 0:
                surplus[arm] -= 1
                del self.out[id]

    def tell_each(self, answers: list[Answer]) -> None:
        """Learn the rewards of several decisions: all of them, or none on an error."""
        for arm, n in Counter(arm for _, arm, _ in answers).items():
            if self.live.s.unanswered[arm] < n:
                raise UnknownDecisionError(
                    f"a decision for arm {arm} has been told or forgotten through the fleet; "
                    "tell each decision once"
                )
        if self.live.depth is not None:  # try on a copy whether there is room for all of them
            trial = self.live.copy()
            trial.is_borrowed = True  # so that it does not grow
            for _, arm, value in answers:
                trial.tell(arm, value)
        super().tell_each(answers)

    def forget_arm(self, id: int, arm: int) -> None:
        """Drop a decision whose reward will never come, unless the fleet has answered it."""
        if self.live.s.unanswered[arm] > 0:
            self.live.forget(arm)
        del self.out[id]


def desk_on(plan: FleetPlan, records: Records, number: int, lock: threading.RLock) -> FleetDesk:
    """Return a desk on one record of a fleet; start the bandit if nobody has asked it yet."""
    record = records.states[number : number + 1]
    seal = RecordSeal(records, number)
    if record[0]["round"] == 0:
        start: Any = specialise(open_live, plan.policy, record, 0, plan.key, 0)
        with seal.broken():
            start(plan.policy, record, plan.arms, plan.key, number)
    live = Live(
        plan.policy,
        plan.arms,
        width=record.dtype["queue"].shape[0],
        depth=plan.horizon if plan.grows else None,
        states=record,
    )
    return FleetDesk(live, lock=lock, seal=seal)
