"""Functions that a live bandit calls after each change: for metrics, logs and alarms."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias

from lastblock.live.labels import L
from lastblock.support.json_safe import json_fields

_log = logging.getLogger("lastblock")


class BanditEvent(NamedTuple, Generic[L]):
    """A change of a bandit, as the functions given to `Bandit.on_event` receive it."""

    kind: str
    """"ask", "tell", "forget", "observe", "add_arm", "retire_arm", "pause_arm", "resume_arm",
    "set_floors", "reseed", "partial" or "activate"."""
    id: int | None
    """The id of the decision that was asked for, told or forgotten; otherwise None."""
    arm: L | None
    """The label of the arm of the decision or observation, or of the arm that came or went."""
    value: float | None
    """The reward of a "tell", "partial" or "observe"; the probability of an "ask", None without
    floors."""

    def to_dict(self) -> dict[str, object]:
        """Return the event as values for JSON."""
        return json_fields(self)


Hook: TypeAlias = Callable[[BanditEvent[Any]], object]


class Hooks:
    """The functions to call, in the order in which they were added."""

    def __init__(self) -> None:
        self._functions: tuple[Hook, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._functions)

    def add(self, function: Hook) -> None:
        """Call `function` from now on, too."""
        if not callable(function):
            raise TypeError(f"{function!r} cannot be called; give a function of one event")
        self._functions = (*self._functions, function)

    def remove(self, function: Hook) -> None:
        """Call `function` once less; do nothing if it is not called."""
        found = list(self._functions)
        if function in found:
            found.remove(function)
            self._functions = tuple(found)

    def call(self, events: Sequence[BanditEvent[Any]]) -> None:
        """Call every function with each event. An error is logged: the change has been made."""
        for event in events:
            for function in self._functions:
                try:
                    function(event)
                except Exception:
                    _log.exception("a function given to on_event() failed on %s", event)
