"""What a live bandit notes beside its policy's record, for its users and not for the policy."""

from typing import Any

import numpy as np

from lastblock.core.last_round import BEGINNING, LEADER, SINCE, TAKEN, WANTED, beginning
from lastblock.core.layout import NOBODY
from lastblock.core.reward_stats import Told
from lastblock.live.labels import SLACK

LARGEST_EXACT = 2.0**53
"""Counts are floats, and exact up to here."""


class Notes:
    """The arrays, for a record of this layout with room for so many arms."""

    def __init__(self, state: np.dtype[Any], room: int) -> None:
        self.told = np.zeros((room, 3))
        self.floor = np.zeros(room)
        self.planned = np.zeros(BEGINNING + beginning(state, room), np.uint64)
        self.planned[LEADER] = NOBODY

    @property
    def leader(self) -> int | None:
        """Who leads, if the policy has a leader."""
        leader = int(self.planned[LEADER])
        return None if leader == NOBODY else leader

    @property
    def since(self) -> int:
        """The decision for which it became the leader."""
        return int(self.planned[SINCE])

    def told_of(self, arm: int) -> Told:
        """The rewards of an arm."""
        pulls, mean, spread = self.told[arm].tolist()
        return Told(int(pulls), mean, spread)

    def copy(self) -> "Notes":
        """The same, independent."""
        other = Notes.__new__(Notes)
        other.told, other.floor = self.told.copy(), self.floor.copy()
        other.planned = self.planned.copy()
        return other

    def check(self, arms: int) -> None:
        """Raise a ValueError unless these can be the notes of a bandit with so many arms."""
        counts, floor = self.told[:, 0], self.floor
        if not np.all((counts >= 0.0) & (counts <= LARGEST_EXACT) & (counts % 1.0 == 0.0)):
            raise ValueError("its counts of rewards are not whole numbers")
        if not (np.all(floor >= 0.0) and floor.sum() <= 1.0 + SLACK):  # NaN fails as well
            raise ValueError("its traffic floors do not lie between 0 and 1")
        leader, taken, wanted = self.planned[[LEADER, TAKEN, WANTED]].tolist()
        if (leader >= arms and leader != NOBODY) or max(taken, wanted) >= arms:
            raise ValueError("its last round is one of other arms")

    def keep(self, new: "Notes", kept: list[int]) -> None:
        """Fill other notes, after arms came or went; the round that was planned is gone."""
        new.told[: len(kept)] = self.told[kept]
        new.told[len(kept) :] = 0.0
        new.floor[: len(kept)] = self.floor[kept]
        new.floor[len(kept) :] = 0.0
        new.planned[:] = 0
        new.planned[SINCE] = self.planned[SINCE]
        new.planned[LEADER] = kept.index(self.leader) if self.leader in kept else NOBODY

    def grow(self, new: "Notes") -> None:
        """Fill the notes of a record with longer histories."""
        new.told[:], new.floor[:], new.planned[:] = self.told, self.floor, self.planned
