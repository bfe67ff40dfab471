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


Out: TypeAlias = tuple[int, int, float | None]
"""A decision that is out: its number, the number of its arm, and the probability."""


class Snapshot(NamedTuple):
    """A bandit as it was after so many events; of what is out, only what came since the last one.

    Of the decisions before `since`, the storage knows which were out at its last snapshot, and by
    the events which of these have been answered.
    """

    bandit: int
    event: int
    asked: int  # decisions
    policy: str  # JSON
    layout: str
    body: bytes
    since: int = 0
    out: Sequence[Out] = ()  # of those from `since` on, and older ones that may be out

    def after(self, earlier: "Snapshot | None") -> "Snapshot":
        """The same where the one before has not been stored, or may not have been."""
        if earlier is None:
            return self
        older = [each for each in earlier.out if each[0] < self.since]
        return self._replace(out=(*older, *self.out))


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

    def pending(self, bandit: int, *, first: bool = False) -> list[Out]:
        """Decisions that were out at that snapshot, in order."""

    def generations(self, bandit: int) -> list[tuple[int, int]]:
        """The first decision of each generation, and the generation, in order."""

    def keeps(self, bandit: int) -> bool:
        """Whether all events after the earliest snapshot stay."""

    def move_on(self) -> None:
        """Go to a later moment. Whoever reads for long, and only what stays, should do so often:
        the database cannot clear its log away beyond the moment that somebody reads."""

    def last(self, bandit: int) -> int:
        """The last event; 0 if there is none."""

    def part(self, bandit: int, after: int, size: int) -> Part:
        """Up to `size` events after event `after`."""

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

    def view(self, *, even_lost: bool = False) -> AbstractContextManager[View]:
        """To read in. It does not keep others from writing.

        With `even_lost` also while `is_lost`, for a bandit that must be as it was before a call.
        """

    def create(self, name: str, snapshot: Snapshot, arms: Sequence[Label]) -> int:
        """A new bandit's number, which `snapshot` does not know yet. The name must be free."""

    def delete(self, bandit: int) -> None:
        """Forget a bandit and its events."""

    def own(self, bandit: int) -> int | None:
        """Take a bandit until `disown`, `close` or the end of this process, however it ends.

        If somebody has it, returns the number of that process; else None.
        """

    def begin(self, bandit: int, asked: int, oldest: int) -> list[tuple[int, int]]:
        """Enter a new generation, in which decision `asked` is the first; it is on the disk then.

        Returns all generations that may have decisions out, the oldest of which is `oldest`: the
        first decision of each, and its number.
        """

    def disown(self, bandit: int) -> None:
        """Let others own it."""

    def write(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """All of it or nothing. A snapshot's events are there already, or among the rows."""

    @property
    def is_lost(self) -> bool:
        """Whether the file is not where it was, so that nothing can be written to it."""

    def close(self) -> None:
        """Give everything back. Twice is no error."""

    def abandon(self) -> None:
        """In a child of the process that opened it: touch nothing, own nothing."""
