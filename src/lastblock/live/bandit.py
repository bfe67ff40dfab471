"""One live bandit: ask, tell, arms that come and go, save, load."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, cast, overload

import numpy as np
import numpy.typing as npt

from lastblock.core.last_round import BEGINNING
from lastblock.core.protocol import Policy, check_arms
from lastblock.core.registry import check_policy, describe
from lastblock.core.reward_stats import Told
from lastblock.engine.events import KINDS, Event, Journal
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import is_foreign
from lastblock.kernels.streams import STREAM_WORDS, Seed, Stream, key_of
from lastblock.live import persistence as snapshot
from lastblock.live.changes import Change, changes_of
from lastblock.live.decisions import Decision, Generations, Pending, never_asked
from lastblock.live.described import described
from lastblock.live.event_replay import relive, settle_out
from lastblock.live.explanation import Explanation, explained
from lastblock.live.labels import (
    ACTIVE,
    RETIRED,
    ArmState,
    L,
    Label,
    check_floor,
    check_label,
    check_labels,
)
from lastblock.live.state import Live
from lastblock.live.summary import Summary, summarised
from lastblock.support import files
from lastblock.support.checks import whole
from lastblock.support.errors import UNREADABLE, StateFileError, UnknownDecisionError, short

_DECISIONS = (Decision, Pending)
_new = object.__new__
_ONLY_ONE = Generations()


class Bandit(Generic[L]):
    """A bandit that decides for a live system.

    `ask` returns a decision at once, whatever is still out; `tell` takes its reward in any order,
    much later or never (`forget`, `expire`). Told at once, every decision is the one the policy
    would take in `simulate`: with the same seed and rewards, the arms are those of replication 0.
    Any number of threads may use a bandit.

    Parameters
    ----------
    policy
        Any policy of the library, or your own.
    arms
        The labels of the arms (strings or whole numbers), or how many there are.
    seed
        Anything `numpy.random.SeedSequence` takes; None for a fresh one.
    floor
        The least share of decisions for some arms, ``{"control": 0.05}``, or for every arm, also
        later ones, ``0.05``. Each decision then carries its probability.
    room
        How many arms the record is made for; by default as many as there are. `add_arm` beyond
        that makes a larger record and compiles the kernels for it, which takes seconds.

    Examples
    --------
    >>> import lastblock as lb
    >>> bandit = lb.Bandit(lb.LBSDALM(), arms=["red", "green", "blue"], seed=7)
    >>> decision = bandit.ask()
    >>> bandit.tell(decision, 1.0)
    >>> sum(bandit.pulls.values())
    1
    """

    _largest_reward = LARGEST_REWARD

    # Every change goes through one of six operations, `_ask_arm`, `_tell_arm`, `_forget_arm`,
    # `_add`, `_retire` and `Live.reseed`, under the lock, after all checks. With a journal, `_log`
    # sees to it that neither or both are done: the change, and the event in the journal.

    @overload
    def __init__(
        self: "Bandit[int]",
        policy: Policy,
        arms: int,
        *,
        seed: Seed = None,
        floor: float | Mapping[int, float] | None = None,
        room: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        policy: Policy,
        arms: Sequence[L],
        *,
        seed: Seed = None,
        floor: float | Mapping[L, float] | None = None,
        room: int | None = None,
    ) -> None: ...
    def __init__(
        self,
        policy: Policy,
        arms: Sequence[Label] | int,
        *,
        seed: Seed = None,
        floor: float | Mapping[Any, float] | None = None,
        room: int | None = None,
    ) -> None:
        check_policy(policy)
        labels = cast(list[L], check_labels(arms))
        shares = check_floor(floor, labels)
        width = None if room is None else whole(room, "room")
        if width is not None and width < len(labels):
            raise ValueError(f"room={room} is too small for {len(labels)} arms")
        key = key_of(seed)
        live = Live(policy, len(labels), width=width, floored=shares is not None)
        live.start(len(labels), key)
        if shares is not None:
            live.notes.floor[: len(labels)] = shares
        everywhere = shares is not None and not isinstance(floor, Mapping)
        self._begin(live, labels, shares[0] if shares and everywhere else None)

    def _begin(self, live: Live, labels: Sequence[L], floor_of_all: float | None = None) -> None:
        self._lock = threading.RLock()
        self._acquire, self._release = self._lock.acquire, self._lock.release
        self._journal: Journal | None = None
        self._reload: Callable[[], Bandit[L]] | None = None
        self._unsure = False  # whether state and journal may differ: a change was interrupted
        # The short ways are open without a journal; to `tell`, if the policy cannot raise an error;
        # to `ask`, without floors.
        self._may_raise = is_foreign(live.policy)
        self._is_quick = not self._may_raise
        self._is_plain = not live.is_floored
        self._live = live
        self._labels = list(labels)  # of all arms there ever were
        self._active = list(labels)  # of the arms in the record, in its order
        self._numbers = list(range(len(labels)))  # their places among all labels
        self._retired: dict[L, Told] = {}
        self._floor_of_all = floor_of_all
        self._out: dict[int, int] = {}  # the arms of decisions; −1 − i for retired label i
        self._chances: dict[int, float] = {}
        self._next_id = 0  # a number, as all keys here; see `Generations` for ids
        self._generations = _ONLY_ONE
        self._last: Explanation[L] | None = None  # kept where the record no longer has it

    @property
    def policy(self) -> Policy:
        return self._live.policy

    @property
    def arms(self) -> Mapping[L, ArmState]:
        """Every arm there ever was, and whether it is "active" or "retired"."""
        with self._lock:
            return {label: RETIRED if label in self._retired else ACTIVE for label in self._labels}

    @property
    def pulls(self) -> Mapping[L, int]:
        """How many rewards each arm has had."""
        with self._lock:
            told = dict(zip(self._active, self._live.told[:, 0].astype(int).tolist(), strict=False))
            return {
                label: self._retired[label].pulls if label in self._retired else told[label]
                for label in self._labels
            }

    @property
    def floor(self) -> Mapping[L, float]:
        """The least share of decisions for each active arm that has one."""
        with self._lock:
            shares = zip(self._active, self._live.notes.floor.tolist(), strict=False)
            return {label: share for label, share in shares if share > 0.0}

    @property
    def asked(self) -> int:
        """How many decisions have been asked for. The next one has this id, but in a store, where
        ids also say how often the bandit was opened."""
        return self._next_id

    @property
    def pending(self) -> tuple[Pending[L], ...]:
        """Decisions without a reward yet, oldest first."""
        with self._lock:
            return tuple(self._pending(id, arm) for id, arm in sorted(self._out.items()))

    def _pending(self, id: int, arm: int) -> Pending[L]:
        age = self._next_id - 1 - id
        return Pending(self._label(arm), self._generations.id_of(id), self._chances.get(id), age)

    @property
    def changes(self) -> tuple[Change[L], ...]:
        """The last changes of the world that the policy has noticed, eight at most, oldest first.

        For policies that restart, such as `AdaptiveLBSDA` and `Restarting`; others notice none.
        """
        with self._lock:
            return changes_of(self._live.s, self._active)

    @property
    def state_size(self) -> int:
        """The size of the state in bytes."""
        return int(self._live.states.dtype.itemsize)

    @overload
    def ask(self) -> Decision[L]: ...
    @overload
    def ask(self, n: int) -> list[Decision[L]]: ...
    def ask(self, n: int | None = None) -> Decision[L] | list[Decision[L]]:
        """The next decision; with n, a list of the next n, be it one.

        It never waits: see `docs/how-to/late-rewards.md` for rewards that do.
        """
        if n is None:
            acquire, release = self._acquire, self._release
            try:  # as `with self._lock:`, but faster; see `_is_locked_here`
                acquire()
                if self._is_plain:
                    # `_ask_arm` once more: a call saved is a twentieth of the time.
                    id = self._next_id
                    decide = self._live.ask
                    arm = decide(id)
                    self._next_id = id + 1
                    self._out[id] = arm
                    decision: Decision[L] = _new(Decision)  # as Decision(…), but faster
                    decision.arm, decision.id, decision.probability = self._active[arm], id, None
                else:
                    (decision,) = self._ask_each(1)
            except BaseException:
                if self._is_locked_here():
                    self._catch_up()
                    release()
                raise
            release()
            return decision
        count = whole(n, "n")
        if count < 1:
            raise ValueError(f"n={n} must be at least 1")
        with self._lock:
            return self._ask_each(count)

    def _ask_each(self, count: int) -> list[Decision[L]]:
        if self._journal is not None:
            return self._ask_logged(self._journal, count)
        return [self._ask_arm() for _ in range(count)]

    def _ask_logged(self, journal: Journal, count: int) -> list[Decision[L]]:
        """The journal is told the arms: they are known once the decisions have been taken."""
        if self._unsure:
            self._settle()
        before = self._as_it_is() if self._reload is None else None
        self._unsure = True
        first = self._next_id
        try:
            asked = [self._ask_arm() for _ in range(count)]
            journal(
                [("ask", id, self._number(id), d.probability) for id, d in enumerate(asked, first)]
            )
        except BaseException:
            self._go_back(before)
            raise
        self._unsure = False
        return asked

    def _as_it_is(self) -> "Bandit[L]":
        """What `_go_back` needs to undo a change."""
        return self.copy()

    def _ask_arm(self) -> Decision[L]:
        id = self._next_id
        try:
            asked = self._live.ask(id)
            arm, chance = asked if self._live.is_floored else (asked, None)
            self._note_out(id, arm, chance)
            return Decision(self._active[arm], id + self._generations.tag, chance)
        except BaseException:
            self._catch_up()
            raise

    def _note_out(self, id: int, arm: int, chance: float | None) -> None:
        self._next_id = id + 1
        self._out[id] = arm
        if chance is not None:
            self._chances[id] = chance

    def _catch_up(self) -> None:
        """After an interrupt: a decision that was taken, and that nobody got to know, is out."""
        asked, arm, chance = self._live.last_asked
        if asked == self._next_id + 1:
            self._note_out(self._next_id, arm, chance)

    def _is_locked_here(self) -> bool:
        """Whether this thread has the lock: after an error in the short ways.

        Python looks for interrupts as soon as a call has returned. So a lock that is acquired
        before the `try` could stay so for ever; acquired within, it may not have been.
        """
        lock: Any = self._lock
        return bool(lock._is_owned())

    def tell(self, decision: Decision[L] | Pending[L] | int, reward: float) -> None:
        """The reward of a decision (or of its id). Errors change nothing."""
        acquire, release = self._acquire, self._release
        try:
            acquire()
            told = False
            if type(decision) is Decision and type(reward) is float and self._is_quick:
                id = decision.id
                arm = self._out.get(id, -1) if type(id) is int else -1
                if arm >= 0 and self._active[arm] == decision.arm:
                    del self._out[id]  # before it is told: an interrupt would come afterwards
                    take_in = self._live.tell_at_once
                    told = take_in(arm, reward)
                    if not told:
                        self._out[id] = arm
                    elif not self._is_plain:
                        self._chances.pop(id, None)
            if not told:
                self._tell_checked(decision, reward)
        except BaseException:
            if self._is_locked_here():
                release()
            raise
        release()

    def _tell_checked(self, decision: Decision[L] | Pending[L] | int, reward: float) -> None:
        if self._unsure:
            self._settle()
        id, arm = self._find(decision)
        value = self._checked(reward)
        if self._journal is None:
            self._tell_arm(id, arm, value)
        elif self._live.depth is None:
            self._log([("tell", id, self._number(id), value)], self._tell_arm, id, arm, value)
        else:
            self._tell_each([(id, arm, value)])

    def tell_many(
        self, decisions: Iterable[Decision[L] | Pending[L] | int], rewards: Iterable[float]
    ) -> None:
        """The rewards of many decisions, in this order; if one of them is wrong, none counts."""
        asked = list(decisions)  # first of all: somebody's generator may do anything
        values = [self._checked(reward) for reward in rewards]
        if len(asked) != len(values):
            raise ValueError(f"{len(values)} rewards for {len(asked)} decisions")
        with self._lock:
            self._settle()
            found = [self._find(decision) for decision in asked]
            if len({id for id, _ in found}) < len(found):
                raise UnknownDecisionError("a decision is there twice; tell each decision once")
            answers = [(id, arm, value) for (id, arm), value in zip(found, values, strict=True)]
            self._tell_each(answers)

    def _tell_each(self, answers: list[tuple[int, int, float]]) -> None:
        if self._journal is None:
            for answer in answers:
                self._tell_arm(*answer)
            return
        live = self._live
        if live.depth is not None:  # growing may fail: it comes before the journal
            live = live.copy() if len(answers) > 1 else live
            for _, arm, value in answers:
                while arm >= 0 and live.is_full(arm):
                    live.become(live.grown())
                if arm >= 0 and live is not self._live:
                    live.tell(arm, value)
        events: list[Event] = [("tell", id, self._number(id), value) for id, _, value in answers]
        if live is self._live:
            self._log(events, self._tell_arms, answers)
        else:
            self._log(events, self._become_told, live, answers)

    def _tell_arms(self, answers: list[tuple[int, int, float]]) -> None:
        for answer in answers:
            self._tell_arm(*answer)

    def _become_told(self, live: Live, answers: list[tuple[int, int, float]]) -> None:
        self._live.become(live)
        for id, _, _ in answers:
            del self._out[id]
            self._chances.pop(id, None)

    def _tell_arm(self, id: int, arm: int, value: float) -> None:
        del self._out[id]
        if arm >= 0:  # else a late reward of a retired arm
            told = self._live.told[arm, 0]
            before = self._live.states.copy() if self._may_raise else None
            try:
                self._live.tell(arm, value)
            except BaseException:
                if self._live.told[arm, 0] == told:
                    self._out[id] = arm
                    if before is not None and before.dtype == self._live.states.dtype:
                        self._live.states[:] = before
                raise
        self._chances.pop(id, None)

    def _checked(self, reward: Any) -> float:
        """A reward as a number that can be added up."""
        value = reward + 0.0 if type(reward) is float else _as_float(reward)
        if not -self._largest_reward < value < self._largest_reward:  # NaN fails as well
            raise ValueError(
                f"reward={short(reward)} must be finite and below {self._largest_reward:g} in "
                "size; to drop the decision, forget it"
            )
        return value

    def forget(self, decision: Decision[L] | Pending[L] | int) -> None:
        """Drop a decision whose reward will never come."""
        with self._lock:
            self._settle()
            self._forget_each([self._find(decision)])

    def _forget_each(self, found: list[tuple[int, int]]) -> None:
        events: list[Event] = [("forget", id, self._number(id), None) for id, _ in found]
        self._log(events, self._forget_arms, found)

    def _forget_arms(self, found: list[tuple[int, int]]) -> None:
        for id, arm in found:
            self._forget_arm(id, arm)

    def _forget_arm(self, id: int, arm: int) -> None:
        del self._out[id]
        self._chances.pop(id, None)
        if arm >= 0:
            self._live.forget(arm)

    def expire(self, *, older_than: int, reward: float | None = None) -> tuple[Pending[L], ...]:
        """Drop the decisions that have waited for more than `older_than` later ones.

        Without `reward` they are forgotten, with one they are told it. Returns them.
        """
        limit = whole(older_than, "older_than")
        if limit < 0:
            raise ValueError(f"older_than={older_than} must not be negative")
        if reward is not None:
            reward = self._checked(reward)
        with self._lock:
            self._settle()
            late = [pending for pending in self.pending if pending.age > limit]
            if reward is not None:
                self.tell_many(late, [reward] * len(late))
            else:
                self._forget_each([self._find(pending) for pending in late])
            return tuple(late)

    def _find(self, decision: Decision[L] | Pending[L] | int) -> tuple[int, int]:
        """The number and the arm of a decision that is out."""
        id: Any = decision
        label: L | None = None
        if isinstance(decision, _DECISIONS):
            id, label = decision.id, decision.arm
        if isinstance(id, np.integer):  # from a table of logs
            id = int(id)
        if type(id) is not int:
            raise self._unknown(id, -1)
        number = id - self._generations.tag
        if not self._generations.first <= number < self._next_id:
            number = self._generations.number_of(id)
        arm = self._out.get(number)
        if arm is None:
            raise self._unknown(id, number)
        if label is not None and not _same(label, self._label(arm)):
            raise UnknownDecisionError(
                f"decision {id} was for arm {self._label(arm)!r}, not {label!r}; "
                "tell what ask() gave, to the bandit that gave it"
            )
        return number, arm

    def _label(self, arm: int) -> L:
        return self._active[arm] if arm >= 0 else self._labels[-1 - arm]

    def _number(self, id: int) -> int:
        """The place among all arms of the arm that a decision is for."""
        arm = self._out[id]
        return self._numbers[arm] if arm >= 0 else -1 - arm

    def _unknown(self, id: object, number: int) -> UnknownDecisionError:
        if 0 <= number < self._next_id:
            return UnknownDecisionError(
                f"decision {id} has been told or forgotten already; tell each decision once"
            )
        return never_asked(id)

    def add_arm(self, label: L) -> None:
        """Let a new arm in. It is pulled before the next round is planned, then as its policy does.

        A label is never used again, not even that of a retired arm.
        """
        label = cast(L, check_label(label))
        with self._lock:
            self._settle()
            if label in self._retired:
                raise ValueError(f"arm {label!r} was retired; give the new arm a label of its own")
            if label in self._labels:
                raise ValueError(f"arm {label!r} exists; give the new arm a label of its own")
            self._check_resizable(len(self._active) + 1)
            if self._floor_of_all is not None:
                check_floor(self._floor_of_all, [*self._active, label])
            live, last = self._live.with_arm(), self.explain()
            if self._floor_of_all is not None:
                live.notes.floor[len(self._active)] = self._floor_of_all
            self._log([("add_arm", None, len(self._labels), label)], self._add, label, live, last)

    def _add(self, label: L, live: Live, last: Explanation[L]) -> None:
        self._live.become(live)
        self._numbers.append(len(self._labels))
        self._labels.append(label)
        self._active.append(label)
        self._last = last

    def retire_arm(self, label: L) -> None:
        """Never decide for this arm again. Its late rewards are accepted and ignored."""
        with self._lock:
            self._settle()
            if isinstance(label, str | int) and label in self._retired:
                raise ValueError(f"arm {label!r} was retired before")
            if type(label) is bool or not isinstance(label, str | int) or label not in self._active:
                raise ValueError(f"arm {label!r} is not one of the arms {self._active}")
            self._check_resizable(len(self._active) - 1)
            arm = self._active.index(label)
            live, last = self._live.without_arm(arm), self.explain()
            self._log(
                [("retire_arm", None, self._numbers[arm], None)], self._retire, arm, live, last
            )

    def _retire(self, arm: int, live: Live, last: Explanation[L]) -> None:
        self._retired[self._active[arm]] = self._live.notes.told_of(arm)
        self._live.become(live)
        gone = -1 - self._numbers[arm]
        del self._active[arm], self._numbers[arm]
        for id, old in self._out.items():
            if old >= arm:
                self._out[id] = gone if old == arm else old - 1
        self._last = last

    def _check_resizable(self, arms: int) -> None:
        if getattr(self.policy, "oracle", False):
            name = type(self.policy).__name__
            raise ValueError(f"{name} was told the arms beforehand; they cannot come or go")
        check_arms(self.policy, arms)

    def reseed(self, seed: Seed = None) -> None:
        """Go on with other random numbers; two copies of a bandit decide alike until one does."""
        self._reseed(key_of(seed))

    def _reseed(self, key: Stream) -> None:
        with self._lock:
            self._settle()
            self._log([("reseed", None, None, key.tolist())], self._live.reseed, key)

    def locked(self) -> Any:
        """The lock that every call takes: within ``with bandit.locked():`` nobody gets between."""
        return self._lock

    def attach(
        self, journal: Journal | None, reload: "Callable[[], Bandit[L]] | None" = None
    ) -> None:
        """Call `journal` with the events of every change, under the lock, before the call returns.

        If it raises an error, nothing is changed. `reload` gives the bandit as the journal has it:
        needed where an error, or an interrupt, does not tell whether the journal has the events.
        Without it, each `ask` costs a copy of the bandit. None ends it. The journal of a store's
        bandit is the store's: give a copy of the bandit another one.
        """
        with self._lock:
            if self._reload is not None:
                raise ValueError(
                    "this bandit has a journal that must not be lost, such as a store's; "
                    "attach yours to a copy() of the bandit"
                )
            self._attach(journal, reload)

    def _attach(self, journal: Journal | None, reload: "Callable[[], Bandit[L]] | None") -> None:
        with self._lock:
            self._journal, self._reload = journal, reload
            self._choose_ways()

    def _choose_ways(self) -> None:
        """Open the short ways or not."""
        is_simple = self._journal is None and self._generations is _ONLY_ONE
        self._is_quick = is_simple and not self._may_raise
        self._is_plain = is_simple and not self._live.is_floored

    def _enter(self, generations: Generations) -> None:
        """Give other ids from now on."""
        with self._lock:
            self._generations = generations
            self._choose_ways()

    def _renew_lock(self) -> None:
        """In the child of a fork: a thread that is not there may hold the lock for ever."""
        self._lock = threading.RLock()
        self._acquire, self._release = self._lock.acquire, self._lock.release

    def _log(self, events: list[Event], change: Callable[..., None], *arguments: Any) -> None:
        """Tell the journal, if there is one, and make the change: neither or both."""
        if self._journal is None:
            change(*arguments)
            return
        self._unsure = self._reload is not None
        try:
            self._journal(events)
            change(*arguments)
        except BaseException:
            self._go_back()
            raise
        self._unsure = False

    def _go_back(self, before: "Bandit[L] | None" = None) -> None:
        """After an error: what the bandit was before, or else what its journal has."""
        if before is not None:
            self._become(before)
            self._unsure = False
        with suppress(Exception):  # then the next change tries again
            self._settle()

    def _settle(self) -> None:
        """See that state and journal agree."""
        if self._unsure and self._reload is not None:
            self._become(self._reload())
        self._unsure = False

    def _become(self, other: "Bandit[L]") -> None:
        """Take the other one's state, which it loses. What was last explained stays."""
        self._live.become(other._live)
        self._labels, self._active, self._numbers = other._labels, other._active, other._numbers
        self._retired, self._out, self._chances = other._retired, other._out, other._chances
        self._next_id = other._next_id

    def apply(self, event: Event) -> None:
        """Make a change that another bandit's journal was told."""
        if len(event) != 4 or event[0] not in KINDS:
            raise ValueError(f"event {event!r} is not known")
        kind, id, number, value = event
        with self._lock:
            if kind == "ask":
                before = self._as_it_is()
                asked = self.ask()
                last = self._next_id - 1
                if (last, self._number(last), asked.probability) != (id, number, value):
                    self._become(before)
                    raise ValueError(f"event {event!r} does not fit: the bandit gave {asked}")
            elif kind in ("tell", "forget"):
                if id not in self._out:
                    raise self._unknown(id, -1 if id is None else id)
                if self._number(id) != number:
                    raise ValueError(f"event {event!r} does not fit: that was another arm")
                found = self._generations.id_of(id)
                self.tell(found, value) if kind == "tell" else self.forget(found)
            elif kind == "add_arm":
                self.add_arm(value)
            elif kind == "retire_arm" and number in self._numbers:
                self.retire_arm(self._active[self._numbers.index(number)])
            elif kind == "reseed" and len(value) == STREAM_WORDS:
                self._reseed(np.array(value, np.uint64))
            else:
                raise ValueError(f"event {event!r} does not fit the bandit")

    def apply_run(self, run: npt.NDArray[np.float64]) -> None:
        """Make many asks, tells and forgets at once. A row is a kind (its place in `KINDS`), a
        decision, an arm, and a reward or probability.

        If they do not fit, this bandit is of no more use.
        """
        self._relive(run)

    def _relive(self, run: npt.NDArray[np.float64], *, with_out: bool = True) -> None:
        """The same; without `with_out` it does not note which decisions are out."""
        with self._lock:
            out = self._out if with_out else None
            self._next_id += relive(
                self._live, run, self._places(), self._next_id, out, self._chances
            )

    def _places(self) -> npt.NDArray[np.int64]:
        """Where in the record each arm that there ever was is, −1 for retired ones."""
        places = np.full(len(self._labels), -1, np.int64)
        places[self._numbers] = np.arange(len(self._numbers))
        return places

    def _put_out(self, rows: Iterable[tuple[int, int, float | None]]) -> None:
        """These decisions are out: their numbers, the numbers of their arms, probabilities."""
        places = self._places().tolist()
        self._out, self._chances = {}, {}
        for id, number, chance in rows:
            if not 0 <= id < self._next_id or not 0 <= number < len(places):
                raise ValueError(f"decision {id} cannot be out for arm {number}")
            self._out[id] = places[number] if places[number] >= 0 else -1 - number
            if chance is not None:
                self._chances[id] = float(chance)

    def _out_since(self, first: int) -> list[tuple[int, int, float | None]]:
        """The decisions from a number on that are out, as `_put_out` takes them."""
        return [
            (id, self._number(id), self._chances.get(id))
            for id in range(first, self._next_id)
            if id in self._out
        ]

    def _share_out(self, other: "Bandit[Any]", late: npt.NDArray[np.float64]) -> None:
        """Take the decisions that are out from a bandit that differs by one call; see
        `settle_out`."""
        settle_out(late, self._places(), self._next_id, other._out, other._chances)
        self._out, self._chances = other._out, other._chances

    def explain(self) -> Explanation[L]:
        """Why the last round was what it was: in words (`print` it) and in data."""
        with self._lock:
            now = self._live.copy()
            if self._last is not None and self._last.round == now.s.round:
                return self._last
            return explained(self.policy, now.states, now.planned[BEGINNING:], self._active)

    def summary(self) -> Summary[L]:
        """Where the bandit stands: pulls, means, the leader. In words (`print` it) and in data."""
        with self._lock:
            return summarised(
                self.policy,
                self._live.s,
                self._live.notes,
                self._labels,
                self._active,
                self._retired,
                [self._label(arm) for arm in self._out.values()],
                self._next_id,
            )

    def copy(self) -> "Bandit[L]":
        """An independent bandit that would decide alike; `reseed` it to make it differ."""
        with self._lock:
            other = self.__class__.__new__(self.__class__)
            other._begin(self._live.copy(), self._labels, self._floor_of_all)
            other._active = list(self._active)
            other._numbers = list(self._numbers)
            other._retired = dict(self._retired)
            other._out = dict(self._out)
            other._chances = dict(self._chances)
            other._next_id = self._next_id
            other._last = self._last
            other._enter(self._generations)
            return other

    def __copy__(self) -> "Bandit[L]":
        return self.copy()

    def __deepcopy__(self, memo: object) -> "Bandit[L]":
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__.from_bytes, (self.to_bytes(),)

    def _about(self, *, with_out: bool = True) -> dict[str, Any]:
        """All but the record and the notes, as plain data."""
        number = {label: i for i, label in enumerate(self._labels)}
        out = sorted(self._out.items()) if with_out else []
        return {
            "policy": describe(self.policy),
            "layout": self._live.layout,
            "room": [self._live.width, self._live.depth],
            "floored": self._live.is_floored,
            "floor_of_all": self._floor_of_all,
            "arms": self._labels,
            "active": [number[label] for label in self._active],
            "retired": [
                [number[label], told.pulls, told.mean.hex(), told.spread.hex()]
                for label, told in self._retired.items()
            ],
            "next_id": self._next_id,
            "out": [[id, int(arm), self._chances.get(id)] for id, arm in out],
        }

    @classmethod
    def _from(cls, about: dict[str, Any], record: bytes) -> "Bandit[Any]":
        try:
            d = described(about)
            live = Live(d.policy, len(d.active), width=d.width, depth=d.depth, floored=d.floored)
            live.read(record)
            live.check(len(d.active))
        except UNREADABLE as error:
            raise StateFileError(
                f"the state does not fit this version of lastblock: {error}; "
                "load it with the version that wrote it"
            ) from error
        self: Bandit[Any] = cls.__new__(cls)
        self._begin(live, d.labels, d.floor_of_all)
        self._active, self._numbers, self._retired = d.active, d.numbers, d.retired
        self._next_id, self._out, self._chances = d.next_id, d.out, d.chances
        return self

    def to_bytes(self) -> bytes:
        """The whole bandit, versioned and checksummed; `from_bytes` continues bit for bit."""
        with self._lock:
            return snapshot.pack(self._about(), self._live.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> "Bandit[Any]":
        """A bandit from `to_bytes`, or a `StateFileError` that says what is wrong with the data."""
        return cls._from(*snapshot.unpack(bytes(data)))

    def to_json(self) -> str:
        """The same as text; the record within it is base64."""
        with self._lock:
            return snapshot.to_text(self._about(), self._live.to_bytes())

    @classmethod
    def from_json(cls, text: str) -> "Bandit[Any]":
        """A bandit from `to_json`, or a `StateFileError`."""
        return cls._from(*snapshot.from_text(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to a file, all or nothing."""
        files.write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Bandit[Any]":
        """The bandit of a file that `save` wrote."""
        return cls.from_bytes(Path(path).read_bytes())

    def __repr__(self) -> str:
        return f"<Bandit {self.policy}: {self.pulls}, {len(self._out)} out>"


def _as_float(reward: Any) -> float:
    if isinstance(reward, str | bytes):
        raise ValueError(f"reward={short(reward)} is text; give a number")
    try:
        return float(reward) + 0.0  # no −0.0: equal rewards leave equal bytes, in a store too
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"reward={short(reward)} is not a number that fits a float") from None


def _same(label: Any, other: Label) -> bool:
    """Whatever somebody may have put into a decision."""
    return isinstance(label, str | int) and label == other
