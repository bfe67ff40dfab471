"""The layout of a state record: a header that every policy shares, then the fields of the policy.

The header holds the random stream, the round, and the queue of arms that the round will pull. Its
counters are:

- `queued` and `taken`: the length of the round's queue, and how much of it has been handed out;
- `out`: for each arm, the decisions that still wait for their reward. After some time they become
  `stale` and are no longer waited for, see `rounds.stop_waiting`;
- `lost`: for each arm, the decisions that were forgotten since its last reward;
- `told` and `unanswered`, in the records of a fleet only: for each arm, the rewards, and all
  decisions that are out, including stale ones. Elsewhere these fields are empty.

In a simulation no decision is out when a round is planned, and none is lost. Live, rewards may come
late or never.
"""

import hashlib
from typing import Any

import numpy as np

from lastblock.core.checked import MARK, is_checked
from lastblock.core.fields import fields_class
from lastblock.core.protocol import Layout, Policy, check_arms
from lastblock.kernels.record_arrays import STREAM, is_fixed
from lastblock.kernels.record_memory import WORD
from lastblock.kernels.streams import STREAM_WORDS

INDEX = np.uint32
"""Fields that are used as an index: unsigned, so that the compiler leaves out the test for negative
ones. (Arithmetic with whole numbers of other types is signed again.)

A kernel that hands an arm from such a field to other kernels makes it an ``np.int64``, like the
variable of a loop: what takes an arm would be compiled once for each of the two types. Where the
code is copied into its caller, the compiler still sees that the number is not negative."""

# Arms come and go, and are renumbered then. These two types are unsigned as well. What else they
# say is for `resizing`; compiled code sees no difference.

ARM = np.dtype(INDEX, metadata={"holds": "an arm"})
"""A field that holds the number of an arm, or NOBODY; or an array of them."""

LINE = np.dtype(INDEX, metadata={"holds": "a line of arms"})
"""An array with room for all arms that holds each of them once, in some order."""

# What follows is for code that loads a record. Kernels use its numbers as places in memory without
# a test, so the type of each such number says between which bounds it must lie.

LARGEST_COUNTED = 1 << 62
"""The largest count in a sound record: it does not overflow when something is added."""


def within(kind: Any, least: float, most: float = LARGEST_COUNTED) -> np.dtype[Any]:
    """Return a field type whose numbers lie between `least` and `most` in a sound record."""
    bounds: np.dtype[Any] = np.dtype(kind, metadata={"least": least, "most": most})
    return bounds


def below_arms(kind: Any) -> np.dtype[Any]:
    """Return a field type whose numbers lie below the number of arms in a sound record."""
    place: np.dtype[Any] = np.dtype(kind, metadata={"holds": "a place among the arms"})
    return place


COUNT = within(np.int64, 0)
"""A field that counts something, or that says when something happened."""

WEIGHT = within(np.float64, 0)
"""A field that counts with discounted weights, hence not in whole numbers."""

FLAG = within(np.uint8, 0, 1)
"""A field that says yes (1) or no (0)."""

_ROUND = within(np.int64, 0, LARGEST_COUNTED // 2)
_ARMS = np.dtype(np.int64, metadata={"holds": "the number of arms"})

FIRST_ROOM = 1023
"""Rewards of an arm that a live bandit's first record holds, if the policy keeps all of them."""

MOST_STALE = 2**31 - 1
"""The largest number of decisions of an arm that are out and no longer waited for."""

MOST_WAITED_FOR = MOST_STALE - (1 << 20)
"""The largest number of decisions of an arm that are waited for in a sound record."""

NOBODY = INDEX(2**32 - 1)
"""Stands for no arm, in a field that holds an arm."""

_END: Layout = [("end", within(np.uint8, 0, 0))]  # 1 while the record is being started, else 0

HEADER = (
    *("stream", "round", "arms", "queued", "taken", "queue", "out", "stale", "lost"),
    *("told", "unanswered", MARK[0]),
)
"""The fields that every record has, or that say something of its policy as a whole. Records with
the same room for arms have them in the same places, and share the code that needs no others."""

ENGINE_FIELDS = (*HEADER, "end")
"""The names that no field of a policy may have."""


def slots(arms: int) -> int:
    """Return the room for arms in a simulation or fleet: exact up to 16, then up to an eighth more.

    Records are small then, and no arm comes later. For live bandits see `room_for`.
    """
    step = 1 << max(0, (arms - 1).bit_length() - 4)
    return -(-arms // step) * step


def capacity(n: int, at_least: int = 1) -> int:
    """Return the smallest `at_least` · 2ʲ that is at least `n`."""
    size = at_least
    while size < n:
        size *= 2
    return size


def room_for(arms: int) -> int:
    """Return for how many arms a live bandit's record has room: 2, 4, 8, 16, 32 …"""
    return capacity(arms, 2)


def record(fields: Layout) -> np.dtype[Any]:
    """Return the type of a record whose fields read as attributes, compiled or not.

    Fields that take as many bytes for any number of arms lie before the others. Every field starts
    at a multiple of eight bytes, since numpy's own `align` is lost in nested records. The record's
    size is a multiple of eight, too.
    """
    formats = [np.dtype(field[1:] if len(field) > 2 else field[1]) for field in fields]
    offsets, end = [0] * len(formats), 0
    for place in sorted(range(len(formats)), key=lambda place: not is_fixed(formats[place])):
        offsets[place] = _up(end)
        end = offsets[place] + formats[place].itemsize
    plain: Any = {
        "names": [field[0] for field in fields],
        "formats": formats,
        "offsets": offsets,
        "itemsize": _up(end),
    }
    return np.dtype((fields_class(tuple(plain["names"])), np.dtype(plain)))


def _up(n: int) -> int:
    return -(-n // WORD) * WORD


def state_dtype(
    policy: Policy, arms: int, horizon: int | None = None, room: int | None = None
) -> np.dtype[Any]:
    """Return the type of a bandit's state.

    Parameters
    ----------
    policy
        The bandit's policy.
    arms
        The number of arms.
    horizon
        The number of rewards of an arm that the record must hold. Without one it holds any number
        or, if the policy stores every reward, starts small and grows.
    room
        The number of arms to make room for, if more are to come.

    Raises
    ------
    ValueError
        If the policy cannot play this many arms, or the record would be too large.
    """
    check_arms(policy, arms)
    return record_of(policy, slots(arms if room is None else max(room, arms)), horizon)


def fleet_dtype(policy: Policy, arms: int, horizon: int | None) -> np.dtype[Any]:
    """Return the type of the state of a fleet's bandit, which counts the rewards told."""
    check_arms(policy, arms)
    return record_of(policy, slots(arms), horizon, counts=True)


def grows(policy: Policy, arms: int) -> bool:
    """Return whether a policy's record keeps every reward.

    That of a wrapper does if the wrapped policy's does.
    """
    if not getattr(policy, "grows", False):
        return False
    try:
        longest = record_of(policy, arms, LARGEST_COUNTED)
    except ValueError:  # more rewards than fit into a record
        return True
    return longest.itemsize > record_of(policy, arms, None).itemsize


def record_of(
    policy: Policy,
    room: int,
    horizon: int | None,
    *,
    counts: bool = False,
) -> np.dtype[Any]:
    """Return the type of a policy's whole record, with room for `room` arms.

    A wrapper uses it for the field that holds the wrapped policy's record. `counts` is
    for fleets.
    """
    header: Layout = [
        ("stream", STREAM, (STREAM_WORDS,)),
        ("round", _ROUND),
        ("arms", _ARMS),
        ("queued", within(INDEX, 0, room)),
        ("taken", within(INDEX, 0, room)),
        ("queue", below_arms(INDEX), (room,)),
        ("out", within(np.int64, 0, MOST_WAITED_FOR), (room,)),
        ("stale", within(np.int32, 0, MOST_STALE), (room,)),
        ("lost", COUNT, (room,)),
        ("told", COUNT, (room if counts else 0,)),
        ("unanswered", COUNT, (room if counts else 0,)),
        *([MARK] if is_checked(policy) else []),
    ]
    return record(header + policy.layout(room, horizon) + _END)


def layout_id(dtype: np.dtype[Any]) -> str:
    """Return a short name of a layout: the same for the same fields, order, sizes and places."""
    return hashlib.blake2b(repr(_fields(dtype)).encode(), digest_size=8).hexdigest()


def _fields(dtype: np.dtype[Any]) -> list[Any]:
    fields: Any = dtype.fields
    return [
        (name, offset, *([_fields(part)] if part.names else [part.base.str, part.shape]))
        for name, (part, offset, *_) in fields.items()
        if name != MARK[0]
    ]
