"""Replay a bandit's events from the earliest snapshot, and compare with its latest state."""

from collections.abc import Callable

from lastblock.store.recovery import recover, state_of
from lastblock.store.storage import View
from lastblock.support.errors import StoreError


def verify(
    view: View, name: str, number: int, tick: Callable[[int], object] = lambda events: None
) -> int:
    """Verify bandit `number`, and return the number of events replayed from the earliest snapshot.

    Parameters
    ----------
    view
        The storage at one moment.
    name, number
        The bandit.
    tick
        It is called with numbers of events that have been replayed, `events_to_verify` in all.

    Raises
    ------
    StoreError
        If the two states are not the same, byte for byte, or the stored data are damaged.
    """
    latest = recover(view, name, number, tick=tick)
    again = recover(view, name, number, first=True, tick=tick)
    if state_of(again) != state_of(latest):
        raise StoreError(
            f"bandit {name!r} in {view.label} is damaged: its events lead to "
            "another state than its snapshot; restore the file from a copy"
        )
    return again.event - again.saved


def events_to_verify(view: View, number: int) -> int:
    """Return how many events `verify` replays."""
    last = view.last(number)
    saved = view.snapshot(number).event, view.snapshot(number, first=True).event
    return sum(max(0, last - event) for event in saved)
