"""Checks of what users give: arm labels, traffic floors by label, rewards."""

import operator
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from lastblock.core.protocol import Policy
from lastblock.core.support import refusal
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.support.checks import number
from lastblock.support.errors import short
from lastblock.support.lists import refuse_unordered

Label: TypeAlias = str | int

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # type checkers know it even if it is not installed

    L = TypeVar("L", bound=Label, default=Any)
    """The type of a bandit's labels; `Bandit` without a type argument allows any."""
else:
    from typing import TypeVar

    L = TypeVar("L", bound=Label)

ArmState: TypeAlias = Literal["active", "paused", "retired"]
ACTIVE: Final = "active"
PAUSED: Final = "paused"
RETIRED: Final = "retired"

MOST = 1_000_000
"""The largest number of arms."""

SLACK = 1e-12
"""How far the sum of floors may exceed 1 by rounding: ten floats 0.1 do not add up to 1."""

FORGET = "to drop the decision, forget it"
LEAVE_OUT = "leave it out"
"""What to do about a reward that nobody knows: of a decision, and of an observation."""


def check_labels(arms: Sequence[Label] | int) -> list[Label]:
    """Return the labels of a new bandit's arms, or raise a ValueError."""
    labels: list[Label]
    given: object  # for a message: what the user gave
    refuse_unordered(arms, "arms")
    count: int | None = None
    with suppress(TypeError):
        count = operator.index(arms)  # type: ignore[arg-type]  # raises TypeError for a list
    if count is None:
        try:
            given = labels = [check_label(label) for label in arms]  # type: ignore[union-attr]  # else an int
        except TypeError:
            raise ValueError(f"arms={arms!r}: give a list of labels, or a whole number") from None
    elif count > MOST:
        raise ValueError(f"arms={short(count)} is too many; give at most {MOST}")
    else:
        labels, given = list(range(count)), count
    if len(set(labels)) < len(labels):
        raise ValueError(f"arms={labels} repeats a label; give each arm its own")
    if len(labels) < 2:
        raise ValueError(f"arms={short(given)}: a bandit needs at least 2 arms; add arms")
    return labels


def check_label(label: object) -> Label:
    """Return `label` as a string or an int, or raise a ValueError."""
    if isinstance(label, str):
        with suppress(UnicodeEncodeError):
            label.encode()
            return label
    elif not isinstance(label, bool | np.bool_):
        with suppress(TypeError):
            return operator.index(label)  # type: ignore[arg-type]  # raises TypeError if not whole
    raise ValueError(f"arms: label {label!r} must be a string or a whole number")


def check_floor(floor: object, labels: Sequence[Label]) -> list[float] | None:
    """Return the least share of decisions of each arm; None if no arm has a floor."""
    if floor is None:
        return None
    if isinstance(floor, Mapping):
        for label in floor:
            if label not in labels:
                raise ValueError(f"floor: {label!r} is not one of the arms {list(labels)}")
        shares = [number(floor.get(label, 0.0), f"floor: {label!r}") for label in labels]
    else:
        shares = [number(floor, "floor")] * len(labels)
    for label, share in zip(labels, shares, strict=True):
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"floor: {share} for {label!r} must lie in [0, 1]")
    if sum(shares) > 1.0 + SLACK:
        raise ValueError(
            f"floor: the shares of {len(labels)} arms add up to {sum(shares):g}; "
            "make them add up to at most 1"
        )
    return shares if any(shares) else None


def refused(reward: Any, value: float, policy: Policy, advice: str = FORGET) -> ValueError:
    """Return the error for a reward that a bandit does not take.

    Parameters
    ----------
    reward, value
        What the user gave, and the same as a float.
    policy
        The policy, which may take some rewards only.
    advice
        What to do instead if the reward is not finite.
    """
    if -LARGEST_REWARD < value < LARGEST_REWARD:
        return refusal(policy, f"reward={short(reward)}")
    return ValueError(  # it may also be NaN
        f"reward={short(reward)} must be finite and below {LARGEST_REWARD:g} in size; {advice}"
    )


def as_float(reward: Any) -> float:
    """Return a number as a float, or raise a ValueError."""
    if isinstance(reward, str | bytes):
        raise ValueError(f"reward={short(reward)} is text; give a number")
    try:
        return float(reward) + 0.0  # turns −0.0 into 0.0, so that equal rewards have equal bytes
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"reward={short(reward)} is not a number that fits a float; give a finite number"
        ) from None
