"""What a live bandit hands out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

from lastblock.live.labels import L


@dataclass(slots=True)
class Decision(Generic[L]):
    """An arm to pull, and the number under which its reward is reported.

    It cannot be hashed; to keep decisions in a dictionary, take their `id` as the key.
    """

    # Not a named tuple, nor frozen: those take a tenth of ask and tell to make and to read. What
    # can be changed must not be hashed: a dictionary would lose it.

    arm: L
    id: int
    probability: float | None = None
    """With which the arm was chosen, where a traffic floor makes it known."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.arm, self.id, self.probability))


class Pending(NamedTuple, Generic[L]):
    """A decision whose reward is still out."""

    arm: L
    id: int
    probability: float | None
    age: int
    """Decisions asked for since."""
