"""Checks of the arrays that users give to a fleet; errors name the position that is wrong."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy
from lastblock.core.support import first_outside, refusal, support_of
from lastblock.engine.fleet import NOWHERE, Numbers
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live.decisions import no_context

LARGEST_FLEET = NOWHERE - 1
"""The largest fleet and batch: numbers of bandits and positions have 32 bits."""


def check_ids(ids: npt.ArrayLike, size: int) -> Numbers:
    """Return the ids as an array; each must be below `size`."""
    batch = _whole_numbers(ids, "ids")
    if batch.size > LARGEST_FLEET:
        raise ValueError(f"{batch.size} ids in one batch; give at most {LARGEST_FLEET}")
    wrong = _first_outside(batch, size)
    if wrong is not None:
        raise ValueError(
            f"ids[{wrong}]={batch[wrong]} is not one of this fleet's bandits, 0 to {size - 1}"
        )
    return np.ascontiguousarray(batch, np.int64)


def check_arm_numbers(arms: npt.ArrayLike, limit: int, n: int) -> Numbers:
    """Return n arms as an array; each must be below `limit`."""
    numbers = _whole_numbers(arms, "arms")
    if numbers.size != n:
        raise ValueError(f"{numbers.size} arms for {n} ids; give one for each")
    wrong = _first_outside(numbers, limit)
    if wrong is not None:
        raise ValueError(f"arms[{wrong}]={numbers[wrong]} is not one of the arms 0 to {limit - 1}")
    return np.ascontiguousarray(numbers, np.int64)


def check_rewards(rewards: npt.ArrayLike, n: int, policy: Policy) -> npt.NDArray[np.float64]:
    """Return n rewards as an array; each must be finite, and fit the policy."""
    given = _array(rewards, "rewards", "biuf", "numbers")
    if given.size != n:
        raise ValueError(f"{given.size} rewards for {n} ids; give one for each")
    with np.errstate(over="ignore"):  # long doubles may become infinite, which we refuse below
        values = np.ascontiguousarray(given, np.float64)
    least, most = (values.min(), values.max()) if n > 0 else (0.0, 0.0)
    if not (least > -LARGEST_REWARD and most < LARGEST_REWARD):  # NaN fails as well
        wrong = int(np.argmin(np.abs(values) < LARGEST_REWARD))
        raise ValueError(
            f"rewards[{wrong}]={given[wrong]} must be finite and below {LARGEST_REWARD:g} in size; "
            "to drop the decision, forget it"
        )
    wrong_at = first_outside(values, support_of(policy))
    if wrong_at is not None:
        raise refusal(policy, f"rewards[{wrong_at}]={given[wrong_at]}")
    return values


def _array(values: npt.ArrayLike, name: str, kinds: str, what: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:  # nested lists of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list or a one-dimensional array of {what}")
    if array.size > 0 and array.dtype.kind not in kinds:
        raise ValueError(f"{name} must be {what}, not {array.dtype}")
    return array


def _whole_numbers(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    return _array(values, name, "iu", "whole numbers")


def _first_outside(numbers: npt.NDArray[Any], limit: int) -> int | None:
    """Return the position of the first number that is not one of 0 … limit − 1, or None."""
    if numbers.size == 0 or (numbers.min() >= 0 and numbers.max() < limit):
        return None
    return int(np.argmax((numbers < 0) | (numbers >= limit)))


def check_all_arms(context: object, among: object, without: object) -> None:
    """Raise a TypeError for a context, or if a call says which arms may be chosen."""
    if context is not None:
        raise no_context()
    if among is not None or without is not None:
        raise TypeError(
            "the bandits of a fleet choose among all their arms; for a decision among some, take a "
            "copy of the bandit out of the fleet: fleet.bandit(i).ask(among=…)"
        )
