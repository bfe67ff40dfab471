"""The parameters of a fleet: checked, and as plain data for its file."""

from pathlib import Path
from typing import Any

import numpy as np

from lastblock.core.layout import fleet_dtype, grows, layout_id
from lastblock.core.protocol import Policy, States
from lastblock.core.registry import build, describe, require_policy
from lastblock.engine.sound_records import first_fault
from lastblock.fleet import file
from lastblock.fleet.batch_input import LARGEST_FLEET
from lastblock.kernels.streams import STREAM_WORDS, Stream
from lastblock.support.checks import at_least, whole
from lastblock.support.errors import UNREADABLE

CHECKED_AT_ONCE = 1 << 12
"""The number of records that are checked at a time."""


class FleetPlan:
    """The policy, arms, size, seed and horizon of a fleet, and the layout of its records.

    Parameters
    ----------
    policy, arms, size, horizon
        As in `Fleet`.
    key
        The seed, as four words.
    """

    def __init__(
        self, policy: Policy, arms: int, size: int, key: Stream, horizon: int | None
    ) -> None:
        require_policy(policy)
        self.policy, self.key = policy, key
        self.arms, self.size = whole(arms, "arms"), whole(size, "size")
        self.horizon = None if horizon is None else whole(horizon, "horizon")
        self.grows = grows(policy, self.arms)
        if not 1 <= self.size <= LARGEST_FLEET:
            raise ValueError(f"size={size} must lie between 1 and {LARGEST_FLEET}")
        if self.grows and self.horizon is None:
            raise ValueError(
                f"{type(policy).__name__} keeps every reward, and the records of a fleet do not "
                "grow; give horizon=…, the number of rewards per arm that a record holds"
            )
        if self.horizon is not None:
            at_least(1, self.horizon, "horizon")
        self.dtype = fleet_dtype(policy, self.arms, self.horizon)
        self.is_limited = self.grows or self.dtype != fleet_dtype(policy, self.arms, None)
        """Whether a record has room for so many rewards of an arm, and no more."""

    def new_records(self) -> States:
        """Return the records of a new fleet, or raise a MemoryError."""
        try:
            return np.zeros(self.size, self.dtype)
        except (MemoryError, ValueError):  # ValueError: more than numpy can count
            raise MemoryError(
                f"size={self.size} bandits take {self.nbytes} bytes, more memory than there is; "
                "choose a smaller size, a shorter horizon or a policy with smaller records"
            ) from None

    @property
    def nbytes(self) -> int:
        """The size of all records in bytes."""
        return self.size * self.dtype.itemsize

    def about(self) -> dict[str, Any]:
        """Return the plan as plain data, for a file."""
        return {
            "policy": describe(self.policy),
            "layout": layout_id(self.dtype),
            "arms": self.arms,
            "size": self.size,
            "horizon": self.horizon,
            "key": self.key.tolist(),
        }


def read_fleet(path: Path) -> tuple[FleetPlan, States]:
    """Return the plan and the records in a file, or raise a `StateFileError`."""
    about, records = file.read(path)
    try:
        key = np.array(about["key"], np.uint64)
        if key.shape != (STREAM_WORDS,):
            raise ValueError(f"its seed does not have {STREAM_WORDS} words")
        policy: Any = build(about["policy"])
        plan = FleetPlan(policy, about["arms"], about["size"], key, about["horizon"])
        if about["layout"] != layout_id(plan.dtype) or records.size != plan.nbytes:
            name = type(plan.policy).__name__
            raise ValueError(f"its records have another layout than those of {name} here")
        states = records.view(plan.dtype)
        for first in range(0, plan.size, CHECKED_AT_ONCE):
            _check(plan, states[first : first + CHECKED_AT_ONCE], first)
    except UNREADABLE as error:
        raise file.does_not_fit(path, error) from error
    return plan, states


def _check(plan: FleetPlan, states: States, first: int) -> None:
    """Raise a ValueError unless kernels can work on these records, from number `first` on.

    The records of bandits that were never asked are zeros.
    """
    begun = states["round"] != 0
    numbers, idle = np.flatnonzero(begun), np.flatnonzero(~begun)
    fault = first_fault(states[numbers], plan.arms) if numbers.size else None
    if fault is not None:
        raise ValueError(f"in the record of bandit {first + numbers[fault.number]}, {fault.what}")
    contents = states.view(np.ndarray).view(np.uint8).reshape(states.size, plan.dtype.itemsize)
    wrong = idle[contents[idle].any(axis=1)]
    if wrong.size:
        raise ValueError(f"bandit {first + wrong[0]} has not begun, but its record is not empty")
