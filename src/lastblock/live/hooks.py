"""Functions that a live bandit calls after each change: for metrics, logs and alarms."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeAlias

from lastblock.live.labels import L
from lastblock.support.json_safe import json_fields


class BanditEvent(NamedTuple, Generic[L]):
    """A change of a bandit, as the functions given to `Bandit.on_event` receive it."""

    kind: str
    """"ask", "tell", "forget", "observe", "add_arm", "retire_arm", "pause_arm", "resume_arm",
    "set_floors", "reseed", "partial" or "activate"."""
    id: int | None
    """The id of the decision that was asked for, told or forgotten; otherwise None."""
    arm: L | None
    """The label of the arm of the decision or observation, or of the arm that came or went."""
    value: float | None
    """The reward of a "tell", "partial" or "observe"; the probability of an "ask", None without
    floors."""

    def to_dict(self) -> dict[str, object]:
        """Return the event as values for JSON."""
        return json_fields(self)


Hook: TypeAlias = Callable[[BanditEvent[Any]], object]
