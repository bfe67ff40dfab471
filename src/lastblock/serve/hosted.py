"""A bandit that this process has open, with what the service notes about it."""

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec

from lastblock.live.answering import answer, number_of_token
from lastblock.live.bandit import Bandit, desk_of
from lastblock.live.decisions import Decision
from lastblock.live.eligibility import Wanted
from lastblock.live.labels import Label
from lastblock.live.memory import check_key
from lastblock.serve.messages import NewDecision
from lastblock.serve.problems import ProblemError
from lastblock.support.errors import KeyReusedError, short

_NOTHING = msgspec.Raw(b"null")


class Hosted:
    """A bandit with its notes: a description, whether it is paused, what its arms hand back.

    Parameters
    ----------
    name
        The name of the bandit.
    bandit
        The open bandit.
    notes
        Its document.
    version
        The version of that document; 0 if there is none.
    """

    def __init__(self, name: str, bandit: Bandit[Any], notes: dict[str, Any], version: int) -> None:
        self.name, self.bandit = name, bandit
        self.is_gone = False
        self.is_new = False
        """Whether this process has created it."""
        self.parent: Hosted | None = None
        """The bandit of whose segments this is one; None for an ordinary bandit."""
        self.segments: dict[str, Hosted] = {}
        """The bandits of its segments, by their names."""
        self.holdout: Hosted | None = None
        """The bandit that notes the decisions and rewards of units in the holdout."""
        self.pauses: dict[str, str] = {}
        """Why the guardrail has paused arms, by their labels as JSON, since the last start."""
        self.stamp = 0
        """Another number after each decision, reward or other event."""
        self.decisions: dict[Label, int] = {}
        self.rewards: dict[Label, int] = {}
        self.reward_sums: dict[Label, float] = {}
        self.unanswered: float | None = None
        """When the first decision since the last reward was taken, or found waiting."""
        self.is_silent = False
        """Whether an alert has told that rewards no longer come."""
        self.expired = 0
        self.observed = 0
        self.take(notes, version)

    def take(self, notes: dict[str, Any], version: int) -> None:
        """Use these notes from now on."""
        self.notes, self.version = notes, version
        self.paused = bool(notes.get("paused"))
        self.payloads: dict[Label, msgspec.Raw] = {
            json.loads(label): msgspec.Raw(msgspec.json.encode(payload))
            for label, payload in notes.get("payloads", {}).items()
            if payload is not None
        }

    @property
    def etag(self) -> str:
        """A text that is another one after each change of the notes or the arms."""
        return f'"{self.number}-{self.version}"'

    @property
    def number(self) -> int:
        """The number of the bandit in the store, which its tokens have."""
        tokens = desk_of(self.bandit).tokens
        return -1 if tokens is None else tokens.number

    @property
    def waiting(self) -> int:
        """How many decisions wait for their reward."""
        return len(desk_of(self.bandit).out)

    def ask(self, wanted: NewDecision, key: str | None) -> list[Decision[Label]]:
        """Take decisions, or return those that were taken with this key before."""
        bandit, n = self.bandit, wanted.n
        if self.is_holdout:
            control = self.family.notes["holdout"]["control"]
            wanted = NewDecision(n=n, among=[control])
        before = bandit.asked
        made: list[Decision[Label]]
        if n is None:
            made = [bandit.ask(key=key, among=wanted.among, without=wanted.without)]
        else:
            made = bandit.ask(
                n, key=key, among=wanted.among, without=wanted.without, distinct=wanted.distinct
            )
        if bandit.asked > before:
            self.count_decisions(made)
        elif key is not None:
            _check_eligible(key, {decision.arm for decision in made}, wanted)
        return made

    def check_ask(self, wanted: NewDecision, key: str | None) -> None:
        """Raise an error if `ask` would."""
        desk, count = desk_of(self.bandit), wanted.n or 1
        if key is not None:
            check_key(key)
            found = desk.ledger.memory.asked(key)
            if found is not None and len(found.rows) != count:
                raise reused(key, len(found.rows), count)
            if found is not None:
                arms = {desk.labels[row[1]] for row in found.rows}
                _check_eligible(key, arms, wanted)
                return
        with desk.lock:
            desk.kept_for(count, Wanted.checked(wanted.among, wanted.without, wanted.distinct))

    def observe(
        self, arms: Sequence[Label], rewards: Sequence[float], key: str | None = None
    ) -> None:
        """Learn from decisions that others have taken: from all of them, or none on an error."""
        memory = desk_of(self.bandit).ledger.memory
        is_new = key is None or memory.observed(key) is None
        self.bandit.observe_many(arms, rewards, key=key)
        if is_new:
            self.observed += len(arms)
            self.stamp += len(arms)

    def check_rewards(
        self, tokens: Sequence[str], rewards: Sequence[float], key: str | None = None
    ) -> None:
        """Raise an error if `tell` would."""
        desk = desk_of(self.bandit)
        with desk.lock:
            answer(desk, tokens, rewards, self._key_for(key), only_check=True)

    def _key_for(self, key: str | None) -> str | None:
        """Return the key of a request with rewards, if it matters.

        Where a decision has one reward, sending it again is harmless without a key.
        """
        return None if self.bandit.rewards is None else key

    def tell(
        self,
        tokens: Sequence[str],
        rewards: Sequence[float],
        key: str | None = None,
        guarded: Sequence[float | None] | None = None,
    ) -> list[Label | None]:
        """Take rewards, with the guardrail's values: all of them, or none on an error.

        Returns
        -------
        list
            The arms of the decisions; None for a reward that has come before.
        """
        desk, key = desk_of(self.bandit), self._key_for(key)
        with desk.lock:
            arms = [self._arm_of(token, key) for token in tokens]
            answer(desk, tokens, rewards, key, guarded=guarded)
        for arm, reward in zip(arms, rewards, strict=True):
            if arm is not None:
                self.count_reward(arm, reward)
        return arms

    def _arm_of(self, token: str, key: str | None) -> Label | None:
        """Return the arm of a decision that waits for this reward; None if it waits no more."""
        desk = desk_of(self.bandit)
        number = number_of_token(desk, token)
        if key is not None and desk.ledger.memory.part(number, key) is not None:
            return None
        arm = desk.out.get(number)
        return None if arm is None else desk.label(arm)

    def expire(self) -> int:
        """Stop waiting for decisions that are older than the reward window; return how many."""
        notes = self.family.notes
        window = notes.get("reward_window")
        if window is None:
            return 0
        late = self.bandit.expire(
            older_than=timedelta(seconds=window), reward=notes.get("default_reward")
        )
        self.expired += len(late)
        self.stamp += len(late)
        return len(late)

    @property
    def family(self) -> "Hosted":
        """The bandit that users know: its notes and payloads are those of all its segments."""
        return self if self.parent is None else self.parent

    def join(self, parent: "Hosted | None") -> None:
        """Become a segment or the holdout of a bandit, if there is one."""
        self.parent = parent
        if parent is not None and self.notes.get("holdout"):
            parent.holdout = self
        elif parent is not None:
            parent.segments[self.name] = self
        if self.waiting and self.family.unanswered is None:
            self.family.unanswered = time.monotonic()

    @property
    def members(self) -> "list[Hosted]":
        """This bandit, and all that belong to it."""
        held = [self.holdout] if self.holdout else []
        return [self, *self.segments.values(), *held]

    @property
    def is_holdout(self) -> bool:
        """Whether this bandit notes the decisions and rewards of units in a holdout."""
        return self.parent is not None and self.parent.holdout is self

    @property
    def is_alone(self) -> bool:
        """Whether no other bandit can be the one that decides on a request without a segment."""
        return self.holdout is None and not self.segments

    def holds_out(self, unit: str) -> bool:
        """Return whether a unit is one of the holdout: by a hash, so that it always is.

        A secret of the bandit goes into it, so that nobody can choose to be held out, and another
        bandit holds out others.
        """
        secret = bytes.fromhex(self.notes.get("holdout_secret", ""))
        found = hashlib.blake2b(unit.encode(), key=secret, digest_size=8).digest()
        share: float = self.notes["holdout"]["share"]
        return int.from_bytes(found, "big") < share * 2**64

    def leave(self) -> None:
        """Be gone, for whoever still has this object."""
        self.is_gone = True
        if self.parent is not None:
            self.parent.segments.pop(self.name, None)
            if self.parent.holdout is self:
                self.parent.holdout = None

    @property
    def segment(self) -> str | None:
        """The segment that this bandit is for; None for an ordinary bandit."""
        return self.notes.get("segment")

    def payload(self, label: Label) -> msgspec.Raw:
        """Return what an arm hands back, as JSON."""
        if self.parent is not None:
            return self.parent.payload(label)
        return self.payloads.get(label, _NOTHING)

    def count_decisions(self, made: Sequence[Decision[Label]]) -> None:
        """Count decisions, for the metrics."""
        self.stamp += len(made)
        family, counts = self.family, self.decisions
        if family.unanswered is None:
            family.unanswered = time.monotonic()
        for decision in made:
            arm = decision.arm
            counts[arm] = counts.get(arm, 0) + 1

    def count_reward(self, arm: Label, reward: float) -> None:
        """Count a reward, for the metrics."""
        self.stamp += 1
        self.family.unanswered, self.family.is_silent = None, False
        self.rewards[arm] = self.rewards.get(arm, 0) + 1
        self.reward_sums[arm] = self.reward_sums.get(arm, 0.0) + reward

    def find_arm(self, text: str) -> Label:
        """Return the label that an address names, or raise a `ProblemError`."""
        arms = self.bandit.arms
        if text in arms:
            return text
        with suppress(ValueError):
            if int(text) in arms:
                return int(text)
        raise ProblemError("not-found", f"bandit {self.name!r} has no arm {text!r}")


def _check_eligible(key: str, arms: set[Label], wanted: NewDecision) -> None:
    """Raise an error if a request with a key that is known could not have got these arms."""
    among, without = wanted.among, wanted.without or ()
    strange = [arm for arm in arms if arm in without or (among is not None and arm not in among)]
    if strange:
        raise KeyReusedError(
            f"key={short(key)} was for a decision that got {strange[0]!r}, which this request does "
            "not allow; take another key for another request"
        )


def reused(key: str, before: int, now: int) -> KeyReusedError:
    """Return the error for a key that belongs to another request."""
    return KeyReusedError(
        f"key={short(key)} was for {before} decisions, not for {now}; take another key for another "
        "request"
    )
