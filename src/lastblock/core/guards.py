"""What compiled code runs around a checked method of a user's policy.

While the method runs, the record's field `end` says which one it is; when it has returned, the
counters of the engine must be as they were. `core.checked` says why, `core.method_binding` puts
each method within its guard.
"""

from typing import Any

from lastblock.core.checked import (
    FULL,
    HEADER,
    OBSERVE,
    PLAN,
    START,
    RoundError,
    note_method,
    require_round,
)


def start(body: Any) -> Any:
    """Return `start` within its guard."""
    return _queueing(body, START)


def plan(body: Any) -> Any:
    """Return `plan` within its guard."""
    return _queueing(body, PLAN)


def _queueing(body: Any, method: int) -> Any:
    def guarded(self: Any, s: Any) -> None:
        before, arms, round, taken = s.end, s.arms, s.round, s.taken
        note_method(s, method)
        body(self, s)
        if method == START or before == 0:  # `start` checks the round that `plan` queues in it
            require_round(s)
        if s.arms != arms or s.round != round or s.taken != taken:
            raise RoundError(HEADER)
        note_method(s, before)

    return guarded


def observe(body: Any) -> Any:
    """Return `observe` within its guard; it must leave the round's queue alone, too."""

    def guarded(self: Any, s: Any, arm: int, reward: float) -> None:
        before, arms, round, taken, queued = s.end, s.arms, s.round, s.taken, s.queued
        note_method(s, OBSERVE)
        body(self, s, arm, reward)
        if s.arms != arms or s.round != round or s.taken != taken or s.queued != queued:
            raise RoundError(HEADER)
        note_method(s, before)

    return guarded


def full(body: Any) -> Any:
    """Return `full` within its guard."""

    def guarded(self: Any, s: Any, arm: int) -> bool:
        before = s.end
        note_method(s, FULL)
        is_full = bool(body(self, s, arm))
        note_method(s, before)
        return is_full

    return guarded
