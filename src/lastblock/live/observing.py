"""Learning from decisions that were taken elsewhere.

The callers of these functions hold the lock of the desk.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lastblock.engine.events import OBSERVE, Event
from lastblock.live.event_replay import learn_each
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import LEAVE_OUT
from lastblock.live.memory import OBSERVED, check_key, digest_of
from lastblock.support.errors import KeyReusedError, short

PART = 50_000
"""How many events `learn` takes in at a time."""

MANY = 1000
"""From this number of events on it is worth waiting until the bandit is compiled."""


def read_pairs(log: Any, arm: str, reward: str) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the arms and the rewards of a log, or raise a ValueError."""
    is_table = isinstance(log, str | os.PathLike | Mapping) or hasattr(log, "columns")
    if is_table or getattr(getattr(log, "dtype", None), "names", None):
        from lastblock.support.columns import plain_label, read_columns  # noqa: PLC0415  # slow to import

        columns = read_columns(log, [arm, reward])
        labels = columns[arm].tolist()
        rewards = columns[reward].tolist()
        for row, label in enumerate(labels):
            if plain_label(label) is None:
                raise ValueError(f"{arm!r}, row {row}: {short(label)} is not an arm")
        return [plain_label(label) for label in labels], rewards
    try:
        pairs = list(log)
    except TypeError:
        raise ValueError(
            f"log is a {type(log).__name__}; give a CSV or Parquet file, a data frame, a mapping "
            "of columns, a Replay, or pairs (arm, reward)"
        ) from None
    for n, pair in enumerate(pairs):
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"event {n}: {short(pair)} is not a pair (arm, reward)")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def place_of(desk: JournalledDesk[Any], label: object) -> int:
    """Return the place of an arm that is not retired, or raise a ValueError."""
    if isinstance(label, np.integer):  # arrays hold such labels
        label = int(label)
    if isinstance(label, str | int) and label in desk.retired:
        raise ValueError(f"arm {label!r} has been retired; leave its rewards out")
    return desk.find_arm(label)


def places_of(desk: JournalledDesk[Any], labels: Sequence[Any]) -> list[int]:
    """Return the places of arms that are not retired, or raise a ValueError."""
    known: dict[Any, int] = dict(zip(desk.active, range(len(desk.active)), strict=True))
    places = []
    for n, label in enumerate(labels):
        is_plain = type(label) is str or type(label) is int
        place = known.get(label) if is_plain else None
        if place is None:
            try:
                place = place_of(desk, label)
            except ValueError as error:
                raise ValueError(f"event {n}: {error}") from None
        places.append(place)
    return places


def rewards_of(desk: JournalledDesk[Any], rewards: Sequence[Any]) -> list[float]:
    """Return rewards as floats that the policy takes, or raise a ValueError."""
    checked = []
    for n, value in enumerate(rewards):
        try:
            checked.append(desk.check_reward(value, LEAVE_OUT))
        except ValueError as error:
            raise ValueError(f"event {n}: {error}") from None
    return checked


def came_before(
    desk: JournalledDesk[Any], places: Sequence[int], values: Sequence[float], key: str
) -> bool:
    """Return whether these observations came with this key before, or raise an error."""
    found = desk.ledger.memory.observed(check_key(key))
    if found is None:
        return False
    desk.check_open()
    if found != _digest(desk, places, values):
        raise KeyReusedError(
            f"key={short(key)} came with other observations before; take another key for others"
        )
    return True


def _digest(desk: JournalledDesk[Any], places: Sequence[int], values: Sequence[float]) -> str:
    """Return a short text that tells these observations from others."""
    rows = [[desk.numbers[place], value] for place, value in zip(places, values, strict=True)]
    return digest_of(rows)


def observe_each(
    desk: JournalledDesk[Any], places: list[int], values: list[float], key: str | None = None
) -> None:
    """Learn rewards of decisions that others took, by the places of arms: all or none."""
    events: list[Event] = []
    notes: list[Event] = []
    if key is not None:
        item = [OBSERVED, [key, _digest(desk, places, values)], []]
        notes = [("remember", None, None, item)]
    if desk.is_followed:
        of = [desk.numbers[place] for place in places]
        events = [(OBSERVE, None, n, value) for n, value in zip(of, values, strict=True)]

    def learn(change: Callable[..., None], *arguments: Any) -> None:
        change(*arguments)
        if notes:
            desk.take_notes(notes)

    if len(places) != 1 or desk.may_raise:
        # On a copy, before the journal is told: growing may fail, and a user's policy may.
        live = desk.live.copy()
        learn_each(live, places, values)
        desk.log(events + notes, learn, desk.live.become, live)
    else:
        while desk.live.is_full(places[0]):
            desk.live.become(desk.live.grown())
        desk.log(events + notes, learn, learn_each, desk.live, places, values)
