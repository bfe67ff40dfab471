"""The changes of the world that a live bandit's policy has noticed: labels and decision ids."""

from collections.abc import Sequence
from typing import Generic, NamedTuple

from lastblock.core.protocol import Record
from lastblock.core.restarts import last_changes
from lastblock.live.labels import L


class Change(NamedTuple, Generic[L]):
    """A change of the world, at which a policy has forgotten what came before."""

    decision: int
    """About when, reckoned from the number of the arm's rewards since, as if all came at once."""
    noticed: int
    """The number of the last decision asked for when it was noticed."""
    arm: L | None
    """The arm that gave it away; None if it has been retired since."""
    old: float
    """That arm's mean before …"""
    new: float
    """… and since."""

    def __str__(self) -> str:
        around = f"{self.decision:,}".replace(",", " ")
        who = "an arm since retired" if self.arm is None else repr(self.arm)
        return (
            f"The world changed around decision {around}; what came before is forgotten "
            f"({who} gave it away: mean {self.old:.6g} before, {self.new:.6g} since)."
        )


def changes_of(s: Record, labels: Sequence[L]) -> tuple[Change[L], ...]:
    """The last few changes in a record, oldest first; none if its policy never restarts."""
    return tuple(
        Change(
            decision=restart.since - 1,  # records count decisions from 1, ids begin with 0
            noticed=restart.noticed - 1,
            arm=None if restart.arm is None else labels[restart.arm],
            old=restart.old,
            new=restart.new,
        )
        for restart in last_changes(s)
    )


def last_change(s: Record, labels: Sequence[L]) -> Change[L] | None:
    """The last one, if there is one."""
    changes = changes_of(s, labels)
    return changes[-1] if changes else None
