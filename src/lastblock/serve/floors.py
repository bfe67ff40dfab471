"""The traffic floors of bandits: as clients give them, and as `Bandit.set_floors` takes them."""

from typing import Any

from lastblock.live.bandit import Bandit, desk_of
from lastblock.live.labels import Label, check_floor
from lastblock.serve.hosted import Hosted
from lastblock.serve.messages import NewArm, NewBandit
from lastblock.serve.problems import ProblemError

Floors = float | dict[Label, float] | None
"""A share of every arm, shares of single arms, or no floors."""


def floors_of(bandit: Bandit[Any]) -> Floors:
    """Return the floors of a bandit."""
    of_all = desk_of(bandit).floor_of_all
    return (dict(bandit.floor) or None) if of_all is None else of_all


def floors_of_new(new: NewBandit, arms: list[NewArm]) -> Floors:
    """Return the floors of a bandit to create, or raise a `ProblemError`."""
    single: dict[Label, float] = {arm.label: arm.floor for arm in arms if arm.floor is not None}
    if single and new.floor is not None:
        raise ProblemError("invalid", "give a floor for every arm or for single ones, not both")
    if isinstance(new.floor, dict):
        labels = {str(arm.label): arm.label for arm in arms}
        return {labels.get(text, text): floor for text, floor in new.floor.items()}
    return single or new.floor


def read_floors(hosted: Hosted, given: float | dict[str, float] | None) -> Floors:
    """Return floors by the labels of arms, or raise an error if the bandit cannot have them."""
    if not isinstance(given, dict):
        check_floor(given, _there(hosted))
        return given
    found = {hosted.find_arm(text): floor for text, floor in given.items()}
    if len(found) < len(given):
        raise ProblemError("invalid", "floor: an arm is named twice")
    check_floor(found, _there(hosted))
    return found


def with_floor(hosted: Hosted, label: Label, floor: float | None) -> Floors:
    """Return the floors of a bandit with another one for this arm, which may be a new one."""
    there = _there(hosted)
    floors = {**hosted.bandit.floor, label: floor or 0.0}
    check_floor(floors, there if label in there else [*there, label])
    return floors


def set_floors(hosted: Hosted, floors: Floors) -> None:
    """Set the floors of a bandit and of all that belong to it."""
    for each in hosted.members:
        if floors_of(each.bandit) != floors:
            each.bandit.set_floors(floors)
            each.stamp += 1


def _there(hosted: Hosted) -> list[Label]:
    return [label for label, state in hosted.bandit.arms.items() if state != "retired"]
