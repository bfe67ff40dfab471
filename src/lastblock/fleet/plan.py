"""The parameters of a fleet: checked, and as plain data for its file."""

from typing import Any

import numpy as np

from lastblock.core.layout import fleet_dtype, grows, layout_id
from lastblock.core.protocol import Policy, States
from lastblock.core.registry import build, describe, require_policy
from lastblock.fleet.batch_input import LARGEST_FLEET
from lastblock.fleet.file import FleetFile
from lastblock.fleet.messages import does_not_fit
from lastblock.kernels.streams import STREAM_WORDS, Stream
from lastblock.support.checks import at_least, whole
from lastblock.support.errors import UNREADABLE


class FleetPlan:
    """The policy, arms, size, seed and horizon of a fleet, and the layout of its records.

    Parameters
    ----------
    policy, arms, size, horizon
        As in `Fleet`.
    key
        The seed, as four words.
    sealed
        Whether records have a seal. Those in a file do, unless its format is older; those in memory
        do not need one.
    """

    def __init__(
        self,
        policy: Policy,
        arms: int,
        size: int,
        key: Stream,
        horizon: int | None,
        *,
        sealed: bool,
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
        self.dtype = fleet_dtype(policy, self.arms, self.horizon, sealed=sealed)
        unlimited = fleet_dtype(policy, self.arms, None, sealed=sealed)
        self.is_limited = self.grows or self.dtype != unlimited
        """Whether a record has room for so many rewards of an arm, and no more."""

    @property
    def is_sealed(self) -> bool:
        """Whether records have a seal."""
        return "seal" in (self.dtype.names or ())

    def new_records(self) -> States:
        """Return the records of a new fleet in memory, or raise a MemoryError."""
        try:
            return np.zeros(self.size, self.dtype)
        except (MemoryError, ValueError):  # ValueError: more than numpy can count
            raise MemoryError(
                f"size={self.size} bandits take {self.nbytes} bytes, more memory than there is; "
                "choose a smaller size, or keep them in a file with Fleet.create()"
            ) from None

    @property
    def state_size(self) -> int:
        """The size of a record in bytes."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The size of all records in bytes."""
        return self.size * self.state_size

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

    @classmethod
    def read(cls, about: dict[str, Any], *, sealed: bool) -> "FleetPlan":
        """Return the plan that `about` describes, or raise an error if it does not fit."""
        key = np.array(about["key"], np.uint64)
        if key.shape != (STREAM_WORDS,):
            raise ValueError(f"its seed does not have {STREAM_WORDS} words")
        plan = cls(
            build(about["policy"]),
            about["arms"],
            about["size"],
            key,
            about["horizon"],
            sealed=sealed,
        )
        if about["layout"] != layout_id(plan.dtype):
            name = type(plan.policy).__name__
            raise ValueError(f"its records have another layout than those of {name} here")
        return plan


def plan_in(file: FleetFile) -> FleetPlan:
    """Return the plan of the fleet in a file; if it does not fit, close the file and say so."""
    try:
        return FleetPlan.read(file.about, sealed=file.version > 1)
    except UNREADABLE as error:
        file.close()
        raise does_not_fit(file.path, error) from error
