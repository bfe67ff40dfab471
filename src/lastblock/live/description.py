"""A bandit as a description (plain data) and the bytes of its record, for state files and stores.

A checksum shows that a file is as it was written, not who wrote it. So we check everything in a
description: that every index lies within its list, for example, and that each arm is there once.
"""

from collections.abc import Sequence
from typing import Any

from lastblock.core.layout import LARGEST_COUNTED, grows, layout_id, slots, state_dtype
from lastblock.core.protocol import Policy, check_arms
from lastblock.core.registry import build, describe, require_policy
from lastblock.core.reward_stats import Told
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import Label, check_labels
from lastblock.live.ledger import restore_ledger
from lastblock.live.state import Live
from lastblock.support.checks import flag, number, whole
from lastblock.support.errors import UNREADABLE, StateFileError


def describe_desk(desk: JournalledDesk[Any], *, with_out: bool = True) -> dict[str, Any]:
    """Return everything in a desk but the record and its notes, as plain data.

    If `with_out` is False, the list of decisions that are out stays empty: a store keeps them.
    """
    number = {label: i for i, label in enumerate(desk.labels)}
    out = sorted(desk.out.items()) if with_out else []
    return {
        "policy": describe(desk.live.policy),
        "layout": desk.live.layout,
        "room": [desk.live.width, desk.live.depth],
        "floored": desk.live.is_floored,
        "floor_of_all": desk.floor_of_all,
        "arms": desk.labels,
        "active": [number[label] for label in desk.active],
        "retired": [
            [number[label], told.pulls, *(value.hex() for value in told[1:])]
            for label, told in desk.retired.items()
        ],
        "next_id": desk.next_id,
        "lost": desk.lost,
        "out": [[id, int(arm), desk.chances.get(id)] for id, arm in out],
        "ledger": desk.ledger.describe(for_store=not with_out, in_store=desk.clock is not None),
        "paused": sorted(number[label] for label in desk.paused),
    }


def restore_desk(about: dict[str, Any], record: bytes) -> JournalledDesk[Any]:
    """Return the desk of a description and a record, or raise a `StateFileError`."""
    try:
        return _restored(about, record)
    except UNREADABLE as error:
        raise StateFileError(
            f"the state does not fit this version of lastblock: {error}; "
            "load it with the version that wrote it, or begin a new bandit"
        ) from error


def _restored(about: dict[str, Any], record: bytes) -> JournalledDesk[Any]:
    """Return the desk of a description and a record, or raise one of the errors `UNREADABLE`."""
    policy: Any = build(about["policy"])
    require_policy(policy)
    labels = check_labels(about["arms"])
    numbers = [_between(i, 0, len(labels) - 1, "active") for i in about["active"]]
    retired = {
        _between(i, 0, len(labels) - 1, "retired"): Told(
            _between(pulls, 0, LARGEST_COUNTED, "retired"),
            *map(float.fromhex, (mean, spread, low, high)),
        )
        for i, pulls, mean, spread, low, high in about["retired"]
    }
    if sorted([*numbers, *retired]) != list(range(len(labels))):
        raise ValueError("its arms do not add up: each must be either active or retired, once")
    check_arms(policy, len(numbers))
    next_id = _between(about["next_id"], 0, LARGEST_COUNTED, "next_id")
    lost = _lost(about["lost"], next_id)
    out, chances = _decisions(about["out"], next_id, len(numbers), retired.keys())
    width, depth = about["room"]
    width = _between(width, len(numbers), LARGEST_COUNTED, "room")
    depth = _depth(policy, len(numbers), depth)
    floored = flag(about["floored"], "floored")
    floor_of_all = _share(about["floor_of_all"], "floor_of_all")
    ledger = restore_ledger(about["ledger"], next_id, len(labels))
    paused = _paused(about["paused"], labels, numbers)
    dtype = state_dtype(policy, len(numbers), depth, width)
    if width != slots(width) or about["layout"] != layout_id(dtype):
        raise ValueError(f"its record has another layout than that of {type(policy).__name__} here")
    live = Live(policy, len(numbers), width=width, depth=depth, floored=floored)
    live.read(record)
    live.check(len(numbers))
    desk: JournalledDesk[Any] = JournalledDesk(live, labels, floor_of_all)
    desk.active, desk.numbers = [labels[i] for i in numbers], numbers
    desk.retired = {labels[i]: told for i, told in retired.items()}
    desk.next_id, desk.lost, desk.ledger = next_id, lost, ledger
    desk.out, desk.chances = out, chances
    desk.paused = paused
    desk.attach(None, None)  # since it goes by the ledger and the arms which ways are fast
    return desk


def read_floors(
    about: dict[str, Any], record: bytes
) -> tuple[dict[int, float | None], float | None]:
    """Return the floors of the active arms, by number, and the floor of arms that come later.

    A floor is None if the bandit has no floors at all. Nothing is compiled.
    """
    desk = restore_desk(about, record)
    if not desk.live.is_floored:
        return dict.fromkeys(desk.numbers, None), None
    floors = desk.live.notes.floor.tolist()
    return dict(zip(desk.numbers, floors, strict=False)), desk.floor_of_all or 0.0


def _decisions(
    rows: Sequence[Any], next_id: int, arms: int, retired: Any
) -> tuple[dict[int, int], dict[int, float]]:
    """Return the arms and the probabilities of the decisions that are out."""
    out: dict[int, int] = {}
    chances: dict[int, float] = {}
    for id, arm, chance in rows:
        known = _between(id, 0, next_id - 1, "out")
        place = whole(arm, "out")
        if known in out:
            raise ValueError(f"decision {known} is out twice")
        if place >= arms or (place < 0 and -1 - place not in retired):
            raise ValueError(f"decision {known} is for arm {place}, which does not exist")
        out[known] = place
        share = _share(chance, "out")
        if share is not None:
            chances[known] = share
    return out, chances


def _lost(rows: Sequence[Any], next_id: int) -> tuple[tuple[int, int], ...]:
    """Return the ids that crashes lost, in order."""
    lost: list[tuple[int, int]] = []
    for first, end in rows:
        least = lost[-1][1] + 1 if lost else 0
        begin = _between(first, least, next_id, "lost")
        lost.append((begin, _between(end, begin + 1, next_id, "lost")))
    return tuple(lost)


def _paused(
    rows: Sequence[Any], labels: Sequence[Label], active: Sequence[int]
) -> frozenset[Label]:
    """Return the labels of the paused arms."""
    for arm in rows:
        if whole(arm, "paused") not in active:
            raise ValueError(f"arm {arm} is paused, and is not an active arm")
    return frozenset(labels[arm] for arm in rows)


def _depth(policy: Policy, arms: int, depth: object) -> int | None:
    """Return how many rewards per arm fit; None unless the policy keeps all rewards."""
    if (depth is not None) != grows(policy, arms):
        raise ValueError(f"room={depth!r} does not fit {type(policy).__name__}")
    return None if depth is None else _between(depth, 1, LARGEST_COUNTED, "room")


def _between(value: object, least: int, most: int, name: str) -> int:
    found = whole(value, name)
    if not least <= found <= most:
        raise ValueError(f"{name}={found} does not lie between {least} and {most}")
    return found


def _share(value: object, name: str) -> float | None:
    if value is None:
        return None
    found = number(value, name)
    if not 0.0 <= found <= 1.0:
        raise ValueError(f"{name}={found} does not lie between 0 and 1")
    return found
