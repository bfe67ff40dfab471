"""The events of a bandit as plain data.

From the same state, the same events lead to the same state, byte for byte.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Event: TypeAlias = tuple[str, int | None, int | None, Any]
"""A change as a tuple of its kind, the decision, the arm, and a value. It is one of these:

("ask", decision, arm, probability or None), ("tell", decision, arm, reward),
("forget", decision, arm, None), ("add_arm", None, arm, label), ("retire_arm", None, arm, None) or
("reseed", None, None, words).

An arm is given by its place among all arms of the bandit, including retired ones."""

Journal: TypeAlias = Callable[[Sequence[Event]], None]
"""A function that records events, or raises an error."""

KINDS = ("ask", "tell", "forget", "add_arm", "retire_arm", "reseed")
ASK, TELL, FORGET = 0, 1, 2
"""Places in `KINDS` of the three kinds that make up almost all events."""

NO_CHANCE = -1.0
"""The number that stands for a probability of None."""
