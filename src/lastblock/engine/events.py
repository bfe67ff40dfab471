"""What happens to a bandit, as plain data: given the same beginning, the same events make the same
bytes."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Event: TypeAlias = tuple[str, int | None, int | None, Any]
"""The kind of a change, the decision, the arm, and what else there is to say:

("ask", decision, arm, probability or None), ("tell", decision, arm, reward),
("forget", decision, arm, None), ("add_arm", None, arm, label), ("retire_arm", None, arm, None) or
("reseed", None, None, words).

An arm is a number here: its place among all arms that there ever were."""

Journal: TypeAlias = Callable[[Sequence[Event]], None]

KINDS = ("ask", "tell", "forget", "add_arm", "retire_arm", "reseed")
ASK, TELL, FORGET = 0, 1, 2
"""Places in `KINDS`. These three are most of all events; the others change who takes part."""

NO_CHANCE = -1.0
"""Stands for a probability of None where there must be a number."""
