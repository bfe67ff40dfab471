"""Decisions among some of a bandit's arms: which are eligible, and how one of them is taken."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple

from lastblock.core.last_round import (
    ASKED,
    BEGINNING,
    LEADER,
    SINCE,
    TAKEN,
    WANTED,
    note_decision,
)
from lastblock.core.layout import NOBODY
from lastblock.core.protocol import Policy, check_arms
from lastblock.core.restarts import note_extra
from lastblock.kernels.jit import plain
from lastblock.live.absence import take_out_of_turn
from lastblock.live.explanation import Explanation, explained
from lastblock.live.labels import L
from lastblock.live.state import Live
from lastblock.support.checks import flag
from lastblock.support.errors import short


class Wanted(NamedTuple):
    """Which arms a user allows for some decisions; `Bandit.ask` explains the parameters."""

    among: list[Any] | None = None
    without: list[Any] | None = None
    distinct: bool = False

    @classmethod
    def checked(cls, among: object, without: object, distinct: object) -> "Wanted":
        """Return what a user wants, or raise a ValueError; labels are checked later."""
        return cls(
            None if among is None else _check_some(among, "among"),
            None if without is None else _check_some(without, "without"),
            flag(distinct, "distinct"),
        )


ANY = Wanted()
"""Any arm, as often as it comes."""


def check_resizable(policy: Policy, arms: int) -> None:
    """Raise a ValueError unless a bandit with this policy can continue with this many arms."""
    if getattr(policy, "oracle", False):
        name = type(policy).__name__
        raise ValueError(
            f"{name} knows the arms in advance, so none can be added, retired or left out; "
            "choose another policy"
        )
    check_arms(policy, arms)


class Taken(NamedTuple):
    """A decision among some arms, and the record after it."""

    live: Live
    arm: int
    """The place of its arm in the record."""
    chance: float | None
    """Its probability, if there are traffic floors."""
    side: Live | None
    """The record without the other arms, if a round was planned for this decision."""


class Restricted(NamedTuple, Generic[L]):
    """What `explain` must know of a decision that was taken among some arms."""

    id: int
    """The number of the decision."""
    arm: L
    without: tuple[L, ...]
    """The arms that could not be chosen."""
    was_alone: bool
    """Whether there was no other eligible arm."""
    side: Live | None
    """The record in which the current round was planned, if some arms were left out of it."""
    kept: tuple[L, ...]
    """The arms of that record."""


def take_among(live: Live, id: int, kept: Sequence[int]) -> Taken:
    """Take the decision with this number among some arms, given by their places in the record.

    `live` does not change. The arm is the one that the policy would take if all other arms had just
    been retired; with a single eligible arm there is nothing to decide.
    """
    eligible, layout = set(kept), live.record_map
    alone = kept[0] if len(kept) == 1 else None
    if alone is None and not live.is_floored:
        s = live.s  # the next arm of the round that is eligible, if there is one
        waiting = s.queue[int(s.taken) : int(s.queued)].tolist()
        alone = next((k for k in waiting if k in eligible), None)
    if alone is not None:
        states, had_its_turn = take_out_of_turn(live.states, alone)
        new = live.copy(states)
        if not had_its_turn:
            note_extra(new.s)
        plain(note_decision)(new.planned, id, alone, alone)
        return Taken(new, alone, 1.0 if live.is_floored else None, None)
    absent = [k for k in range(int(live.s.arms)) if k not in eligible]
    side = live.copy(layout.hide(live.states, absent))
    live.notes.keep(side.notes, list(kept))
    before = side.states.copy()
    asked: Any = side.ask(id)
    place, chance = asked if live.is_floored else (asked, None)
    new = live.copy(layout.bring_back(live.states, before, side.states, absent))
    has_planned = bool(side.s.round != live.s.round)
    if has_planned:
        leader = side.notes.leader
        new.planned[BEGINNING:] = 0  # the round was planned in another record
        new.planned[LEADER] = NOBODY if leader is None else kept[leader]
        new.planned[SINCE] = side.planned[SINCE]
    arm, wanted = kept[int(place)], kept[int(side.planned[WANTED])]
    new.planned[[ASKED, TAKEN, WANTED]] = [id + 1, arm, wanted]
    return Taken(new, arm, chance, side if has_planned else None)


def explain_restricted(
    found: Explanation[L], restricted: Restricted[L], waiting: Collection[L]
) -> Explanation[L]:
    """Return an explanation of the last round that says what was not eligible."""
    names = ", ".join(repr(label) for label in restricted.without)
    lines = [found.text, f"For decision {restricted.id}, {names} could not be chosen."]
    if restricted.was_alone:
        lines.append(f"{restricted.arm!r} was the only eligible arm.")
    postponed = tuple(label for label in restricted.without if label in waiting)
    if postponed:
        names = ", ".join(repr(label) for label in postponed)
        lines.append(f"{names} will have a turn in the round as soon as it is eligible again.")
    return replace(found, without=restricted.without, postponed=postponed, text="\n".join(lines))


def explain_side(side: Live, labels: Sequence[L]) -> Explanation[L]:
    """Explain a round that was planned without some arms; `labels` are those of the others."""
    now = side.states.copy()
    return explained(side.policy, now, side.planned[BEGINNING:], labels)


def restriction(numbers: Sequence[int], kept: Sequence[int]) -> dict[str, list[int]]:
    """Return which arms may be chosen, as an event has it: by their numbers, the shorter way.

    `numbers` has the number of each arm in the record, `kept` the places of those that may be.
    """
    if 2 * len(kept) < len(numbers):
        return {"among": [numbers[k] for k in kept]}
    eligible = set(kept)
    return {"without": [n for k, n in enumerate(numbers) if k not in eligible]}


def restricted_places(numbers: Sequence[int], value: Any) -> list[int]:
    """Return the places of the arms that an event allows; see `restriction`.

    Raises
    ------
    ValueError
        If the event is not one that a bandit writes.
    """
    known = {number: place for place, number in enumerate(numbers)}
    if isinstance(value, dict) and "probability" in value:
        among, without = value.get("among"), value.get("without")
        given = without if among is None else among
        if isinstance(given, list) and all(type(n) is int and n in known for n in given):
            named = {known[n] for n in given}
            kept = [k for k in known.values() if (k in named) == (among is not None)]
            if 0 < len(kept) < len(known):
                return kept
    raise ValueError(f"an event with {short(value)} does not fit the arms of the bandit")


def _check_some(labels: object, name: str) -> list[Any]:
    """Return `among` or `without` as a list, or raise a ValueError."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise ValueError(f"{name}={short(labels)}: give a list of labels")
    return list(labels)


def eligible_places(
    active: Sequence[L],
    paused: Collection[L],
    retired: Collection[L],
    among: list[Any] | None,
    without: list[Any] | None,
) -> list[int] | None:
    """Return the places of the arms that may be chosen, in order; None if all of them may.

    Raises
    ------
    ValueError
        If a label is not that of an arm, or no arm is left.
    """
    if among is None and without is None and not paused:
        return None
    chosen: set[Any] = set(active)
    if among is not None:
        chosen = {_known(label, active, retired, "among") for label in among}
        if not chosen:
            raise ValueError("among=[]: no arm can be chosen; name at least one arm")
    if without is not None:
        for label in without:
            if not _is_in(label, retired):
                chosen.discard(_known(label, active, retired, "without"))
    kept = [k for k, label in enumerate(active) if label in chosen and label not in paused]
    if not kept:
        raise ValueError(_nothing_left(active, paused, chosen))
    return kept if len(kept) < len(active) else None


def _known(label: Any, active: Sequence[L], retired: Collection[L], name: str) -> Any:
    if _is_in(label, retired):
        raise ValueError(f"{name}: arm {label!r} has been retired; leave it out")
    if not _is_in(label, active):
        raise ValueError(f"{name}: {short(label)} is not one of the arms {list(active)}")
    return label


def _is_in(label: Any, labels: Collection[Any]) -> bool:
    return type(label) is not bool and isinstance(label, str | int) and label in labels


def _nothing_left(active: Sequence[L], paused: Collection[L], chosen: set[Any]) -> str:
    if len(paused) == len(active):
        return "no arm can be chosen: all arms are paused; resume one with resume_arm()"
    stopped = [label for label in active if label in chosen and label in paused]
    if stopped:
        return f"no arm can be chosen: {stopped} are paused; resume one, or allow more arms"
    return f"no arm can be chosen: `among` and `without` leave none of {list(active)}; allow more"
