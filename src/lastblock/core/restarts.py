"""What a policy that restarts notes about its restarts, for `Bandit.changes` and the like.

A policy with `restart_fields` in its layout has a counter, `s.restarts`, and the last few restarts
in `s.changes`. Decisions are counted from 1. All that were handed out count, also those of a
traffic floor, which the policy itself does not count (`s.extra`). A policy may have the counter
`restarts` alone.
"""

from typing import Any, NamedTuple

import numpy as np

from lastblock.core.layout import ARM, COUNT, NOBODY, record
from lastblock.core.protocol import Layout, Record
from lastblock.kernels.jit import in_kernels, kernel

REMEMBERED = 8


class Restart(NamedTuple):
    """A restart of a policy, as `last_changes` reads it from a record."""

    noticed: int
    """The decision after which it was noticed."""
    since: int
    """The decision at about which the arm changed, estimated from its rewards since then."""
    arm: int | None
    """The number of the arm that showed the change; None if it has been removed."""
    old: float
    """The arm's mean before the change."""
    new: float
    """The arm's mean since the change."""


def restart_fields() -> Layout:
    """Return the fields of the record: two counters, and the last few restarts."""
    ring = record(
        [
            ("noticed", np.int64, (REMEMBERED,)),
            ("since", np.int64, (REMEMBERED,)),
            ("arm", ARM, (REMEMBERED,)),
            ("old", np.float64, (REMEMBERED,)),
            ("new", np.float64, (REMEMBERED,)),
        ]
    )
    return [("restarts", COUNT), ("extra", COUNT), ("changes", ring)]


@kernel
def clear_restarts(s: Record) -> None:
    """Start with no restarts."""
    s.restarts = 0
    s.extra = 0
    ring = s.changes
    for i in range(REMEMBERED):
        ring.noticed[i] = 0
        ring.since[i] = 0
        ring.arm[i] = NOBODY
        ring.old[i] = 0.0
        ring.new[i] = 0.0


@kernel
def note_restart(s: Record, noticed: int, since: int, arm: int, old: float, new: float) -> None:
    """Count a restart and note it in place of the oldest one.

    `noticed` and `since` are decisions as the policy counts them, `old` and `new` the arm's means.
    """
    ring = s.changes
    i = s.restarts & (REMEMBERED - 1)
    ring.noticed[i] = noticed + s.extra
    ring.since[i] = since + s.extra
    ring.arm[i] = arm
    ring.old[i] = old
    ring.new[i] = new
    s.restarts += 1


def note_extra(s: Record) -> None:
    """Count a decision that was handed out but that the policy does not count."""
    if "extra" in s.dtype.names:
        s.extra += 1
    elif "inner" in s.dtype.names:
        note_extra(s.inner)


@in_kernels(note_extra)
def _note_extra(s: Any) -> Any:
    """Return the body of `note_extra` for kernels, which know the fields when compiled."""
    if not hasattr(s, "fields"):
        return None

    def count(s: Any) -> None:
        s.extra += 1

    if "extra" in s.fields:
        return count
    if "inner" in s.fields:
        return lambda s: note_extra(s.inner)
    return lambda s: None


def restarts_of(s: Record) -> int:
    """Return how often a policy has restarted; −1 if it does not count its restarts."""
    if "restarts" in s.dtype.names:
        return int(s.restarts)
    return restarts_of(s.inner) if "inner" in s.dtype.names else -1


@in_kernels(restarts_of)
def _restarts_of(s: Any) -> Any:
    if not hasattr(s, "fields"):
        return None
    if "restarts" in s.fields:
        return lambda s: s.restarts
    if "inner" in s.fields:
        return lambda s: restarts_of(s.inner)
    return lambda s: -1


def begins_again(s: Any) -> bool:
    """Return whether a policy, or one that it wraps, starts anew with the next decision.

    Such a policy has a flag `due`.
    """
    names = s.dtype.names
    return ("due" in names and bool(s["due"])) or ("inner" in names and begins_again(s["inner"]))


def last_changes(s: Any) -> list[Restart]:
    """Return the last restarts in a record, oldest first; empty if its policy never restarts."""
    while "changes" not in s.dtype.names:
        if "inner" not in s.dtype.names:
            return []
        s = s["inner"]
    ring = s["changes"]
    count = int(s["restarts"])
    return [
        Restart(
            noticed=int(ring["noticed"][i % REMEMBERED]),
            since=int(ring["since"][i % REMEMBERED]),
            arm=None if ring["arm"][i % REMEMBERED] == NOBODY else int(ring["arm"][i % REMEMBERED]),
            old=float(ring["old"][i % REMEMBERED]),
            new=float(ring["new"][i % REMEMBERED]),
        )
        for i in range(max(0, count - REMEMBERED), count)
    ]
