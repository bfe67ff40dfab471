"""What is read from the log of a store's bandit: events in order, and counts of them by time."""

from collections.abc import Callable
from typing import NamedTuple

from lastblock.engine.events import ASK, FORGET, KINDS, TELL
from lastblock.live.explanation import Explanation
from lastblock.live.labels import Label
from lastblock.store.recovery import damage_explained, recover
from lastblock.store.storage import Row, Tally, View
from lastblock.support.errors import StoreError, UnknownDecisionError, short
from lastblock.support.json_safe import json_fields


class LoggedEvent(NamedTuple):
    """An event in the log of a store's bandit; `Store.events` returns them."""

    event: int
    """The number of the event: 1, 2, … for each bandit."""
    time: int
    """When it was logged, in microseconds since 1970."""
    kind: str
    """What happened, such as "ask", "tell" or "add_arm"."""
    id: int | None
    """The id of the decision that was asked for, told or forgotten; otherwise None."""
    arm: Label | None
    """The label of the arm of the decision, or of the arm that came or went."""
    value: float | None
    """The reward of a "tell"; the probability of an "ask", None without traffic floors."""
    extra: str | None
    """What other kinds of events have besides, as JSON."""

    def to_dict(self) -> dict[str, object]:
        """Return the event as values for JSON."""
        return json_fields(self)


class Tallied(NamedTuple):
    """Decisions and rewards of a bandit by time; `Store.tally` returns them."""

    labels: list[Label]
    """The labels of all arms, including retired ones."""
    until: int
    """The number of the last event that is counted."""
    length: int
    """The length of a stretch of time, in microseconds."""
    tallies: list[Tally]
    """The counts for each stretch and arm; in no order."""
    milestones: list[tuple[int, str, Label | None]]
    """When arms or floors changed, oldest first: the time in microseconds since 1970, the kind of
    the event, and the arm; the latest hundred at most."""


def read_events(view: View, name: str, number: int, after: int, limit: int) -> list[LoggedEvent]:
    """Return events of a bandit, in order; `Store.events` explains the parameters."""
    with damage_explained(view, name):
        labels = view.arms(number)
        return [_event(row, labels) for row in view.rows(number, after, limit)]


def _event(row: Row, labels: list[Label]) -> LoggedEvent:
    _, event, time, kind, decision, arm, value = row
    if kind not in range(len(KINDS)):
        raise StoreError(f"event {event} has the unknown kind {kind}")
    return LoggedEvent(
        event,
        time,
        KINDS[kind],
        decision,
        None if arm is None else labels[arm],
        value if kind in (ASK, TELL) else None,
        value if kind > FORGET else None,
    )


def explain(view: View, name: str, number: int, id: int) -> "Explanation[Label]":
    """Explain a past decision; see `Store.explain`."""
    event = view.asked_at(number, id)
    if event is None or event <= view.snapshot(number, first=True).event:
        raise UnknownDecisionError(
            f"the log of bandit {name!r} does not have decision {short(id)}; to explain "
            "past decisions, open the store with keep_events=True from the beginning"
        )
    return recover(view, name, number, first=True, until=event).bandit.explain()


def tally(
    view: View, number: int, length: Callable[[float], int], after: int | None, most: int
) -> Tallied:
    """Count decisions and rewards; `Store.tally` explains the parameters."""
    last = view.last(number)
    # Events before the earliest snapshot may have been dropped.
    begin = max(after or 0, view.snapshot(number, first=True).event, last - most)
    first, final = view.time(number, begin + 1), view.time(number, last)
    labels = view.arms(number)
    size = length(0.0 if first is None or final is None else max(0.0, final - first))
    found = [] if first is None else view.tally(number, begin, last, size)
    marks = [
        (each.time, KINDS[each.kind], None if each.arm is None else labels[each.arm])
        for each in view.milestones(number, begin, last)
    ]
    return Tallied(labels, max(begin, last), size, found, marks)
