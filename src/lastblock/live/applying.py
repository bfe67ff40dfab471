"""The part of a live bandit that writes events to a journal and applies those of another one."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from lastblock.engine.events import KINDS, NOTES, OBSERVE, Event, Journal
from lastblock.kernels.streams import STREAM_WORDS
from lastblock.live.decisions import Decision
from lastblock.live.eligibility import restricted_places
from lastblock.live.floor_events import floors_by_label
from lastblock.live.hooks import Hook
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import L
from lastblock.live.ledger import check_note
from lastblock.live.view import BanditView
from lastblock.support.errors import UNREADABLE, short

_OF_AN_ARM = ("retire_arm", "pause_arm", "resume_arm", OBSERVE)


class Changeable(Protocol):
    """What `apply_event` needs of a bandit."""

    _desk: Any

    def ask(self, *, among: Any = None) -> Decision[Any]: ...
    def tell(self, decision: int, reward: float, /) -> None: ...
    def forget(self, decision: int, /) -> None: ...
    def add_arm(self, label: Any, /) -> None: ...
    def retire_arm(self, label: Any, /) -> None: ...
    def pause_arm(self, label: Any, /) -> None: ...
    def resume_arm(self, label: Any, /) -> None: ...
    def set_floors(self, floor: Any, /) -> None: ...
    def observe(self, arm: Any, reward: float, /) -> None: ...


class AppliesEvents(BanditView[L]):
    """The part of a live bandit that writes a journal, and follows the journal of another one."""

    def attach(
        self, journal: Journal | None, reload: "Callable[[], BanditView[L]] | None" = None
    ) -> None:
        """Call `journal` with the events of every change from now on.

        If `journal` raises an error, the bandit does not change.

        Parameters
        ----------
        journal
            A function that takes a list of events; it is called under the bandit's lock. None
            detaches the journal.
        reload
            A function that returns the bandit in the state that the journal has recorded. It is
            needed if, after an error or an interrupt, you cannot know whether the journal has
            recorded the events. Without it, each `ask` makes a copy of the bandit.

        Raises
        ------
        TypeError
            If `journal` or `reload` cannot be called.
        ValueError
            If the bandit belongs to a store. Attach your journal to a copy of it.
        """
        if journal is not None and not callable(journal):
            raise TypeError(f"{journal!r} cannot be called; give a function of a list of events")
        if reload is not None and not callable(reload):
            raise TypeError(f"{reload!r} cannot be called; give a function that returns a bandit")
        with self._desk.lock:
            if self._desk.has_keeper:
                raise ValueError(
                    "this bandit has a journal that must not be lost, such as a store's; "
                    "attach yours to a copy() of the bandit"
                )
            self._desk.attach(journal, None if reload is None else lambda: reload()._desk)

    def on_event(self, function: Hook) -> Callable[[], None]:
        """Call a function after each change of this bandit from now on: for metrics, say.

        It works for a bandit of a store as well, until that bandit is released. Changes that
        `apply_run` or the opening of a store repeats are not announced.

        Parameters
        ----------
        function
            It is called with a `BanditEvent`, in the thread that made the change, which meanwhile
            holds the bandit's lock: so keep it short, and do not change the bandit in it. Its
            errors go to the logger "lastblock", and undo nothing.

        Returns
        -------
        callable
            Call it to end this.
        """
        return self._desk.on_event(function)

    def apply(self: Changeable, event: Event) -> None:
        """Make the change that another bandit has written to its journal.

        Parameters
        ----------
        event
            An event as a journal receives it.

        Raises
        ------
        ValueError
            If the event is unknown or does not fit this bandit, which then has not changed.
        """
        with self._desk.lock:
            apply_event(self, self._desk, event)

    def apply_run(self, run: npt.NDArray[np.float64]) -> None:
        """Make many asks, tells and forgets in one compiled loop.

        Parameters
        ----------
        run
            One row per event: its kind (the place in `KINDS`), the number of the decision, the
            number of the arm, and the reward or probability.

        Raises
        ------
        ValueError
            If the events do not fit this bandit. Do not use the bandit afterwards.
        """
        with self._desk.lock:
            self._desk.replay_events(run)


def apply_event(bandit: Changeable, desk: JournalledDesk[Any], event: Event) -> None:
    """Make the change that another bandit has written to its journal, or raise a ValueError."""
    if len(event) != 4 or event[0] not in (*KINDS, OBSERVE):
        raise ValueError(f"event {event!r} is not known; give one of the kinds {(*KINDS, OBSERVE)}")
    kind, id, place, value = event
    if kind in ("ask", "ask_among"):
        _apply_ask(bandit, desk, event)
    elif kind in ("tell", "forget"):
        if id not in desk.out:
            raise desk.unknown(id, -1 if id is None else id)
        if desk.number(id) != place:
            raise ValueError(f"event {event!r} does not fit: the decision was for another arm")
        found = desk.generations.id_of(id)
        if kind == "forget":
            bandit.forget(found)
        elif desk.ledger.rule is None:
            bandit.tell(found, value)
        else:  # it is what several rewards came to
            desk.tell_each([(id, desk.out[id], desk.check_reward(value))])
    elif kind == "add_arm":
        bandit.add_arm(value)
    elif kind in _OF_AN_ARM and place in desk.numbers:
        label = desk.active[desk.numbers.index(place)]
        if kind == OBSERVE:
            bandit.observe(label, value)
        else:
            getattr(bandit, kind)(label)
    elif kind == "set_floors":
        bandit.set_floors(floors_by_label(value, desk.numbers, desk.active))
    elif kind == "reseed" and len(value) == STREAM_WORDS:
        desk.settle()
        desk.reseed(np.array(value, np.uint64))
    elif kind in NOTES:
        desk.settle()
        try:
            _check_note(desk, event)
        except UNREADABLE as error:
            raise ValueError(f"event {short(event)} does not fit the bandit: {error}") from None
        desk.note_each([event])
    else:
        raise ValueError(f"event {event!r} does not fit the bandit")


def _apply_ask(bandit: Changeable, desk: JournalledDesk[Any], event: Event) -> None:
    """Take a decision again; raise a ValueError if it is not the same one."""
    kind, id, number, value = event
    among, chance = None, value
    if kind == "ask_among":
        among = [desk.active[k] for k in restricted_places(desk.numbers, value)]
        chance = value["probability"]
    elif desk.paused:
        raise ValueError(f"event {event!r} does not fit: some arms are paused")
    before = desk.copy()
    asked = bandit.ask(among=among)
    last = desk.next_id - 1
    if (last, desk.number(last), asked.probability) != (id, number, chance):
        desk.become(before)
        raise ValueError(f"event {event!r} does not fit: the bandit decided {asked}")


def _check_note(desk: JournalledDesk[Any], event: Event) -> None:
    """Raise a ValueError if an event that changes the ledger only does not fit the bandit."""
    _, id, arm, _ = event
    check_note(event, desk.next_id, len(desk.labels))
    if id is not None and arm is not None and (id not in desk.out or desk.number(id) != arm):
        raise ValueError("the decision is not out for that arm")


def repeat_among(desk: JournalledDesk[Any], id: int, number: int | None, value: Any) -> None:
    """Repeat a decision among some arms, from a log; after a ValueError, do not use the desk."""
    asked = desk.ask_arm_among(restricted_places(desk.numbers, value))
    last = desk.next_id - 1
    if (last, desk.number(last), asked.probability) != (id, number, value["probability"]):
        raise ValueError(f"decision {id} was for another arm")
