"""What a store needs of a database. SQLite is one; others can be put in its place.

A storage keeps rows and bytes and knows nothing of bandits. What it raises is a `StoreError` that
says what is wrong in one line, and then nothing has been written.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.live.labels import Label

Row: TypeAlias = tuple[int, int, int, int, int | None, int | None, Any]
"""An event, as it is kept:

- the number of the bandit;
- the number of the event, 1, 2, … for each bandit;
- the time, in microseconds since 1970;
- the kind, a place in `KINDS`;
- the decision;
- the arm, its place among all arms that there ever were;
- a value: the probability of an ask, the reward of a tell, else JSON, of the label of a new arm or
  of the words of a new seed.

A plain tuple, since one is made for each call, and others take longer to make."""


class Snapshot(NamedTuple):
    """A bandit as it was after so many events."""

    bandit: int
    event: int
    policy: str  # JSON
    layout: str
    body: bytes


class Part(NamedTuple):
    """Some of a bandit's events, in order."""

    run: npt.NDArray[np.float64]
    """Kind, decision, arm, and reward or probability (−1 for none) of each."""

    changes: Sequence[tuple[int, int | None, Any]]
    """Of those that are neither asks nor tells nor forgets: place in the run, arm, extra."""


class View(Protocol):
    """Bandits and their events as they were at one moment, whoever writes meanwhile."""

    @property
    def label(self) -> str:
        """What messages call the storage."""

    def names(self) -> dict[str, int]:
        """The numbers of all bandits."""

    def snapshot(self, bandit: int, *, first: bool = False) -> Snapshot:
        """The latest one, or the earliest one from which all later events are there."""

    def last(self, bandit: int) -> int:
        """The last event; 0 if there is none."""

    def part(self, bandit: int, after: int, size: int) -> Part:
        """The next so many events after one of them, at most."""

    def rows(self, bandit: int, after: int, size: int) -> list[Row]:
        """The same, with all there is to say of them."""

    def arms(self, bandit: int) -> list[Label]:
        """The labels of all arms that there ever were."""


class Storage(Protocol):
    """Bandits by number, their events, and who owns them."""

    @property
    def label(self) -> str:
        """What messages call it."""

    def names(self) -> dict[str, int]:
        """The numbers of all bandits."""

    def view(self) -> AbstractContextManager[View]:
        """To read in. It does not keep others from writing."""

    def create(self, name: str, snapshot: Snapshot, arms: Sequence[Label]) -> int:
        """A new bandit's number, which `snapshot` does not know yet. The name must be free."""

    def delete(self, bandit: int) -> None:
        """Forget a bandit and its events."""

    def own(self, bandit: int) -> int | None:
        """Take a bandit until `disown`, `close` or the end of this process, however it ends.

        If somebody has it, returns the number of that process; else None.
        """

    def disown(self, bandit: int) -> None:
        """Let others own it."""

    def write(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """All of it or nothing. A snapshot's events are there already, or among the rows."""

    def close(self) -> None:
        """Give everything back. Twice is no error."""

    def abandon(self) -> None:
        """In a child of the process that opened it: touch nothing, own nothing."""
