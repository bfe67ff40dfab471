"""A desk that takes decisions among some of its arms, since others are paused or left out."""

from typing import Any, TypeVar

from lastblock.engine.events import Event
from lastblock.live.decisions import Decision
from lastblock.live.desk import Desk
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
from lastblock.live.explanation import Explanation
from lastblock.live.labels import L
from lastblock.live.state import Live

DesksLike = TypeVar("DesksLike", bound="Desk[Any]")


class SelectiveDesk(Desk[L]):
    """A desk some of whose arms may be paused; see `Desk`.

    To its changes it adds `ask_arm_among`, `pause`, `resume` and `set_floors`.
    """

    restricted: Restricted[L] | None = None  # the last decision among some arms, if it is known

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
        return self.decision(arm, id + self.generations.tag, taken.chance)

    def choose_ways(self) -> None:
        """Choose between fast and slow ways, for desks that have both."""

    def pause(self, label: L) -> None:
        """Take no decision for this arm until it is resumed."""
        self.paused = self.paused | {label}
        self.choose_ways()

    def resume(self, label: L) -> None:
        """Take decisions for a paused arm again."""
        self.paused = self.paused - {label}
        self.choose_ways()

    def set_floors(self, live: Live, floor_of_all: float | None) -> None:
        """Replace the traffic floors: `live` has them already."""
        self.live.become(live)
        self.floor_of_all = floor_of_all
        self.choose_ways()

    def retire(self, arm: int, live: Live, last: Explanation[L]) -> None:
        """Retire an arm, see `Desk.retire`; it is no longer paused then."""
        label = self.active[arm]
        super().retire(arm, live, last)
        self.resume(label)

    def explain(self) -> Explanation[L]:
        """Return an explanation of the last round, and of arms that could not be chosen."""
        some, s = self.restricted, self.live.s
        is_last = self.last is not None and self.last.round == s.round
        if some is None or is_last:
            return super().explain()
        if some.side is not None and some.side.s.round == s.round:
            found = explain_side(some.side, some.kept)
        else:
            found = super().explain()
        if some.id != self.next_id - 1:
            return found
        waiting = s.queue[int(s.taken) : int(s.queued)].tolist()
        return explain_restricted(found, some, [self.active[k] for k in waiting])

    def become(self, other: Desk[L]) -> None:
        """Take over the state of `other`, which must not be used afterwards; keep `last`."""
        super().become(other)
        if isinstance(other, SelectiveDesk):
            self.paused, self.restricted = other.paused, other.restricted
            self.floor_of_all = other.floor_of_all

    def copy(self) -> "SelectiveDesk[L]":
        """Return an independent desk in the same state."""
        return self.copy_to(SelectiveDesk(self.live.copy(), self.labels, self.floor_of_all))

    def copy_to(self, other: DesksLike) -> DesksLike:
        """Copy everything but the record to `other`, and return `other`."""
        super().copy_to(other)
        if isinstance(other, SelectiveDesk):
            other.paused, other.restricted = self.paused, self.restricted
        return other
