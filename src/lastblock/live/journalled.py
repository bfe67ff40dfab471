"""A desk with a lock and a journal; every change reaches both the state and the journal, or none.

A bandit's desk is the part that holds its state; see `Desk`.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeAlias

from lastblock.core.layout import room_for
from lastblock.core.protocol import Policy
from lastblock.core.registry import require_policy
from lastblock.engine.events import OBSERVE, Event, Journal
from lastblock.kernels.streams import Seed, Stream, key_of
from lastblock.live.decisions import Decision, Pending
from lastblock.live.desk import Answer, Desk
from lastblock.live.eligibility import ANY, Wanted, check_resizable
from lastblock.live.labels import L, Label, check_floor, check_labels
from lastblock.live.ledger import Rewards, check_rule
from lastblock.live.memory import Remember, check_remember
from lastblock.live.state import Live
from lastblock.support.checks import whole
from lastblock.support.json_safe import json_fields

_log = logging.getLogger("lastblock")

SILENT = ("guard", "remember", "configure", "skip")
"""Kinds of events that functions given to `Bandit.on_event` are not told of."""


class BanditEvent(NamedTuple, Generic[L]):
    """A change of a bandit, as the functions given to `Bandit.on_event` receive it."""

    kind: str
    """"ask", "tell", "forget", "observe", "add_arm", "retire_arm", "pause_arm", "resume_arm",
    "set_floors", "reseed", "partial", "close" or "activate"."""
    id: int | None
    """The id of the decision that was asked for, told or forgotten; otherwise None."""
    arm: L | None
    """The label of the arm of the decision or observation, or of the arm that came or went."""
    value: float | None
    """The reward of a "tell", "partial", "close" or "observe"; the probability of an "ask", None
    without floors."""

    def to_dict(self) -> dict[str, object]:
        """Return the event as values for JSON."""
        return json_fields(self)


Hook: TypeAlias = Callable[[BanditEvent[Any]], object]


class JournalledDesk(Desk[L]):
    """A desk that several threads may use, and that tells a journal of every change.

    Callers hold the lock, except for `attach`, which takes it.

    Parameters
    ----------
    live, labels, floor_of_all
        As in `Desk`.
    """

    def __init__(
        self,
        live: Live,
        labels: Iterable[L],
        floor_of_all: float | None = None,
    ) -> None:
        super().__init__(live, labels, floor_of_all)
        self._use_lock(threading.RLock())
        self._journal: Journal | None = None
        self._reload: Callable[[], Desk[L]] | None = None
        self._is_unsure = False  # True if an interrupted change may have reached only one of them
        self._hooks: tuple[Hook, ...] = ()
        self.choose_ways()

    def _use_lock(self, lock: "threading.RLock") -> None:
        self.lock = lock
        self.acquire, self.release = lock.acquire, lock.release

    def renew_lock(self) -> None:
        """Make a new lock, in the child of a fork: a thread of the parent may have held the old."""
        self._use_lock(threading.RLock())

    def is_locked_here(self) -> bool:
        """Return whether this thread holds the lock.

        Python checks for interrupts as soon as a call has returned. A lock acquired before a `try`
        might therefore never be released. One acquired within the `try` may not have been acquired
        when the handler runs, so the handler asks this method.
        """
        lock: Any = self.lock
        return bool(lock._is_owned())

    @property
    def has_keeper(self) -> bool:
        """Whether the journal must not be replaced, as a store's must not."""
        return self._reload is not None

    def attach(self, journal: Journal | None, reload: "Callable[[], Desk[L]] | None") -> None:
        """Use this journal from now on; `reload` returns the desk as the journal recorded it."""
        with self.lock:
            self._journal, self._reload = journal, reload
            self.choose_ways()

    def on_event(self, function: Hook) -> Callable[[], None]:
        """Call a function after each change from now on; return a function that ends this."""
        if not callable(function):
            raise TypeError(f"{function!r} cannot be called; give a function of one event")

        def call(event: BanditEvent[Any]) -> object:  # another one for each call of `on_event`
            return function(event)

        def stop() -> None:
            with self.lock:
                self._hooks = tuple(each for each in self._hooks if each is not call)
                self.choose_ways()

        with self.lock:
            self._hooks = (*self._hooks, call)
            self.choose_ways()
        return stop

    def _announce(self, events: Iterable[BanditEvent[L]]) -> None:
        """Call every function with each event. An error is logged: the change has been made."""
        for event in events if self._hooks else ():
            for function in self._hooks:
                try:
                    function(event)
                except Exception:
                    _log.exception("a function given to on_event() failed on %s", event)

    def choose_ways(self) -> None:
        """Set whether `Bandit.ask` and `Bandit.tell` may take their fast paths.

        Both need a bandit without a journal or hooks, and outside a store. The fast path of `ask`
        (`is_plain`) also needs a bandit without floors or paused arms; that of `tell` (`is_quick`)
        needs a policy that cannot raise an error, no log to tell of changes that it notices, and no
        rewards that wait.
        """
        is_simple = not self.is_followed
        collects = self.ledger.rule is not None or bool(self.ledger.deferred)
        self.is_quick = is_simple and not self.may_raise and not self.tells_changes and not collects
        self.is_plain = is_simple and not self.live.is_floored and not self.paused

    @property
    def is_followed(self) -> bool:
        """Whether a journal, or a function of the user, is told of every change."""
        return self._journal is not None or bool(self._hooks)

    # The changes that users make.

    def ask_each(
        self, count: int, key: str | None = None, wanted: Wanted = ANY, digest: str = ""
    ) -> list[Decision[L]]:
        """Take the next `count` decisions, and remember them by a key if there is one.

        `digest` tells what was asked for from what another request with this key asks for.
        """
        if self._is_unsure:
            self.settle()
        kept = self.kept_for(count, wanted)
        followed = self._journal is not None
        before = self.copy() if followed and self._reload is None else None
        self._is_unsure = followed
        try:
            if self.clock is not None:
                self.clock.tick()
            asked, events = self.take_each(count, kept, wanted.distinct)
            if key is not None:
                events.append(self._remembered(key, digest, count))
            if self._journal is not None:
                self._journal(events)  # after asking, since only now the arms are known
            if key is not None:
                self.take_notes(events[-1:])
        except BaseException:
            self._go_back(before)
            raise
        self._is_unsure = False
        self._announce(BanditEvent("ask", d.id, d.arm, d.probability) for d in asked)
        return asked

    def _remembered(self, key: str, digest: str, count: int) -> Event:
        """Return the event that remembers the last `count` decisions by a key."""
        first = self.next_id - count
        rows = [[id, self.number(id), self.chances.get(id)] for id in range(first, self.next_id)]
        return "remember", first, None, ["asked", [key, digest], rows]

    def tell_checked(self, decision: Decision[L] | Pending[L] | int | str, reward: Any) -> None:
        """Check a decision and its reward, then learn the reward."""
        if self._is_unsure:
            self.settle()
        id, arm = self.find(decision)
        value = self.check_reward(reward)
        if not self.is_followed:
            self.tell_arm(id, arm, value)
        elif self._journal is None or self.live.depth is None:
            self.log([("tell", id, self.number(id), value)], self.tell_arm, id, arm, value)
        else:
            self.end_each([(id, arm, value)], [], [])

    def end_each(
        self, answers: list[Answer], dropped: list[tuple[int, int]], notes: list[Event]
    ) -> None:
        """Learn the rewards of some decisions and drop others, with notes: all, or none."""
        if not self.is_followed:
            self._end(None, answers, dropped, notes)
            return
        live = self.live
        if self._journal is not None and live.depth is not None:
            # Grow before the journal is told, since growing may fail.
            live = live.copy() if len(answers) > 1 else live
            for _, arm, value in answers:
                while arm >= 0 and live.is_full(arm):
                    live.become(live.grown())
                if arm >= 0 and live is not self.live:
                    live.tell(arm, value)
        events: list[Event] = [("tell", id, self.number(id), value) for id, _, value in answers]
        events += [("forget", id, self.number(id), None) for id, _ in dropped]
        told = None if live is self.live else live
        self.log(events + notes, self._end, told, answers, dropped, notes)

    def _end(
        self,
        told: Live | None,
        answers: list[Answer],
        dropped: list[tuple[int, int]],
        notes: list[Event],
    ) -> None:
        """Do what `end_each` says; `told` has learnt the rewards already, if it is given."""
        if told is None:
            for answer in answers:
                self.tell_arm(*answer)
        else:
            self.become_told(told, answers)
        for decision in dropped:
            self.forget_arm(*decision)
        if notes:
            self.take_notes(notes)

    def note_each(self, notes: list[Event]) -> None:
        """Make changes of the ledger."""
        self.log(notes, self.take_notes, notes)

    def check_open(self) -> None:
        """Raise an error if the journal refuses all changes, as that of a closed store does."""
        if self._journal is not None:
            self._journal([])

    def take_notes(self, notes: list[Event]) -> None:
        """Apply events that change the ledger only; a store has just written them as its last."""
        clock = self.clock
        for place, note in enumerate(notes, 1 - len(notes)):
            event, time = (0, 0) if clock is None else (clock.event + place, clock.last)
            self.ledger.take(note, event, time)
        self.choose_ways()

    def add_arm(self, label: L) -> None:
        """Add an arm; its label must be new."""
        if label in self.retired:
            raise ValueError(f"arm {label!r} was retired; give the new arm another label")
        if label in self.labels:
            raise ValueError(f"arm {label!r} exists; give the new arm another label")
        check_resizable(self.live.policy, len(self.active) + 1)
        if self.floor_of_all is not None:
            check_floor(self.floor_of_all, [*self.active, label])
        live, last = self.live.with_arm(), self.explain()
        if self.floor_of_all is not None:
            live.notes.floor[len(self.active)] = self.floor_of_all
        self.log([("add_arm", None, len(self.labels), label)], self.add, label, live, last)

    def retire_arm(self, arm: int) -> None:
        """Retire the arm at this place of the record."""
        check_resizable(self.live.policy, len(self.active) - 1)
        live, last = self.live.without_arm(arm), self.explain()
        self.log([("retire_arm", None, self.numbers[arm], None)], self.retire, arm, live, last)

    def reseed(self, key: Stream) -> None:
        """Continue with other random streams."""
        self.log([("reseed", None, None, key.tolist())], self.live.reseed, key)

    def skip_to(self, end: int) -> None:
        """Give no id below `end` from now on."""
        self.log([("skip", None, None, end)], self.skip, end)

    # How state and journal stay in agreement.

    def log(self, events: list[Event], change: Callable[..., None], *arguments: Any) -> None:
        """Tell the journal, if there is one, and make the change; undo both on an error."""
        if self._journal is None:
            change(*arguments)
        else:
            self._is_unsure = self._reload is not None
            try:
                if self.clock is not None:
                    self.clock.tick()
                self._journal(events)
                change(*arguments)
            except BaseException:
                self._go_back()
                raise
            self._is_unsure = False
        self._announce(self._as_told(each) for each in events if each[0] not in SILENT)

    def _as_told(self, event: Event) -> BanditEvent[L]:
        """Return an event with the id of its decision and the label of its arm."""
        kind, decision, arm, value = event
        reward = value if kind in ("tell", OBSERVE) else None
        if kind in ("partial", "close"):
            reward = value[0] if kind == "partial" else value[1]
        label = None if arm is None else self.labels[arm]
        return BanditEvent(kind, decision, label, reward)

    def settle(self) -> None:
        """Make the state agree with the journal; every change begins with this."""
        if self._is_unsure and self._reload is not None:
            self.become(self._reload())
            self.choose_ways()
        self._is_unsure = False

    def _go_back(self, before: Desk[L] | None = None) -> None:
        """After an error, return to the state `before`; without it, to what the journal has."""
        if before is not None:
            self.become(before)
            self._is_unsure = False
        with suppress(Exception):  # if this fails, the next change tries again
            self.settle()


def new_desk(
    policy: Policy,
    arms: Sequence[Label] | int,
    seed: Seed,
    floor: float | Mapping[Any, float] | None,
    room: int | None,
    rewards: Rewards | None = None,
    remember: Remember | None = None,
) -> JournalledDesk[Any]:
    """Return the desk of a new bandit; `Bandit` explains the parameters."""
    require_policy(policy)
    labels = check_labels(arms)
    shares = check_floor(floor, labels)
    width = None if room is None else whole(room, "room")
    if width is not None and width < len(labels):
        raise ValueError(f"room={room} is too small for {len(labels)} arms; increase it")
    key = key_of(seed)
    room = room_for(len(labels) if width is None else width)
    live = Live(policy, len(labels), width=room, floored=shares is not None)
    live.start(len(labels), key)
    if shares is not None:
        live.notes.floor[: len(labels)] = shares
    everywhere = shares is not None and not isinstance(floor, Mapping)
    floor_of_all = shares[0] if shares and everywhere else None
    desk: JournalledDesk[Any] = JournalledDesk(live, labels, floor_of_all)
    desk.ledger.rule = check_rule(rewards)
    if remember is not None:
        window, decisions = check_remember(remember)
        desk.ledger.memory.limit(window, decisions, 0)
    desk.attach(None, None)
    return desk
