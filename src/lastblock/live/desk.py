"""The state of a live bandit: its record, the labels of its arms, the decisions that are out.

A decision is out from the moment it is asked for until it is told or forgotten.
"""

import logging
from collections.abc import Iterable
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from lastblock.core.last_round import BEGINNING
from lastblock.core.restarts import restarts_of
from lastblock.core.reward_stats import Told
from lastblock.core.support import support_of
from lastblock.engine.events import Event
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import is_foreign
from lastblock.live.changes import last_change
from lastblock.live.clock import Clock
from lastblock.live.decisions import (
    Decision,
    Pending,
    StoredDecision,
    never_asked,
    was_lost,
)
from lastblock.live.eligibility import (
    Restricted,
    Wanted,
    check_resizable,
    eligible_places,
    explain_restricted,
    explain_side,
    restriction,
    take_among,
)
from lastblock.live.event_replay import replay_events, settle_out
from lastblock.live.explanation import Explanation, explained
from lastblock.live.labels import FORGET, L, Label, as_float, refused
from lastblock.live.ledger import Ledger
from lastblock.live.state import Live
from lastblock.live.tokens import BanditTokens
from lastblock.support.errors import SettledDecisionError, UnknownDecisionError

_log = logging.getLogger(__name__)

Answer = tuple[int, int, float]
"""The id of a decision, the place of its arm in the record, and the decision's reward."""

_DECISIONS = (Decision, Pending)
_new = object.__new__


class Desk(Generic[L]):
    """Everything in a live bandit that changes over time, and the operations that change it.

    Its changes, from `ask_arm` to `set_floors`, expect checked arguments, and use neither locks nor
    journals.

    Parameters
    ----------
    live
        The record with its notes and kernels.
    labels
        The labels of its arms.
    floor_of_all
        The least share of decisions of every arm, including arms added later.
    """

    def __init__(self, live: Live, labels: Iterable[L], floor_of_all: float | None = None) -> None:
        self.live = live
        self.may_raise = is_foreign(live.policy)
        self.support = support_of(live.policy)
        self.tells_changes = _log.isEnabledFor(logging.INFO) and restarts_of(live.s) >= 0
        self.labels = list(labels)  # labels of all arms, including retired ones
        self.active = list(self.labels)  # labels of the arms in the record, in its order
        self.numbers = list(range(len(self.labels)))  # where `labels` has those of `active`
        self.retired: dict[L, Told] = {}
        self.paused: frozenset[L] = frozenset()
        self.restricted: Restricted[L] | None = None  # the last decision among some arms, if known
        self.floor_of_all = floor_of_all
        self.out: dict[int, int] = {}  # decision → place of its arm, or −1 − i if labels[i] retired
        self.chances: dict[int, float] = {}  # decision → probability, if there are floors
        self.ledger = Ledger()
        self.clock: Clock | None = None  # a store has one, and tokens
        self.tokens: BanditTokens | None = None
        self.next_id = 0  # the id of the next decision
        self.lost: tuple[tuple[int, int], ...] = ()  # ids that crashes lost: from a first to an end
        self.last: Explanation[L] | None = None  # kept when arms change, and the record loses it

    def choose_ways(self) -> None:
        """Choose between fast and slow ways, for desks that have both."""

    # Reading the state.

    def label(self, arm: int) -> L:
        """Return the label of an arm, given as the values of `out` are."""
        return self.active[arm] if arm >= 0 else self.labels[-1 - arm]

    def number(self, id: int) -> int:
        """Return the place in `labels` of the arm that a decision is for."""
        arm = self.out[id]
        return self.numbers[arm] if arm >= 0 else -1 - arm

    def places(self) -> npt.NDArray[np.int64]:
        """Return, for each of `labels`, the place of its arm in the record; −1 if retired."""
        places = np.full(len(self.labels), -1, np.int64)
        places[self.numbers] = np.arange(len(self.numbers))
        return places

    def is_open(self, id: int) -> bool:
        """Return whether a decision is out and waits for a reward; some have theirs already."""
        return id in self.out and id not in self.ledger.deferred

    def pending(self) -> tuple[Pending[L], ...]:
        """Return the decisions that wait for a reward, oldest first."""
        return tuple(self.pending_at(id) for id in sorted(self.out) if self.is_open(id))

    def pending_at(self, id: int) -> Pending[L]:
        """Return the decision with this id, which is out."""
        age = self.asked - 1 - self.asked_before(id)
        label, time = self.label(self.out[id]), self.ledger.begun_at(id)
        return Pending(label, id, self.chances.get(id), age, time)

    @property
    def asked(self) -> int:
        """How many decisions were asked for."""
        return self.asked_before(self.next_id)

    def asked_before(self, id: int) -> int:
        """Return how many decisions were asked for before the one with this id."""
        return id - sum(min(end, id) - first for first, end in self.lost if first < id)

    def pulls(self) -> dict[L, int]:
        """Return how many rewards each arm has had, including retired arms."""
        told = dict(zip(self.active, self.live.told[:, 0].astype(int).tolist(), strict=False))
        return {
            label: self.retired[label].pulls if label in self.retired else told[label]
            for label in self.labels
        }

    def explain(self) -> Explanation[L]:
        """Return an explanation of the last round, and of arms that could not be chosen."""
        now, some = self.live.copy(), self.restricted
        if self.last is not None and self.last.round == now.s.round:
            return self.last
        if some is not None and some.side is not None and some.side.s.round == now.s.round:
            found = explain_side(some.side, some.kept)
        else:
            planned = now.planned[BEGINNING:]
            found = explained(self.live.policy, now.states, planned, self.active)
        if some is None or some.id != self.next_id - 1:
            return found
        s = self.live.s
        waiting = s.queue[int(s.taken) : int(s.queued)].tolist()
        return explain_restricted(found, some, [self.active[k] for k in waiting])

    # Checking what users give.

    def find(self, decision: Decision[L] | Pending[L] | int | str) -> tuple[int, int]:
        """Return the id and the arm of a decision that is out, or raise an error."""
        id: Any = decision
        label: L | None = None
        if isinstance(decision, _DECISIONS):
            id, label = decision.id, decision.arm
        if isinstance(id, np.integer):  # tables of logs hold such ids
            id = int(id)
        if type(id) is str and self.tokens is not None:
            id = self.tokens.read(id)
        if type(id) is not int:
            raise never_asked(id)
        arm = self.out.get(id)
        if arm is None:
            raise self.unknown(id)
        if label is not None and not _same(label, self.label(arm)):
            raise UnknownDecisionError(
                f"decision {id} was for arm {self.label(arm)!r}, not {label!r}; "
                "tell what ask() returned, to the bandit that returned it"
            )
        return id, arm

    def find_arm(self, label: object) -> int:
        """Return the place of an active arm in the record, or raise a ValueError."""
        if isinstance(label, str | int) and label in self.retired:
            raise ValueError(f"arm {label!r} has been retired already")
        if type(label) is bool or not isinstance(label, str | int) or label not in self.active:
            raise ValueError(f"arm {label!r} is not one of the arms {self.active}")
        return self.active.index(label)

    def unknown(self, id: int) -> UnknownDecisionError:
        """Return the error to raise for a decision that is not out."""
        if not 0 <= id < self.next_id:
            return never_asked(id)
        if any(first <= id < end for first, end in self.lost):
            return was_lost(id)
        return SettledDecisionError(
            f"decision {id} has been told or forgotten already; tell each decision once"
        )

    def check_reward(self, reward: Any, advice: str = FORGET) -> float:
        """Return a reward as a float whose sums stay finite, or raise a ValueError."""
        value = reward + 0.0 if type(reward) is float else as_float(reward)
        low, high = self.support
        if -LARGEST_REWARD < value < LARGEST_REWARD and low <= value <= high:
            return value
        raise refused(reward, value, self.live.policy, advice)

    # The changes.

    def kept_for(self, count: int, wanted: Wanted) -> list[int] | None:
        """Return the places of the arms that may be chosen; None if all may. Or raise an error."""
        kept, there = None, len(self.active)
        if self.paused or wanted.among is not None or wanted.without is not None:
            kept = eligible_places(
                self.active, self.paused, self.retired, wanted.among, wanted.without
            )
        if kept is not None:
            there = len(kept)
            check_resizable(self.live.policy, max(2, there))
        if wanted.distinct and count > 1:
            if count > there:
                raise ValueError(
                    f"n={count} different arms cannot be chosen: only {there} are eligible; "
                    "ask for fewer, or allow more arms"
                )
            check_resizable(self.live.policy, max(2, there - 1))
        return kept

    def take_each(
        self, count: int, kept: list[int] | None, distinct: bool
    ) -> tuple[list[Decision[L]], list[Event]]:
        """Take decisions among the arms at the places `kept`; also return their events."""
        asked: list[Decision[L]] = []
        events: list[Event] = []
        first = self.next_id
        if kept is None and not distinct:  # nearly always
            asked = [self.ask_arm() for _ in range(count)]
            events = [
                ("ask", id, self.number(id), d.probability) for id, d in enumerate(asked, first)
            ]
            return asked, events
        for id in range(first, first + count):
            if kept is None:
                each = self.ask_arm()
                events.append(("ask", id, self.number(id), each.probability))
            else:
                numbers = restriction(self.numbers, kept)
                each = self.ask_arm_among(kept)
                value = {"probability": each.probability, **numbers}
                events.append(("ask_among", id, self.number(id), value))
            asked.append(each)
            if distinct:
                left = range(len(self.active)) if kept is None else kept
                kept = [k for k in left if k != self.out[id]]
        return asked, events

    def ask_arm_among(self, kept: list[int]) -> Decision[L]:
        """Take the next decision among the arms at these places: some of them, but not all."""
        id = self.next_id
        taken = take_among(self.live, id, kept)
        self.note_out(id, taken.arm, taken.chance)
        self.live.become(taken.live)
        labels = [self.active[k] for k in kept]
        side, of_side = taken.side, tuple(labels)
        if side is None and self.restricted is not None:  # the round was planned before
            side, of_side = self.restricted.side, self.restricted.kept
        without = tuple(label for label in self.active if label not in labels)
        arm = self.active[taken.arm]
        self.restricted = Restricted(id, arm, without, len(kept) == 1, side, of_side)
        return self.decision(arm, id, taken.chance)

    def ask_arm(self) -> Decision[L]:
        """Take the next decision."""
        id = self.next_id
        try:
            asked = self.live.ask(id)
            arm, chance = asked if self.live.is_floored else (asked, None)
            self.note_out(id, arm, chance)
            if self.clock is None:
                return Decision(self.active[arm], id, chance)
            return self.decision(self.active[arm], id, chance)
        except BaseException:
            self.catch_up()
            raise

    def decision(
        self, label: L, id: int, chance: float | None, time: int | None = None
    ) -> Decision[L]:
        """Return a decision as users get it; `time` is now, unless it is given."""
        if self.tokens is None or self.clock is None:
            return Decision(label, id, chance)
        made: StoredDecision[L] = _new(StoredDecision)  # faster than StoredDecision(…)
        made.arm, made.id, made.probability = label, id, chance
        made.microseconds, made.origin = self.clock.last if time is None else time, self.tokens
        return made

    def note_out(self, id: int, arm: int, chance: float | None) -> None:
        """Note that a decision has been taken and is out."""
        self.next_id = id + 1
        self.out[id] = arm
        if self.clock is not None:
            self.ledger.asked_at[id] = self.clock.last
        if chance is not None:
            self.chances[id] = chance

    def skip(self, end: int) -> None:
        """Give no id below `end` from now on: a store may have given them before a crash."""
        lost, first = self.lost, self.next_id
        if lost and lost[-1][1] == first:
            lost, first = lost[:-1], lost[-1][0]
        self.lost, self.next_id = (*lost, (first, end)), end

    def catch_up(self) -> None:
        """After an interrupt, note a decision that the record took but `ask` did not return."""
        asked, arm, chance = self.live.last_asked
        if asked == self.next_id + 1:
            self.note_out(self.next_id, arm, chance)

    def tell_arm(self, id: int, arm: int, value: float) -> None:
        """Learn the reward of a decision; ignore it if its arm has been retired."""
        del self.out[id]
        if arm >= 0:
            restarts = restarts_of(self.live.s) if self.tells_changes else 0
            told = self.live.told[arm, 0]
            before = self.live.states.copy() if self.may_raise else None
            try:
                self.live.tell(arm, value)
            except BaseException:
                if self.live.told[arm, 0] == told:
                    self.out[id] = arm
                    if before is not None and before.dtype == self.live.states.dtype:
                        self.live.states[:] = before
                raise
            if self.tells_changes and restarts_of(self.live.s) > restarts:
                _log.info("decision %d: %s", id, last_change(self.live.s, self.active))
        self._settled(id)

    def _settled(self, id: int) -> None:
        """Drop what there is of a decision that is no longer out."""
        if self.chances:
            self.chances.pop(id, None)
        self.ledger.drop(id)

    def become_told(self, live: Live, answers: Iterable[Answer]) -> None:
        """Replace the record by `live`, which has learnt these rewards already."""
        self.live.become(live)
        for id, _, _ in answers:
            del self.out[id]
            self._settled(id)

    def forget_arm(self, id: int, arm: int) -> None:
        """Drop a decision whose reward will never come."""
        del self.out[id]
        self._settled(id)
        if arm >= 0:
            self.live.forget(arm)

    def add(self, label: L, live: Live, last: Explanation[L]) -> None:
        """Add an arm: `live` has it already, `last` explains the round before."""
        self.live.become(live)
        self.numbers.append(len(self.labels))
        self.labels.append(label)
        self.active.append(label)
        self.last = last

    def retire(self, arm: int, live: Live, last: Explanation[L]) -> None:
        """Retire an arm: `live` no longer has it, `last` explains the round before."""
        self.retired[self.active[arm]] = self.live.notes.told_of(arm)
        self.paused = self.paused - {self.active[arm]}
        self.live.become(live)
        gone = -1 - self.numbers[arm]
        del self.active[arm], self.numbers[arm]
        for id, old in self.out.items():
            if old >= arm:
                self.out[id] = gone if old == arm else old - 1
        self.last = last
        self.choose_ways()

    def set_paused(self, paused: frozenset[L]) -> None:
        """Take no decision for these arms until they are resumed."""
        self.paused = paused
        self.choose_ways()

    def set_floors(self, live: Live, floor_of_all: float | None) -> None:
        """Replace the traffic floors: `live` has them already."""
        self.live.become(live)
        self.floor_of_all = floor_of_all
        self.choose_ways()

    # Repeating past events, for a store.

    def replay_events(
        self,
        run: npt.NDArray[np.float64],
        times: npt.NDArray[np.float64] | None = None,
        *,
        with_out: bool = True,
    ) -> None:
        """Make many asks, tells and forgets in one loop: see `event_replay.replay_events`.

        Without `with_out`, do not note which decisions are out. `times` are those of the events.
        """
        out, first = self.out if with_out else None, self.next_id
        self.next_id += replay_events(
            self.live, run, self.places(), self.next_id, out, self.chances
        )
        if out is not None:
            self.ledger.replayed(run, times, first, out)

    def put_out(self, rows: Iterable[tuple[int, int, float | None, int | None]]) -> None:
        """Set which decisions are out; a row is (decision, number of arm, probability, time)."""
        places = self.places().tolist()
        self.out, self.chances = {}, {}
        for id, number, chance, time in rows:
            if not 0 <= id < self.next_id or not 0 <= number < len(places):
                raise ValueError(
                    f"decision {id} cannot be out for arm {number}: give decisions below "
                    f"{self.next_id} and arms below {len(places)}"
                )
            self.out[id] = places[number] if places[number] >= 0 else -1 - number
            if chance is not None:
                self.chances[id] = float(chance)
            if time is not None:
                self.ledger.asked_at[id] = time
        self.ledger.keep_only(self.out)

    def out_among(self, ids: Iterable[int]) -> list[tuple[int, int, float | None, int | None]]:
        """Return those of some decisions that are out, as `put_out` takes them."""
        times = self.ledger.asked_at
        return [
            (id, self.number(id), self.chances.get(id), times.get(id))
            for id in ids
            if id in self.out
        ]

    def take_out(
        self,
        other: "Desk[Any]",
        late: npt.NDArray[np.float64],
        times: npt.NDArray[np.float64],
    ) -> None:
        """Take over the decisions that are out from `other`, which may differ by events `late`."""
        settle_out(late, self.places(), self.next_id, other.out, other.chances)
        self.out, self.chances, self.ledger = other.out, other.chances, other.ledger
        self.ledger.settle(late, times, self.next_id)

    # Copying and replacing the state.

    def become(self, other: "Desk[L]") -> None:
        """Take over the state of `other`, which must not be used afterwards; keep `last`."""
        self.live.become(other.live)
        self.labels, self.active, self.numbers = other.labels, other.active, other.numbers
        self.retired, self.out, self.chances = other.retired, other.out, other.chances
        self.ledger, self.next_id, self.lost = other.ledger, other.next_id, other.lost
        self.paused, self.restricted = other.paused, other.restricted
        self.floor_of_all = other.floor_of_all

    def copy(self) -> "Desk[L]":
        """Return an independent desk in the same state."""
        other = Desk(self.live.copy(), self.labels, self.floor_of_all)
        self.copy_to(other)
        return other

    def copy_to(self, other: "Desk[L]") -> None:
        """Copy everything but the record to `other`."""
        other.active = list(self.active)
        other.numbers = list(self.numbers)
        other.retired = dict(self.retired)
        other.out = dict(self.out)
        other.chances = dict(self.chances)
        other.ledger = self.ledger.copy()
        other.next_id, other.lost = self.next_id, self.lost
        other.last = self.last
        other.paused, other.restricted = self.paused, self.restricted


def _same(label: Any, other: Label) -> bool:
    """Return whether two labels are equal; `label` may be anything a user put into a decision."""
    return isinstance(label, str | int) and label == other
