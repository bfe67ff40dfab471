"""A desk with a lock and a journal: state and journal get every change, or neither does."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from lastblock.engine.events import Event, Journal
from lastblock.kernels.streams import Stream
from lastblock.live.decisions import Decision, Generations, Pending
from lastblock.live.desk import ONLY_ONE, Answer, Desk
from lastblock.live.labels import L, check_floor
from lastblock.live.state import Live


class JournalledDesk(Desk[L]):
    """A desk that several threads may use, and that tells a journal of every change.

    Methods expect the lock to be taken, but for those that say otherwise.

    Parameters
    ----------
    live, labels, floor_of_all
        As in `Desk`.
    lock
        One of somebody else's, such as a fleet's; by default a new one.
    """

    def __init__(
        self,
        live: Live,
        labels: Iterable[L],
        floor_of_all: float | None = None,
        *,
        lock: "threading.RLock | None" = None,
    ) -> None:
        super().__init__(live, labels, floor_of_all)
        self._use_lock(threading.RLock() if lock is None else lock)
        self._journal: Journal | None = None
        self._reload: Callable[[], Desk[L]] | None = None
        self._is_unsure = False  # whether state and journal may differ: a change was interrupted
        self._choose_ways()

    def _use_lock(self, lock: "threading.RLock") -> None:
        self.lock = lock
        self.acquire, self.release = lock.acquire, lock.release

    def renew_lock(self) -> None:
        """In the child of a fork, where a thread that is not there may hold the lock for ever."""
        self._use_lock(threading.RLock())

    def is_locked_here(self) -> bool:
        """Return whether this thread has the lock.

        Python looks for interrupts as soon as a call has returned. So a lock that is acquired
        before a `try` could stay so for ever; acquired within, it may not have been.
        """
        lock: Any = self.lock
        return bool(lock._is_owned())

    @property
    def has_keeper(self) -> bool:
        """Whether the journal must not be lost, such as a store's."""
        return self._reload is not None

    def attach(self, journal: Journal | None, reload: "Callable[[], Desk[L]] | None") -> None:
        """Use this journal from now on; `reload` gives the desk as the journal has it."""
        with self.lock:
            self._journal, self._reload = journal, reload
            self._choose_ways()

    def enter(self, generations: Generations) -> None:
        """Give other ids from now on."""
        with self.lock:
            self.generations = generations
            self._choose_ways()

    def _choose_ways(self) -> None:
        """Say whether `Bandit.ask` and `Bandit.tell` may take their short ways.

        They are open without a journal and outside a store; that of `ask` without floors, that of
        `tell` if the policy cannot raise an error.
        """
        is_simple = self._journal is None and self.generations is ONLY_ONE
        self.is_quick = is_simple and not self.may_raise
        self.is_plain = is_simple and not self.live.is_floored

    # Changes, for users.

    def ask_each(self, count: int) -> list[Decision[L]]:
        """Take the next decisions."""
        if self._journal is None:
            return [self.ask_arm() for _ in range(count)]
        if self._is_unsure:
            self.settle()
        before = self.copy() if self._reload is None else None
        self._is_unsure = True
        first = self.next_id
        try:
            asked = [self.ask_arm() for _ in range(count)]
            self._journal(  # only now are the arms known
                [("ask", id, self.number(id), d.probability) for id, d in enumerate(asked, first)]
            )
        except BaseException:
            self._go_back(before)
            raise
        self._is_unsure = False
        return asked

    def tell_checked(self, decision: Decision[L] | Pending[L] | int, reward: Any) -> None:
        """Check a decision and its reward, and take it in."""
        if self._is_unsure:
            self.settle()
        id, arm = self.find(decision)
        value = self.check_reward(reward)
        if self._journal is None:
            self.tell_arm(id, arm, value)
        elif self.live.depth is None:
            self.log([("tell", id, self.number(id), value)], self.tell_arm, id, arm, value)
        else:
            self.tell_each([(id, arm, value)])

    def tell_each(self, answers: list[Answer]) -> None:
        """Take in the rewards of several decisions: all or none."""
        if self._journal is None:
            self.tell_arms(answers)
            return
        live = self.live
        if live.depth is not None:  # growing may fail: it comes before the journal
            live = live.copy() if len(answers) > 1 else live
            for _, arm, value in answers:
                while arm >= 0 and live.is_full(arm):
                    live.become(live.grown())
                if arm >= 0 and live is not self.live:
                    live.tell(arm, value)
        events: list[Event] = [("tell", id, self.number(id), value) for id, _, value in answers]
        if live is self.live:
            self.log(events, self.tell_arms, answers)
        else:
            self.log(events, self.become_told, live, answers)

    def forget_each(self, found: list[tuple[int, int]]) -> None:
        """Drop several decisions."""
        events: list[Event] = [("forget", id, self.number(id), None) for id, _ in found]
        self.log(events, self.forget_arms, found)

    def add_arm(self, label: L) -> None:
        """Let an arm in whose label is not known yet."""
        self.check_resizable(len(self.active) + 1)
        if self.floor_of_all is not None:
            check_floor(self.floor_of_all, [*self.active, label])
        live, last = self.live.with_arm(), self.explain()
        if self.floor_of_all is not None:
            live.notes.floor[len(self.active)] = self.floor_of_all
        self.log([("add_arm", None, len(self.labels), label)], self.add, label, live, last)

    def retire_arm(self, arm: int) -> None:
        """Let the arm at this place of the record go."""
        self.check_resizable(len(self.active) - 1)
        live, last = self.live.without_arm(arm), self.explain()
        self.log([("retire_arm", None, self.numbers[arm], None)], self.retire, arm, live, last)

    def reseed(self, key: Stream) -> None:
        """Go on with other random streams."""
        self.log([("reseed", None, None, key.tolist())], self.live.reseed, key)

    # Neither or both.

    def log(self, events: list[Event], change: Callable[..., None], *arguments: Any) -> None:
        """Tell the journal, if there is one, and make the change: neither or both."""
        if self._journal is None:
            change(*arguments)
            return
        self._is_unsure = self._reload is not None
        try:
            self._journal(events)
            change(*arguments)
        except BaseException:
            self._go_back()
            raise
        self._is_unsure = False

    def settle(self) -> None:
        """See that state and journal agree: every change begins with it."""
        if self._is_unsure and self._reload is not None:
            self.become(self._reload())
        self._is_unsure = False

    def _go_back(self, before: Desk[L] | None = None) -> None:
        """After an error, be what the desk was before, or else what the journal has."""
        if before is not None:
            self.become(before)
            self._is_unsure = False
        with suppress(Exception):  # then the next change tries again
            self.settle()
