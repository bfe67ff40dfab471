"""What a bandit remembers of answered requests, so that repeating one changes nothing.

An item of the memory is plain data, as the event "remember" has it:

["asked", [key, digest], [[decision, arm, probability], …]]: the decisions of one `ask` with a key,
and a digest of what was asked for;
["told" | "closed" | "forgotten", reward or None, [decision]]: how a decision ended;
["part", [reward, key], [decision]]: one of several rewards, from an event "partial";
["observed", [key, digest], []]: the observations of one call with a key.

Old items are dropped when a new one comes, by the times and numbers of the events alone. So whoever
replays the events has the same memory, and reads no clock.
"""

import json
from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

from lastblock.support.checks import at_least, number
from lastblock.support.errors import short

DAY = 24 * 3600 * 1_000_000
MOST = 100_000
LONGEST_KEY = 300  # over HTTP 255, behind the id of an API key

OBSERVED = "observed"
ENDINGS = ("told", "closed", "forgotten")

Remember: TypeAlias = timedelta | int | tuple[timedelta, int]
Handle: TypeAlias = str | int | tuple[int, str] | tuple[str, str]
"""The key of an `ask`, a decision that has ended, a decision and the key of a reward, or
"observed" and the key of observations."""


class Asked(NamedTuple):
    """The decisions of one `ask` with a key."""

    time: int
    rows: list[list[Any]]
    """For each decision its number, the number of its arm, and its probability."""
    digest: str
    """A digest of what was asked for."""


class Ended(NamedTuple):
    """How a decision ended: `Memory` keeps it, for requests that come again."""

    outcome: str
    reward: float | None


class Item(NamedTuple):
    """Something to remember."""

    event: int
    time: int
    """Microseconds since 1970; 0 outside a store."""
    payload: list[Any]


class Memory:
    """Answers to requests that may be repeated: the latest, up to an age and a number.

    Parameters
    ----------
    window
        The age in microseconds up to which an item is kept.
    decisions
        The number of decisions to remember. Each may take two places: its key and its end. An
        `ask` for several with one key takes one place for each; the last one is remembered
        whatever its size.
    """

    def __init__(self, window: int = DAY, decisions: int = MOST) -> None:
        self.window, self.decisions = window, decisions
        self._items: deque[Item] = deque()  # oldest first
        self._found: dict[Handle, Any] = {}
        self._places = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    @property
    def limits(self) -> list[int]:
        """The window and the number of decisions, as events have them."""
        return [self.window, self.decisions]

    @property
    def since(self) -> int | None:
        """The event of the oldest item; None if there is none."""
        return self._items[0].event if self._items else None

    def oldest(self, default: int) -> int:
        """Return the number of the oldest decision that is remembered; `default` without one."""
        found = (row for item in self._items for row in item.payload[2])
        return min((row if isinstance(row, int) else row[0] for row in found), default=default)

    def asked(self, key: str) -> Asked | None:
        """Return the decisions that were asked for with this key."""
        found: Asked | None = self._found.get(key)
        return found

    def ended(self, decision: int) -> Ended | None:
        """Return how a decision ended."""
        found: Ended | None = self._found.get(decision)
        return found

    def part(self, decision: int, key: str) -> float | None:
        """Return the reward that came with this key for a decision."""
        found: float | None = self._found.get((decision, key))
        return found

    def observed(self, key: str) -> str | None:
        """Return a digest of the observations that came with this key."""
        found: str | None = self._found.get((OBSERVED, key))
        return found

    def add(self, item: Item) -> None:
        """Remember an item, and drop those that are too old by its time, or too many."""
        self.recall(item)
        self.prune(item.time)

    def recall(self, item: Item) -> None:
        """Remember an item and drop none."""
        self._items.append(item)
        self._places += _places(item)
        self._found.update(_handles(item))

    def limit(self, window: int, decisions: int, time: int) -> None:
        """Set how long to remember from now on."""
        self.window, self.decisions = window, decisions
        self.prune(time)

    def prune(self, time: int) -> None:
        """Drop the items that are too old at this time, or too many."""
        items, found, most = self._items, self._found, 2 * self.decisions
        while items and (
            (self._places > most and (len(items) > 1 or not most))
            or items[0].time < time - self.window
        ):
            dropped = items.popleft()
            self._places -= _places(dropped)
            for handle, _ in _handles(dropped):
                found.pop(handle, None)

    def copy(self) -> "Memory":
        """Return an independent memory with the same contents."""
        other = Memory(self.window, self.decisions)
        other._items, other._found = self._items.copy(), self._found.copy()
        other._places = self._places
        return other

    def describe(self) -> list[list[Any]]:
        """Return the items as plain data."""
        return [[item.event, item.time, item.payload] for item in self._items]


def _places(item: Item) -> int:
    return max(1, len(item.payload[2]))


def _handles(item: Item) -> Iterator[tuple[Handle, Any]]:
    what, value, rows = item.payload
    if what == "asked":
        key, digest = value
        yield key, Asked(item.time, rows, digest)
    elif what == "part":
        reward, key = value
        yield (rows[0], key), reward
    elif what == OBSERVED:
        key, digest = value
        yield (OBSERVED, key), digest
    else:
        for decision in rows:
            yield decision, Ended(what, value)


def check_payload(payload: Any, next_id: int, arms: int) -> list[Any]:
    """Return the payload of an event "remember", or raise a ValueError if no bandit wrote it."""
    if type(payload) is not list or len(payload) != 3 or type(payload[2]) is not list:
        raise _strange(payload)
    what, value, rows = payload
    if what == "asked":
        _check_pair(payload)
        for id, arm, chance in rows:
            if not _is_below(id, next_id) or not _is_below(arm, arms):
                raise _strange(payload)
            if chance is not None and not isinstance(chance, float):
                raise _strange(payload)
        return payload
    if what == OBSERVED:
        _check_pair(payload)
        if rows:
            raise _strange(payload)
        return payload
    if len(rows) != 1 or not _is_below(rows[0], next_id):
        raise _strange(payload)
    if what == "part":
        value, key = value
        check_key(key)
    elif what not in ENDINGS:
        raise _strange(payload)
    if value is not None:
        number(value, "reward")
    return payload


def _check_pair(payload: list[Any]) -> None:
    """Raise a ValueError unless the value of an item is a key and a digest."""
    key, digest = payload[1]
    check_key(key)
    if not isinstance(digest, str) or len(digest) > LONGEST_KEY:
        raise _strange(payload)


def digest_of(*values: Any, secret: bytes = b"") -> str:
    """Return a short text that tells a request from others.

    Parameters
    ----------
    values
        What the request asks for, as plain data.
    secret
        Makes a digest by which nobody can guess the values.
    """
    return blake2b(json.dumps(values).encode(), digest_size=12, key=secret).hexdigest()


def _is_below(value: Any, limit: int) -> bool:
    return type(value) is int and 0 <= value < limit


def _strange(payload: Any) -> ValueError:
    return ValueError(f"{short(payload)} is nothing that a bandit remembers")


def check_key(key: Any) -> str:
    """Return a key as it is, or raise a ValueError."""
    if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY:
        raise ValueError(f"key={short(key)} must be text of 1 to {LONGEST_KEY} characters")
    if not key.isprintable():
        raise ValueError(f"key={short(key)} must have printable characters only")
    return key


def check_remember(remember: Any) -> list[int]:
    """Return a window in microseconds and a number of decisions, or raise a ValueError."""
    window, decisions = timedelta(microseconds=DAY), MOST
    if isinstance(remember, timedelta):
        window = remember
    elif hasattr(remember, "__index__"):  # an int, or one of numpy's
        decisions = remember
    elif isinstance(remember, tuple) and len(remember) == 2 and isinstance(remember[0], timedelta):
        window, decisions = remember
    else:
        raise ValueError(
            f"remember={short(remember)} must be a timedelta, a number of decisions, or both as a "
            "tuple: (timedelta(hours=1), 1000)"
        )
    if window < timedelta(0):
        raise ValueError(f"remember={short(remember)} must not be a negative time")
    return [window // timedelta(microseconds=1), at_least(0, decisions, "remember")]
