"""The part of a store that counts what its logs hold, without reading every event."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lastblock.engine.events import KINDS
from lastblock.live.labels import Label
from lastblock.store.messages import number_of
from lastblock.store.storage import Storage, Tally
from lastblock.support.checks import at_least

if TYPE_CHECKING:
    from lastblock.store.reading import About


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


class TalliesLogs:
    """The part of a store that counts what its logs hold."""

    _storage: Storage

    def about(self, names: Sequence[str]) -> "dict[str, About]":
        """Return what the store knows of some bandits without opening them.

        Parameters
        ----------
        names
            The names of bandits, which others may have open. Those that are not there are left out.

        Returns
        -------
        dict
            The policy, and how many arms and decisions each has, by name.
        """
        from lastblock.store.reading import Reading  # noqa: PLC0415  # rarely used

        with self._storage.view() as view:
            there = view.names()
            reader = Reading(view, lambda number: None)
            return {name: reader.about(name) for name in names if name in there}

    def tally(
        self,
        name: str,
        *,
        length: Callable[[float], int],
        after: int | None = None,
        most: int = 1_000_000,
    ) -> Tallied:
        """Count the decisions and rewards of a bandit's arms in stretches of time.

        The database does it, so that a log of a million events takes a second and no memory. The
        store need not have the bandit open.

        Parameters
        ----------
        name
            The name of the bandit.
        length
            Is given the microseconds from the first event that is counted to the last one, and
            returns the length of a stretch, in microseconds.
        after
            Count the events after the one with this number; None for as many as there are.
        most
            The most events to count: the latest ones.

        Raises
        ------
        StoreError
            If there is no bandit of this name.
        """
        most = at_least(1, most, "most")
        with self._storage.view() as view:
            number = number_of(self._storage.label, name, view.names())
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
