"""One live bandit: ask, tell, arms that come and go, save, load."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy
from lastblock.core.registry import check_policy
from lastblock.engine.events import Event, Journal
from lastblock.kernels.streams import Seed, key_of
from lastblock.live import persistence as snapshot
from lastblock.live.applying import apply_event
from lastblock.live.decisions import Decision, Pending
from lastblock.live.description import restore_desk
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import L, Label, check_floor, check_label, check_labels
from lastblock.live.state import Live
from lastblock.live.view import BanditView
from lastblock.support.checks import at_least, whole
from lastblock.support.errors import UnknownDecisionError

_new = object.__new__


class Bandit(BanditView[L]):
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
        How many arms the record has room for; beyond that `add_arm` compiles for some seconds.

    Examples
    --------
    >>> import lastblock as lb
    >>> bandit = lb.Bandit(lb.LBSDAGM(), arms=["red", "green", "blue"], seed=7)
    >>> decision = bandit.ask()
    >>> bandit.tell(decision, 1.0)
    >>> sum(bandit.pulls.values())
    1
    """

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
        floor_of_all = shares[0] if shares and everywhere else None
        self._desk = JournalledDesk(live, labels, floor_of_all)

    @overload
    def ask(self) -> Decision[L]: ...
    @overload
    def ask(self, n: int) -> list[Decision[L]]: ...
    def ask(self, n: int | None = None) -> Decision[L] | list[Decision[L]]:
        """Take the next decision at once: see `docs/how-to/late-rewards.md` for rewards that wait.

        Parameters
        ----------
        n
            Take so many decisions, and return a list, even if n = 1.

        Returns
        -------
        Decision or list of Decision
            The arm to pull, and the id of its reward.
        """
        desk = self._desk
        if n is None:
            try:  # as `with desk.lock:`, but faster; see `is_locked_here`
                desk.acquire()
                if desk.is_plain:
                    # `ask_arm` once more: a call saved is a twentieth of the time.
                    id = desk.next_id
                    decide = desk.live.ask
                    arm = decide(id)
                    desk.next_id = id + 1
                    desk.out[id] = arm
                    decision: Decision[L] = _new(Decision)  # as Decision(…), but faster
                    decision.arm, decision.id, decision.probability = desk.active[arm], id, None
                else:
                    (decision,) = desk.ask_each(1)
            except BaseException:
                if desk.is_locked_here():
                    desk.catch_up()
                    desk.release()
                raise
            desk.release()
            return decision
        count = at_least(1, n, "n")
        with desk.lock:
            return desk.ask_each(count)

    def tell(self, decision: Decision[L] | Pending[L] | int, reward: float) -> None:
        """Take in the reward of a decision.

        Parameters
        ----------
        decision
            What `ask` returned, or its id. Rewards may come in any order.
        reward
            Any finite number.

        Raises
        ------
        UnknownDecisionError
            If the decision was never asked for, or has been told or forgotten. Errors change
            nothing.
        ValueError
            If the reward is not a finite number.
        """
        desk = self._desk
        try:
            desk.acquire()
            told = False
            if type(decision) is Decision and type(reward) is float and desk.is_quick:
                id = decision.id
                arm = desk.out.get(id, -1) if type(id) is int else -1
                if arm >= 0 and desk.active[arm] == decision.arm:
                    del desk.out[id]  # before it is told: an interrupt would come afterwards
                    take_in = desk.live.tell_at_once
                    told = take_in(arm, reward)
                    if not told:
                        desk.out[id] = arm
                    elif not desk.is_plain:
                        desk.chances.pop(id, None)
            if not told:
                desk.tell_checked(decision, reward)
        except BaseException:
            if desk.is_locked_here():
                desk.release()
            raise
        desk.release()

    def tell_many(
        self, decisions: Iterable[Decision[L] | Pending[L] | int], rewards: Iterable[float]
    ) -> None:
        """Take in the rewards of many decisions, in this order; if one is wrong, none counts."""
        desk = self._desk
        asked = list(decisions)  # first of all: somebody's generator may do anything
        values = [desk.check_reward(reward) for reward in rewards]
        if len(asked) != len(values):
            raise ValueError(f"{len(values)} rewards for {len(asked)} decisions")
        with desk.lock:
            desk.settle()
            found = [desk.find(decision) for decision in asked]
            if len({id for id, _ in found}) < len(found):
                raise UnknownDecisionError("a decision is there twice; tell each decision once")
            desk.tell_each([(id, arm, x) for (id, arm), x in zip(found, values, strict=True)])

    def forget(self, decision: Decision[L] | Pending[L] | int) -> None:
        """Drop a decision whose reward will never come."""
        with self._desk.lock:
            self._desk.settle()
            self._desk.forget_each([self._desk.find(decision)])

    def expire(self, *, older_than: int, reward: float | None = None) -> tuple[Pending[L], ...]:
        """Drop the decisions that have waited for more than `older_than` later ones.

        Parameters
        ----------
        older_than
            How many later decisions a decision may wait for.
        reward
            What to tell them; without it they are forgotten.

        Returns
        -------
        tuple of Pending
            The decisions that were dropped.
        """
        limit = at_least(0, older_than, "older_than")
        if reward is not None:
            reward = self._desk.check_reward(reward)
        with self._desk.lock:
            self._desk.settle()
            late = [pending for pending in self.pending if pending.age > limit]
            if reward is not None:
                self.tell_many(late, [reward] * len(late))
            else:
                self._desk.forget_each([self._desk.find(pending) for pending in late])
            return tuple(late)

    def add_arm(self, label: L) -> None:
        """Let a new arm in. It is pulled before the next round is planned, then as its policy does.

        A label is never used again, not even that of a retired arm.
        """
        label = cast(L, check_label(label))
        desk = self._desk
        with desk.lock:
            desk.settle()
            if label in desk.retired:
                raise ValueError(f"arm {label!r} was retired; give the new arm a label of its own")
            if label in desk.labels:
                raise ValueError(f"arm {label!r} exists; give the new arm a label of its own")
            desk.add_arm(label)

    def retire_arm(self, label: L) -> None:
        """Never decide for this arm again. Its late rewards are accepted and ignored."""
        desk = self._desk
        with desk.lock:
            desk.settle()
            if isinstance(label, str | int) and label in desk.retired:
                raise ValueError(f"arm {label!r} was retired before")
            if type(label) is bool or not isinstance(label, str | int) or label not in desk.active:
                raise ValueError(f"arm {label!r} is not one of the arms {desk.active}")
            desk.retire_arm(desk.active.index(label))

    def reseed(self, seed: Seed = None) -> None:
        """Go on with other random numbers; two copies of a bandit decide alike until one does."""
        key = key_of(seed)
        with self._desk.lock:
            self._desk.settle()
            self._desk.reseed(key)

    def attach(
        self, journal: Journal | None, reload: "Callable[[], Bandit[L]] | None" = None
    ) -> None:
        """Call `journal` with the events of every change; if it raises an error, nothing changes.

        Parameters
        ----------
        journal
            Takes a list of events, under the lock; None ends it. A store's bandit has the store's:
            attach yours to a copy of the bandit.
        reload
            Returns the bandit as the journal has it: needed where an error, or an interrupt, does
            not tell whether the journal has the events. Without it, each `ask` costs a copy of the
            bandit.
        """
        with self._desk.lock:
            if self._desk.has_keeper:
                raise ValueError(
                    "this bandit has a journal that must not be lost, such as a store's; "
                    "attach yours to a copy() of the bandit"
                )
            self._desk.attach(journal, None if reload is None else lambda: reload()._desk)

    def apply(self, event: Event) -> None:
        """Make a change that another bandit's journal was told."""
        with self._desk.lock:
            apply_event(self, self._desk, event)

    def apply_run(self, run: npt.NDArray[np.float64]) -> None:
        """Make many asks, tells and forgets at once.

        A row is a kind (its place in `KINDS`), a decision, an arm, and a reward or probability. If
        they do not fit, this bandit is of no more use.
        """
        with self._desk.lock:
            self._desk.relive(run)

    def copy(self) -> "Bandit[L]":
        """Return an independent bandit that would decide alike; `reseed` it to make it differ."""
        desk = self._desk
        with desk.lock:
            copied = JournalledDesk(desk.live.copy(), desk.labels, desk.floor_of_all)
            desk.copy_to(copied).enter(desk.generations)
            return bandit_on(copied)

    def __copy__(self) -> "Bandit[L]":
        return self.copy()

    def __deepcopy__(self, memo: object) -> "Bandit[L]":
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__.from_bytes, (self.to_bytes(),)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Bandit[Any]":
        """Return the bandit of `to_bytes`, or raise a `StateFileError` that says what is wrong."""
        return bandit_on(restore_desk(*snapshot.unpack(bytes(data))))

    @classmethod
    def from_json(cls, text: str) -> "Bandit[Any]":
        """Return the bandit of `to_json`, or raise a `StateFileError`."""
        return bandit_on(restore_desk(*snapshot.from_text(text)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Bandit[Any]":
        """Return the bandit of a file that `save` wrote."""
        return cls.from_bytes(Path(path).read_bytes())


def bandit_on(desk: JournalledDesk[L]) -> Bandit[L]:
    """Return a bandit on a desk that has been made elsewhere."""
    bandit: Bandit[L] = Bandit.__new__(Bandit)
    bandit._desk = desk
    return bandit


def desk_of(bandit: Bandit[L]) -> JournalledDesk[L]:
    """Return the desk of a bandit: for stores, which attach themselves to it."""
    return bandit._desk
