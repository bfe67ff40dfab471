"""One event of another bandit's life, applied to a bandit."""

from typing import Any, Protocol

import numpy as np

from lastblock.engine.events import KINDS, Event
from lastblock.kernels.streams import STREAM_WORDS
from lastblock.live.decisions import Decision
from lastblock.live.journalled import JournalledDesk


class Changeable(Protocol):
    """What `apply_event` needs of a bandit."""

    def ask(self) -> Decision[Any]: ...
    def tell(self, decision: int, reward: float, /) -> None: ...
    def forget(self, decision: int, /) -> None: ...
    def add_arm(self, label: Any, /) -> None: ...
    def retire_arm(self, label: Any, /) -> None: ...


def apply_event(bandit: Changeable, desk: JournalledDesk[Any], event: Event) -> None:
    """Make a change that another bandit's journal was told, or raise a ValueError."""
    if len(event) != 4 or event[0] not in KINDS:
        raise ValueError(f"event {event!r} is not known")
    kind, id, number, value = event
    if kind == "ask":
        before = desk.copy()
        asked = bandit.ask()
        last = desk.next_id - 1
        if (last, desk.number(last), asked.probability) != (id, number, value):
            desk.become(before)
            raise ValueError(f"event {event!r} does not fit: the bandit gave {asked}")
    elif kind in ("tell", "forget"):
        if id not in desk.out:
            raise desk.unknown(id, -1 if id is None else id)
        if desk.number(id) != number:
            raise ValueError(f"event {event!r} does not fit: that was another arm")
        found = desk.generations.id_of(id)
        bandit.tell(found, value) if kind == "tell" else bandit.forget(found)
    elif kind == "add_arm":
        bandit.add_arm(value)
    elif kind == "retire_arm" and number in desk.numbers:
        bandit.retire_arm(desk.active[desk.numbers.index(number)])
    elif kind == "reseed" and len(value) == STREAM_WORDS:
        desk.settle()
        desk.reseed(np.array(value, np.uint64))
    else:
        raise ValueError(f"event {event!r} does not fit the bandit")
