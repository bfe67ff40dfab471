"""What a live bandit notes beside its policy's record: for its users, not for the policy."""

from typing import Any

import numpy as np

from lastblock.core.last_round import BEGINNING, LEADER, SINCE, TAKEN, WANTED, beginning
from lastblock.core.layout import NOBODY
from lastblock.core.reward_stats import COLUMNS, Told
from lastblock.live.labels import SLACK

LARGEST_EXACT = 2.0**53
"""Counts are floats, which are exact up to this number."""


class Notes:
    """Rewards and floors of each arm, and the last round, as arrays.

    Parameters
    ----------
    state
        The layout of the record.
    room
        The number of arms that the record has room for.
    """

    def __init__(self, state: np.dtype[Any], room: int) -> None:
        self.told = np.zeros((room, COLUMNS))
        self.floor = np.zeros(room)
        self.planned = np.zeros(BEGINNING + beginning(state, room), np.uint64)
        self.planned[LEADER] = NOBODY

    @property
    def leader(self) -> int | None:
        """The place of the leader in the record; None if the policy has no leader."""
        leader = int(self.planned[LEADER])
        return None if leader == NOBODY else leader

    @property
    def since(self) -> int:
        """The decision for which the leader became the leader."""
        return int(self.planned[SINCE])

    def told_of(self, arm: int) -> Told:
        """Return the statistics of an arm's rewards."""
        pulls, *others = self.told[arm].tolist()
        return Told(int(pulls), *others)

    def copy(self) -> "Notes":
        """Return an independent copy."""
        other = Notes.__new__(Notes)
        other.told, other.floor = self.told.copy(), self.floor.copy()
        other.planned = self.planned.copy()
        return other

    def check(self, arms: int) -> None:
        """Raise a ValueError unless these can be the notes of a bandit with `arms` arms."""
        counts, floor = self.told[:, 0], self.floor
        if not np.all((counts >= 0.0) & (counts <= LARGEST_EXACT) & (counts % 1.0 == 0.0)):
            raise ValueError("its counts of rewards are not whole numbers")
        if not (np.all(floor >= 0.0) and floor.sum() <= 1.0 + SLACK):  # NaN fails as well
            raise ValueError("its traffic floors do not lie between 0 and 1")
        leader, taken, wanted = self.planned[[LEADER, TAKEN, WANTED]].tolist()
        if (leader >= arms and leader != NOBODY) or max(taken, wanted) >= arms:
            raise ValueError("its last round names an arm that does not exist")

    def keep(self, new: "Notes", kept: list[int]) -> None:
        """Fill `new`, the notes after arms came or went; `kept` are the places of those that stay.

        The last round is not kept.
        """
        new.told[: len(kept)] = self.told[kept]
        new.told[len(kept) :] = 0.0
        new.floor[: len(kept)] = self.floor[kept]
        new.floor[len(kept) :] = 0.0
        new.planned[:] = 0
        new.planned[SINCE] = self.planned[SINCE]
        new.planned[LEADER] = kept.index(self.leader) if self.leader in kept else NOBODY

    def grow(self, new: "Notes") -> None:
        """Fill `new`, the notes of a record with longer histories."""
        new.told[:], new.floor[:], new.planned[:] = self.told, self.floor, self.planned
