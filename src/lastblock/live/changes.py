"""The changes of the world that a live bandit's policy has noticed, for users to read."""

from collections.abc import Sequence
from typing import Generic, NamedTuple

from lastblock.core.protocol import Record
from lastblock.core.restarts import last_changes
from lastblock.live.labels import L
from lastblock.support.json_safe import json_fields


class Change(NamedTuple, Generic[L]):
    """A change of the world that a policy noticed, and at which it forgot what came before."""

    decision: int
    """The decision around which the world changed. It is an estimate from the number of the arm's
    rewards since then, as if every reward had come at once."""
    noticed: int
    """The number of the latest decision when the policy noticed the change."""
    arm: L | None
    """The arm whose rewards revealed the change; None if it has been retired since."""
    old: float
    """The mean of that arm before the change."""
    new: float
    """The mean of that arm since the change."""

    def __str__(self) -> str:
        around = f"{self.decision:,}".replace(",", " ")
        who = "an arm since retired" if self.arm is None else repr(self.arm)
        return (
            f"The world changed around decision {around}; what came before is forgotten "
            f"({who} gave it away: mean {self.old:.4g} before, {self.new:.4g} since)."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the change as values for JSON."""
        return json_fields(self)


def changes_of(s: Record, labels: Sequence[L]) -> tuple[Change[L], ...]:
    """Return the last few changes in a record, oldest first; none if its policy never restarts."""
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
    """Return the last change in a record, or None."""
    changes = changes_of(s, labels)
    return changes[-1] if changes else None
