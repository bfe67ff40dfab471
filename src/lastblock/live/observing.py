"""The part of a live bandit that learns from decisions that were taken elsewhere."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from lastblock.engine.events import OBSERVE, Event
from lastblock.live.event_replay import learn_each
from lastblock.live.flooring import HasFloors
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import L
from lastblock.live.memory import OBSERVED, check_key
from lastblock.live.reward_check import LEAVE_OUT
from lastblock.support.errors import KeyReusedError, short

PART = 50_000
"""How many events `learn` takes in at a time."""

MANY = 1000
"""From this number of events on it is worth waiting until the bandit is compiled."""


class Pairs(Protocol):
    """A log that gives its arms and rewards itself, as `Replay` does."""

    def pairs(self) -> tuple[Sequence[Any], Sequence[float]]:
        """Return the labels of the arms and the rewards, in the order of time."""


class Observes(HasFloors[L]):
    """The part of a live bandit that learns from decisions that were taken elsewhere."""

    def observe(self, arm: L, reward: float) -> None:
        """Learn the reward of a decision that somebody else has taken.

        The policy learns from it as from any reward. It is an extra pull: the round goes on as it
        was, as after a decision for the sake of a traffic floor.

        Parameters
        ----------
        arm
            The label of an arm, which may be paused but not retired.
        reward
            A finite number.

        Raises
        ------
        ValueError
            If there is no such arm, or `reward` is not a finite number that the policy takes. The
            bandit has not changed then.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            place = _place(desk, arm)
            _observe_each(desk, [place], [desk.check_reward(reward, LEAVE_OUT)])

    def observe_many(
        self, arms: Iterable[L], rewards: Iterable[float], *, key: str | None = None
    ) -> None:
        """Learn the rewards of decisions of others, in this order: all, or none on an error.

        Parameters
        ----------
        arms
            The labels of the arms.
        rewards
            As many finite numbers.
        key
            A text of your own, so that the call can be repeated: it has its effect once. It is
            remembered for as long as the keys of `ask` are.

        Raises
        ------
        ValueError
            As for `observe`, or if there are more or fewer rewards than arms. The message says
            which event is wrong, counted from 0.
        KeyReusedError
            If the key came with other observations before.
        """
        labels, values = list(arms), list(rewards)  # before we lock: a generator may run any code
        if len(labels) != len(values):
            raise ValueError(f"{len(values)} rewards for {len(labels)} arms; give one for each")
        desk = self._desk
        if len(values) > MANY:
            desk.live.compile()
        with desk.lock:
            desk.settle()
            places, checked = _places(desk, labels), _rewards(desk, values)
            if key is None or not _came_before(desk, places, checked, key):
                _observe_each(desk, places, checked, key)

    def learn(
        self,
        log: "Pairs | str | os.PathLike[str] | Mapping[str, Any] | Iterable[tuple[L, float]]",
        *,
        arm: str = "arm",
        reward: str = "reward",
        progress: bool | None = None,
    ) -> int:
        """Learn from a log of decisions of others: a warm start.

        The whole log is checked before the bandit changes. Then it learns 50 000 events at a time;
        if you interrupt it, it has learnt some of these parts completely, and nothing of the rest.

        Parameters
        ----------
        log
            A CSV or Parquet file, a data frame or a mapping of columns, in the order of time; a
            `Replay`, which can sort by time; or pairs of an arm and a reward.
        arm, reward
            The names of these columns. Other columns are ignored.
        progress
            Whether to show a progress bar; by default after two seconds, on a terminal.

        Returns
        -------
        int
            The number of events.

        Raises
        ------
        ValueError
            As for `observe_many`, or if the log cannot be read.
        """
        from lastblock.support.parallel import progress_bar  # noqa: PLC0415  # slow to import

        labels, values = _read(log, arm, reward)
        if len(labels) != len(values):
            raise ValueError(f"the log has {len(labels)} arms and {len(values)} rewards")
        desk = self._desk
        if len(values) > MANY:
            desk.live.compile()
        with desk.lock:
            desk.settle()
            _places(desk, labels)
            checked = _rewards(desk, values)
        with progress_bar(len(checked), progress, unit="event") as bar:
            for first in range(0, len(checked), PART):
                part = checked[first : first + PART]
                with desk.lock:
                    desk.settle()
                    _observe_each(desk, _places(desk, labels[first : first + PART]), part)
                bar.update(len(part))
        return len(checked)


def _read(log: Any, arm: str, reward: str) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the arms and the rewards of a log, or raise a ValueError."""
    if hasattr(log, "pairs"):
        arms, rewards = log.pairs()
        return arms, rewards
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


def _place(desk: JournalledDesk[Any], label: object) -> int:
    """Return the place of an arm that is not retired, or raise a ValueError."""
    if isinstance(label, np.integer):  # arrays hold such labels
        label = int(label)
    if isinstance(label, str | int) and label in desk.retired:
        raise ValueError(f"arm {label!r} has been retired; leave its rewards out")
    return desk.find_arm(label)


def _places(desk: JournalledDesk[Any], labels: Sequence[Any]) -> list[int]:
    known: dict[Any, int] = dict(zip(desk.active, range(len(desk.active)), strict=True))
    places = []
    for n, label in enumerate(labels):
        is_plain = type(label) is str or type(label) is int
        place = known.get(label) if is_plain else None
        if place is None:
            try:
                place = _place(desk, label)
            except ValueError as error:
                raise ValueError(f"event {n}: {error}") from None
        places.append(place)
    return places


def _rewards(desk: JournalledDesk[Any], rewards: Sequence[Any]) -> list[float]:
    checked = []
    for n, value in enumerate(rewards):
        try:
            checked.append(desk.check_reward(value, LEAVE_OUT))
        except ValueError as error:
            raise ValueError(f"event {n}: {error}") from None
    return checked


def _came_before(
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
    return blake2b(json.dumps(rows).encode(), digest_size=12).hexdigest()


def _observe_each(
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
