"""The event that replaces a bandit's traffic floors, written and read."""

from collections.abc import Sequence
from typing import Any

from lastblock.engine.events import Event
from lastblock.live.labels import Label
from lastblock.support.errors import UNREADABLE, short

EVERY, ARMS = "every", "arms"
"""The entries of an event: a share of every arm, or pairs of an arm and its share."""


def floors_event(
    shares: Sequence[float] | None, of_all: float | None, numbers: Sequence[int]
) -> Event:
    """Return the event that gives the arms with these numbers their shares; None for none."""
    value: dict[str, Any] | None = None
    if of_all is not None:
        value = {EVERY: of_all}
    elif shares is not None:
        pairs = zip(numbers, shares, strict=True)
        value = {ARMS: [[number, share] for number, share in pairs if share > 0.0]}
    return "set_floors", None, None, value


def read_floors_event(
    value: Any, numbers: Sequence[int]
) -> tuple[dict[int, float | None], float | None]:
    """Return the floors of arms by number after an event, and the floor of arms that come later.

    A floor is None if the bandit has none at all from then on.

    Parameters
    ----------
    value
        The value of a "set_floors".
    numbers
        The numbers of the active arms.

    Raises
    ------
    ValueError
        If the event is not one that a bandit writes.
    """
    if value is None:
        return dict.fromkeys(numbers, None), None
    try:
        if EVERY in value:
            share = float(value[EVERY])
            return dict.fromkeys(numbers, share), share
        given = {int(number): float(share) for number, share in value[ARMS]}
    except UNREADABLE:
        given = {-1: 0.0}
    if not given.keys() <= set(numbers):
        raise ValueError(f"an event with {short(value)} does not fit the arms of the bandit")
    return {number: given.get(number, 0.0) for number in numbers}, 0.0


def floors_by_label(
    value: Any, numbers: Sequence[int], labels: Sequence[Label]
) -> "float | dict[Any, float] | None":
    """Return what `set_floors` was called with, by the event that it has written."""
    floors, of_all = read_floors_event(value, numbers)
    if value is None:
        return None
    if of_all:
        return of_all
    return {label: floors[number] or 0.0 for number, label in zip(numbers, labels, strict=True)}
