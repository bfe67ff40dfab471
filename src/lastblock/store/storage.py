"""What a store needs from a database. We have one storage for SQLite and one for PostgreSQL.

A storage keeps rows and bytes, and does not know what a bandit is. Its methods raise a `StoreError`
with a message of one line; then nothing has been written.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.engine.events import KINDS
from lastblock.live.labels import Label
from lastblock.support.errors import StoreError

Row: TypeAlias = tuple[int, int, int, int, int | None, int | None, Any]
"""An event in the form in which it is stored:

- the number of the bandit;
- the number of the event, 1, 2, … for each bandit;
- the time, in microseconds since 1970;
- the kind, as a place in `KINDS`;
- the id of the decision, or None;
- the arm, as its place among all arms of the bandit, including retired ones, or None;
- a value: the probability of an ask, the reward of a tell; otherwise JSON: the label of a new arm,
  or the words of a new seed.

It is a plain tuple because each call makes one, and tuples are quickest to make."""


Out: TypeAlias = tuple[int, int, float | None, int | None]
"""A decision that is out: its id, the number of its arm, its probability, and its time."""

NoteRow: TypeAlias = tuple[int, int, int, int | None, int | None, str | None]
"""The event, time, kind, decision, arm and JSON of an event that is not an ask, tell or forget."""


MOST_LOSSES = 200
"""How many losses a store remembers; all are in the log of the program."""


class TakenOverError(StoreError):
    """Raised if this store no longer owns some bandits, so that it may not write their events.

    Parameters
    ----------
    stories
        What happened to each, and what to do, by the bandit's number.
    """

    def __init__(self, stories: Mapping[int, str]) -> None:
        super().__init__("; ".join(stories.values()))
        self.stories = dict(stories)

    @property
    def bandits(self) -> frozenset[int]:
        """The numbers of the bandits."""
        return frozenset(self.stories)

    def among(self, bandits: Collection[int]) -> "TakenOverError":
        """Return the error for those of some bandits that it concerns."""
        return TakenOverError(
            {each: self.stories[each] for each in self.stories if each in bandits}
        )


class DamagedError(StoreError):
    """Raised if the stored data of some bandits are damaged; all others can be opened.

    Parameters
    ----------
    reasons
        What is wrong with each, and what to do, by its name.
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        first, *more = reasons.values()
        others = ", ".join(map(repr, list(reasons)[1:]))
        super().__init__(f"{first} (and {len(more)} more: {others})" if more else first)
        self.reasons = dict(reasons)


class Snapshot(NamedTuple):
    """A bandit as it was after event `event`, with only its latest decisions that are out.

    For decisions before `since`, the storage knows which were out at its last snapshot. The events
    say which of these have been answered, and which later ones are out.
    """

    bandit: int
    event: int
    next_id: int  # of the next decision after it
    policy: str  # JSON
    layout: str
    body: bytes
    since: int = 0
    out: Sequence[Out] = ()  # those of which an "ask" does not tell all, and perhaps others
    remembers: int = 1 << 62  # the first event that must be kept for the bandit's memory
    reserved: int = 0  # ids below may have been given; only `create` writes it

    def after(self, earlier: "Snapshot | None") -> "Snapshot":
        """Return this snapshot, with what is out in an `earlier` one that may not be stored yet."""
        if earlier is None:
            return self
        older = [each for each in earlier.out if each[0] < self.since]
        return self._replace(out=(*older, *self.out))


class Part(NamedTuple):
    """Some of a bandit's events, in order."""

    run: npt.NDArray[np.float64]
    """One row per event: kind, decision, arm, and reward or probability (−1 if it has none)."""

    times: npt.NDArray[np.float64]
    """The time of each event."""

    changes: Sequence[tuple[int, NoteRow]]
    """The events that are not an ask, tell or forget, each with its row in `run`."""


class Tally(NamedTuple):
    """What happened to an arm in a stretch of time."""

    stretch: int
    """The number of the stretch: the time divided by its length."""
    arm: int
    """The place of the arm among all arms of the bandit, including retired ones."""
    asked: int
    """How many decisions were for it."""
    told: int
    """How many rewards it had."""
    total: float
    """The sum of these rewards."""
    squares: float
    """The sum of their squares."""


class Milestone(NamedTuple):
    """An event that changed the arms or the floors of a bandit."""

    time: int
    """In microseconds since 1970."""
    kind: int
    """One of `MILESTONES`."""
    arm: int | None
    """The place of the arm among all arms of the bandit, including retired ones."""


MILESTONES = tuple(
    KINDS.index(kind) for kind in ("add_arm", "retire_arm", "pause_arm", "resume_arm", "set_floors")
)
MOST_MILESTONES = 100


class Kept(NamedTuple):
    """What a storage keeps of a bandit in one row, by the names of its columns."""

    policy: str
    layout: str
    snapshot: bytes
    last_event: int
    next_id: int
    beginning: bytes | None
    first_event: int | None
    first_id: int | None
    reserved: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Kept":
        """Return what is kept of a new bandit."""
        policy, layout, body = snapshot.policy, snapshot.layout, snapshot.body
        begin = snapshot.event, snapshot.next_id
        return cls(policy, layout, body, *begin, None, None, None, snapshot.reserved)


class Copy(NamedTuple):
    """Everything that a storage has of a bandit, except its events."""

    kept: Kept
    arms: Sequence[Label]
    pending: Sequence[tuple[int, int, float | None, int | None, int | None]]
    """Decision, arm, probability, the snapshot since which it is not out any more, and the time."""


class Cut(NamedTuple):
    """How to repair a bandit whose later events are damaged."""

    event: int
    """The last event to keep."""
    is_first: bool
    """Whether to go back to the earliest snapshot."""
    policy: Any
    """The policy as that snapshot has it."""
    layout: str
    """The layout of its record."""
    labels: Sequence[Label]
    """The labels of all arms after that event."""
    given: int
    """Ids below may have been given."""


class BanditHolder(NamedTuple):
    """A bandit, and the store that has it open."""

    number: int
    """The number of the bandit."""
    holder: str
    """The name of the store that has it, as `Storage.holder`; empty if nobody has."""


class Document(NamedTuple):
    """A JSON document that a storage keeps beside the bandits."""

    version: int
    """How often it was written."""
    body: str


class View(Protocol):
    """Bandits and their events as they were at one moment, even if others write meanwhile."""

    @property
    def label(self) -> str:
        """The name of the storage in messages."""

    def names(self) -> dict[str, int]:
        """Return the number of each bandit, by name."""

    def read_ahead(self, bandits: Sequence[int]) -> None:
        """Read what opening these bandits takes, if it is quicker to read all of that together."""

    def snapshot(self, bandit: int, *, first: bool = False) -> Snapshot:
        """Return the latest snapshot; with `first`, the earliest whose later events all exist."""

    def pending(self, bandit: int, *, first: bool = False) -> list[Out]:
        """Return the decisions that were out at the snapshot that `snapshot` returns, in order."""

    def keeps(self, bandit: int) -> bool:
        """Return whether all events after the earliest snapshot are kept."""

    def move_on(self) -> None:
        """Move to a later moment.

        Who reads for long, and only events that are kept, should call this often: the database
        cannot clear its log beyond the moment of the oldest view.
        """

    def check_owned(self, bandit: int, event: int) -> None:
        """Raise a `TakenOverError` if the storage did not own the bandit at this moment.

        Or if the bandit's log ended before event `event`, which the storage has written: then the
        database went back to an earlier state.
        """

    def last(self, bandit: int) -> int:
        """Return the number of the last event; 0 if there is none."""

    def since_snapshot(self, bandit: int) -> dict[int, int]:
        """Return the number of events of each kind after the latest snapshot."""

    def last_time(self, bandit: int) -> int | None:
        """Return the time of the last event that is kept, in microseconds since 1970, or None."""

    def asked_at(self, bandit: int, decision: int) -> int | None:
        """Return the number of the event that asked for a decision; None if it is not there."""

    def part(self, bandit: int, after: int, size: int) -> Part:
        """Return up to `size` events after event `after`."""

    def rows(self, bandit: int, after: int, size: int) -> list[Row]:
        """Return up to `size` events after event `after`, as complete rows."""

    def notes(self, bandit: int, first: int, last: int) -> list[NoteRow]:
        """Return the events of the kinds `REMEMBERED` from event `first` to event `last`."""

    def time(self, bandit: int, event: int) -> int | None:
        """Return the time of an event, in microseconds since 1970; None if it is not there."""

    def tally(self, bandit: int, after: int, until: int, length: int) -> list[Tally]:
        """Count decisions and rewards of the events after `after` up to `until`.

        They are counted for each arm and each stretch of `length` microseconds, by the database:
        so the time of a large log is spent there.
        """

    def milestones(self, bandit: int, after: int, until: int) -> list[Milestone]:
        """Return the events that change a bandit's arms or floors, oldest first.

        They come after event `after`, up to `until`; the latest `MOST_MILESTONES` at most.
        """

    def arms(self, bandit: int) -> list[Label]:
        """Return the labels of all arms, including retired ones."""

    def documents(self, collection: str) -> dict[str, Document]:
        """Return the documents of a collection, by name."""

    def copy(self, bandit: int) -> Copy:
        """Return everything of a bandit but its events, for another storage."""


class Storage(Protocol):
    """Bandits by number, their events, and who owns them."""

    @property
    def label(self) -> str:
        """The name of the storage in messages."""

    @property
    def secret(self) -> bytes:
        """Random bytes that were made with the storage, for the checks in tokens."""

    def view(self, *, even_lost: bool = False) -> AbstractContextManager[View]:
        """Return a view to read from; others can write meanwhile.

        With `even_lost`, return one even while `is_lost`: a bandit must be able to return to its
        state before a call.
        """

    def create(self, name: str, snapshot: Snapshot, arms: Sequence[Label]) -> int:
        """Add a bandit with a new name, and return its number; `snapshot.bandit` is ignored."""

    def receive(self, name: str, copy: Copy, parts: Iterable[Sequence[Row]]) -> None:
        """Add a bandit of another storage, and its events; the number in the rows is ignored."""

    def delete(self, bandit: int) -> None:
        """Remove a bandit and its events."""

    def own(self, bandits: Sequence[int]) -> dict[int, str]:
        """Take bandits until `disown`, `close` or the end of this process, however it ends.

        Returns words for where bandits are open already; those that are not there are taken.
        """

    @property
    def holder(self) -> str:
        """The name of this store among the owners; empty if others cannot know it."""

    def holders(self) -> dict[str, BanditHolder]:
        """Return who has each bandit, by its name; nothing on a database that cannot tell."""

    def check_owned(self, bandit: int) -> None:
        """Raise a `StoreError` if this store may not take decisions for a bandit now.

        It is a `TakenOverError` if another store has the bandit.
        """

    def reserve(self, ends: Mapping[int, int]) -> None:
        """Note that some bandits may give ids below these from now on, and write it to the disk.

        The store skips them when it opens such a bandit after a crash, which may have lost some.
        """

    @property
    def losses(self) -> Sequence[str]:
        """What a database has lost that went back to an earlier state, a sentence for each bandit.

        Only the latest, and only what this store has noticed.
        """

    def disown(self, bandit: int) -> None:
        """Let others own a bandit."""

    def write(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """Write everything or nothing. A snapshot's events are stored already, or among `rows`."""

    def cut_off(self, bandit: int, cut: Cut) -> None:
        """Remove a bandit's events after one, and everything that they have left."""

    def put_document(self, collection: str, name: str, body: str, expected: int | None) -> int:
        """Write a document and return its version, one more than that of the one it replaces.

        With `expected`, only if the document has this version now, 0 if there is none; else
        return 0 and change nothing.
        """

    def drop_document(self, collection: str, name: str) -> bool:
        """Remove a document; return whether there was one."""

    @property
    def is_remote(self) -> bool:
        """Whether it is a server: a commit takes long, so that calls of threads should share one,
        and the right to decide may end, so that every change must begin with `check_owned`."""

    @property
    def is_lost(self) -> bool:
        """Whether the file was moved, deleted or replaced, so that nothing can be written."""

    def close(self) -> None:
        """Close files and release locks; closing twice is not an error."""

    def abandon(self) -> None:
        """In the child of a fork: own nothing, and leave the parent's connection alone."""
