"""The part of a store that reads logs: events in order, and why a past decision was taken."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from lastblock.engine.events import ASK, FORGET, KINDS, TELL
from lastblock.live.decisions import Decision, Generations, Pending
from lastblock.live.explanation import Explanation
from lastblock.live.labels import Label
from lastblock.store.messages import number_of
from lastblock.store.recovery import damage_explained, recover
from lastblock.store.storage import Storage
from lastblock.store.tallying import TalliesLogs
from lastblock.support.checks import at_least
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


class ReadsLogs(TalliesLogs, ABC):
    """The part of a store that reads the logs of its bandits."""

    _storage: Storage

    @abstractmethod
    def flush(self) -> None: ...

    def events(self, name: str, *, after: int = 0, limit: int = 1000) -> list[LoggedEvent]:
        """Return events of a bandit from its log, in order; the store need not have it open.

        The log holds all events if the store is opened with `keep_events`; otherwise those since
        the last snapshot.

        Parameters
        ----------
        name
            The name of the bandit.
        after
            Return events after the one with this number.
        limit
            The most events to return.

        Raises
        ------
        StoreError
            If there is no bandit of this name.
        """
        begin, size = at_least(0, after, "after"), at_least(1, limit, "limit")
        with self._storage.view() as view:
            number = self._number(name, view.names())
            with damage_explained(view, name):
                labels, ids = view.arms(number), Generations(view.generations(number))
                return [_event(row, labels, ids) for row in view.rows(number, begin, size)]

    def last_event(self, name: str) -> int:
        """Return the number of the last event in the log of a bandit; 0 if there is none.

        Parameters
        ----------
        name
            The name of the bandit.
        """
        with self._storage.view() as view:
            number = self._number(name, view.names())
            return max(view.last(number), view.snapshot(number).event)

    def explain(
        self, name: str, decision: "Decision[Any] | Pending[Any] | int"
    ) -> "Explanation[Any]":
        """Explain a past decision: the events up to it are replayed from the log.

        Parameters
        ----------
        name
            The name of the bandit.
        decision
            What `ask` returned, or its id.

        Returns
        -------
        Explanation
            What `Bandit.explain` said when the decision had just been taken.

        Raises
        ------
        UnknownDecisionError
            If the log does not have the decision: it was never asked for, or the store was opened
            without `keep_events`.
        StoreError
            If there is no bandit of this name.
        """
        id = decision if isinstance(decision, int) else decision.id
        self.flush()
        with self._storage.view() as view:
            number = self._number(name, view.names())
            asked = Generations(view.generations(number)).number_of(id)
            event = view.asked_at(number, asked)
            if event is None or event <= view.snapshot(number, first=True).event:
                raise UnknownDecisionError(
                    f"the log of bandit {name!r} does not have decision {short(id)}; to explain "
                    "past decisions, open the store with keep_events=True from the beginning"
                )
            return recover(view, name, number, first=True, until=event).bandit.explain()

    def _number(self, name: str, names: Mapping[str, int]) -> int:
        return number_of(self._storage.label, name, names)


def _event(row: Any, labels: list[Label], ids: Generations) -> LoggedEvent:
    _, event, time, kind, decision, arm, value = row
    if kind not in range(len(KINDS)):
        raise StoreError(f"event {event} has the unknown kind {kind}")
    return LoggedEvent(
        event,
        time,
        KINDS[kind],
        None if decision is None else ids.id_of(decision),
        None if arm is None else labels[arm],
        value if kind in (ASK, TELL) else None,
        value if kind > FORGET else None,
    )
