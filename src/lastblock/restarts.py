"""What a policy that restarts remembers of its restarts, for whoever wants to know.

A policy with `restart_fields` in its layout has a counter, `s.restarts`, and the last few restarts
in `s.changes`. Decisions are counted from 1.
"""

from typing import Any, NamedTuple

import numpy as np

from lastblock.jit import kernel
from lastblock.protocol import Layout, Record
from lastblock.state import ARM, NOBODY, record

REMEMBERED = 8


class Change(NamedTuple):
    """One restart."""

    noticed: int
    """The decision after which it was noticed."""
    since: int
    """The first decision that still counts; about there the arm changed."""
    arm: int | None
    """The number of the arm that gave it away; None if it has left."""
    old: float
    """The arm's mean before …"""
    new: float
    """… and since."""


def restart_fields() -> Layout:
    """A counter, and a ring of the last restarts."""
    ring = record(
        [
            ("noticed", np.int64, (REMEMBERED,)),
            ("since", np.int64, (REMEMBERED,)),
            ("arm", ARM, (REMEMBERED,)),
            ("old", np.float64, (REMEMBERED,)),
            ("new", np.float64, (REMEMBERED,)),
        ]
    )
    return [("restarts", np.int64), ("changes", ring)]


@kernel
def clear_restarts(s: Record) -> None:
    """None so far."""
    s.restarts = 0
    ring = s.changes
    for i in range(REMEMBERED):
        ring.noticed[i] = 0
        ring.since[i] = 0
        ring.arm[i] = 0
        ring.old[i] = 0.0
        ring.new[i] = 0.0


@kernel
def note_restart(s: Record, noticed: int, since: int, arm: int, old: float, new: float) -> None:
    """Count a restart and remember it; the oldest one is forgotten."""
    ring = s.changes
    i = s.restarts & (REMEMBERED - 1)
    ring.noticed[i] = noticed
    ring.since[i] = since
    ring.arm[i] = arm
    ring.old[i] = old
    ring.new[i] = new
    s.restarts += 1


def last_changes(s: Any) -> list[Change]:
    """The restarts that a record remembers, oldest first; none if its policy never restarts."""
    if "restarts" not in (s.dtype.names or ()):
        return []
    ring = s["changes"]
    count = int(s["restarts"])
    return [
        Change(
            noticed=int(ring["noticed"][i % REMEMBERED]),
            since=int(ring["since"][i % REMEMBERED]),
            arm=None if ring["arm"][i % REMEMBERED] == NOBODY else int(ring["arm"][i % REMEMBERED]),
            old=float(ring["old"][i % REMEMBERED]),
            new=float(ring["new"][i % REMEMBERED]),
        )
        for i in range(max(0, count - REMEMBERED), count)
    ]
