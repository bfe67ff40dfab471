"""A bandit that this process has open, with its segments and its holdout.

Each is a bandit of the store with a log of its own. The notes of a member name the bandit to which
it belongs, and that one has all settings.
"""

import hashlib
import json
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from secrets import token_hex
from typing import Any, TypedDict

import msgspec

from lastblock.core.protocol import Policy
from lastblock.core.support import support_of
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live.answering import (
    Checked,
    ask_again,
    asked_otherwise,
    check_answers,
    number_of_token,
    take_checked,
    tell_deferred,
)
from lastblock.live.bandit import Bandit, desk_of
from lastblock.live.decisions import Decision
from lastblock.live.eligibility import Wanted
from lastblock.live.labels import Label, check_floor, refused
from lastblock.live.memory import digest_of
from lastblock.serve.messages import (
    ChangedBandit,
    Guardrail,
    Holdout,
    NewArm,
    NewBandit,
    NewDecision,
    RewardOf,
)
from lastblock.serve.problems import ProblemError
from lastblock.serve.silence import USUAL_LIMIT, Silence
from lastblock.store.documents import BANDITS, Found, parent_of
from lastblock.store.storage import DamagedError
from lastblock.store.store import Store
from lastblock.support.checks import line
from lastblock.support.errors import short

_NOTHING = msgspec.Raw(b"null")
_ASKED = NewDecision.__struct_fields__


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
        self.silence = Silence(notes.get("reward_window") or 0.0)
        """How long decisions of this bandit and its members have gone on without a reward."""
        self.expired = 0
        self.observed = 0
        self.take(notes, version)

    def take(self, notes: dict[str, Any], version: int) -> None:
        """Use these notes from now on."""
        self.notes, self.version = notes, version
        self.paused = bool(notes.get("paused"))
        self.has_holdout = isinstance(notes.get("holdout"), dict)
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
        desk = desk_of(self.bandit)
        return len(desk.out) - len(desk.ledger.deferred)

    def ask(self, wanted: NewDecision, key: str | None, digest: str = "") -> list[Decision[Label]]:
        """Take decisions, or return those that were taken with this key and `digest` before."""
        bandit, n = self.bandit, wanted.n
        if self.is_holdout:
            control = self.family.notes["holdout"]["control"]
            wanted = NewDecision(n=n, among=[control])
        before, desk = bandit.asked, desk_of(bandit)
        some = Wanted.checked(wanted.among, wanted.without, wanted.distinct)
        with desk.lock:
            if key is None:
                made: list[Decision[Label]] = desk.ask_each(n or 1, wanted=some)
            else:
                made = ask_again(desk, n or 1, key, some, digest)
        if bandit.asked > before:
            self.count_decisions(made)
        return made

    def digest_of(self, *wanted: NewDecision) -> str:
        """Return what tells a request from others that come with the same key.

        A secret of the bandit goes into it, so that the unit cannot be guessed from the log.
        """
        secret = bytes.fromhex(self.family.notes.get("holdout_secret", ""))
        fields = [[getattr(one, each) for each in _ASKED] for one in wanted]
        return digest_of(fields, secret=secret)

    def check_ask(self, wanted: NewDecision, key: str | None, digest: str) -> None:
        """Raise an error if `ask` would."""
        desk, count = desk_of(self.bandit), wanted.n or 1
        found = None if key is None else desk.ledger.memory.asked(key)
        if found is not None and key is not None:
            if found.digest != digest:
                raise asked_otherwise(key)
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

    def check_rewards(self, told: Sequence[RewardOf]) -> Checked:
        """Check rewards with the guardrail's values, and change nothing."""
        desk = desk_of(self.bandit)
        # Where a decision has one reward, sending it again is harmless without a key.
        has_keys = desk.ledger.rule is not None
        with desk.lock:
            return check_answers(
                desk,
                [each.token for each in told],
                [each.reward for each in told],
                [each.key if has_keys else None for each in told],
                [each.guardrail for each in told],
                defer=self.defers,
            )

    @property
    def defers(self) -> bool:
        """Whether rewards wait for the end of the window, as the default reward does.

        Of the last decisions the policy would know only those with a reward otherwise.
        """
        return self.family.notes.get("default_reward") is not None

    def close(self, token: str, reward: float | None) -> float | None:
        """Stop waiting for rewards of a decision; return what the policy is told."""
        waited = self._waited(token)
        told = self.bandit.close(token, reward=reward, defer=self.defers)
        self.stamp += 1
        if waited is not None:  # what closes decisions works, too
            self.family.silence.reward(waited, time.monotonic())
        return told

    def tell(self, told: Sequence[RewardOf]) -> Checked:
        """Take those rewards that can be taken, with the guardrail's values."""
        desk = desk_of(self.bandit)
        with desk.lock:
            checked = self.check_rewards(told)
            waited = {place: self._waited(told[place].token) for place in checked.new}
            take_checked(desk, checked)
        for place, arm in checked.new.items():
            self.count_reward(arm, told[place].reward, waited[place] or 0.0)
        return checked

    def _waited(self, token: str) -> float | None:
        """Return how many seconds ago the clock of a decision was started; None if it is over."""
        desk = desk_of(self.bandit)
        begun = desk.ledger.begun_at(number_of_token(desk, token))
        return None if begun is None else max(0.0, time.time() - begun.timestamp())

    def expire(self) -> int:
        """End the decisions that are older than the reward window; return how many waited in vain.

        Deferred rewards are told then; all of them, if rewards no longer wait.
        """
        window, desk = self.family.notes.get("reward_window"), desk_of(self.bandit)
        reward = self.family.notes.get("default_reward")
        with desk.lock:
            out, waiting = len(desk.out), self.waiting
            if not self.defers and desk.ledger.deferred:
                tell_deferred(desk)
            if window is not None:
                self.bandit.expire(older_than=timedelta(seconds=window), reward=reward)
            self.stamp += out - len(desk.out)
            late = waiting - self.waiting
        self.expired += late
        return late

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

    @property
    def members(self) -> "list[Hosted]":
        """This bandit, and all that belong to it."""
        held = [self.holdout] if self.holdout else []
        return [self, *self.segments.values(), *held]

    @property
    def silence_limit(self) -> float:
        """The seconds of silence after which something is wrong."""
        return self.notes.get("alert_after") or USUAL_LIMIT

    @property
    def is_silent(self) -> bool:
        """Whether decisions go on and rewards no longer come."""
        return self.silence.is_longer_than(self.silence_limit)

    @property
    def is_holdout(self) -> bool:
        """Whether this bandit notes the decisions and rewards of units in a holdout."""
        return self.parent is not None and self.parent.holdout is self

    @property
    def is_alone(self) -> bool:
        """Whether no other bandit can be the one that decides on a request without a segment."""
        return not (self.has_holdout or self.segments)

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
        family.silence.decide(len(made), time.monotonic(), family.silence_limit)
        for decision in made:
            arm = decision.arm
            counts[arm] = counts.get(arm, 0) + 1

    def count_reward(self, arm: Label, reward: float, waited: float) -> None:
        """Count a reward, for the metrics; `waited` are the seconds since its decision."""
        self.stamp += 1
        self.family.silence.reward(waited, time.monotonic())
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


class BanditNotes(TypedDict, total=False):
    """What the document of a bandit may have."""

    parent: str
    segment: str
    created: str
    description: str
    paused: bool
    reward_window: float | None
    default_reward: float | None
    segments: int | None
    alert_after: float | None
    holdout: Holdout | bool | None
    holdout_secret: str
    guardrail: Guardrail | None
    unguarded: list[str]
    seed: int | None
    payloads: dict[str, Any]


def read_notes(store: Store) -> tuple[dict[str, Found], dict[str, str]]:
    """Return the documents of all bandits, and what is wrong with those that cannot be used."""
    damaged: dict[str, str] = {}
    found = store.documents.all(BANDITS, damaged)
    for name, each in found.items():
        if name not in damaged:
            try:
                notes = msgspec.convert(each.value, BanditNotes)
                labels = *notes.get("payloads", {}), *notes.get("unguarded", ())
                msgspec.json.decode(f"[{','.join(labels)}]")
                bytes.fromhex(notes.get("holdout_secret", ""))
            except ValueError as error:
                damaged[name] = str(error)
    return found, {
        name: f"the settings of bandit {name!r} in {store.label} are damaged ({reason}); restore "
        "the store from a copy"
        for name, reason in damaged.items()
    }


def hosted_of(name: str, bandit: Bandit[Any], found: Found | None) -> Hosted:
    """Return an open bandit with its notes."""
    value, version = (found.value, found.version) if found else ({}, 0)
    return Hosted(name, bandit, value, version)


def follow(parent: Hosted, member: Hosted) -> None:
    """Make a member's arms those of its parent.

    A crash may have come between the two; so this is done whenever a member is opened.
    """
    mine, theirs = member.bandit, parent.bandit
    for label, state in theirs.arms.items():
        if label not in mine.arms and state != "retired":
            mine.add_arm(label)
        elif state == "retired" and mine.arms.get(label, state) != "retired":
            mine.retire_arm(label)
    if mine.rewards != theirs.rewards:
        mine.configure(rewards=theirs.rewards)
    if floors_of(mine) != floors_of(theirs):
        mine.set_floors(floors_of(theirs))


def make_member(store: Store, hosted: Hosted, name: str, notes: dict[str, Any]) -> Hosted:
    """Create a bandit that belongs to `hosted`, with its arms and its policy.

    Its document comes first: so a crash leaves no bandit of which nobody knows what it is.
    """
    parent, desk = hosted.bandit, desk_of(hosted.bandit)
    notes_of_all, damaged = read_notes(store)
    there = notes_of_all.get(name)
    if name in store.names():
        if name in damaged:
            raise DamagedError({name: damaged[name]})
        if parent_of(name, there) != hosted.name or there is None:
            raise ProblemError("conflict", f"there is a bandit {name!r} already; delete it first")
        return hosted_of(name, store.bandit(name), there)
    version = store.documents.put(BANDITS, name, notes)
    states = {label: state for label, state in parent.arms.items() if state != "retired"}
    seed = hosted.notes.get("seed")
    if seed is not None:  # another one for each member, and always the same
        seed = int.from_bytes(blake2b(f"{seed} {name}".encode(), digest_size=8).digest()) >> 1
    made: Bandit[Any] = store.create(
        name,
        parent.policy,
        list(states),
        seed=seed,
        floor=floors_of(parent),
        room=desk.live.width,
        rewards=parent.rewards,
    )
    for label, state in states.items():
        if state == "paused":
            made.pause_arm(label)
    member = hosted_of(name, made, Found(version or 0, notes))
    member.is_new = True
    return member


def notes_of_new(new: NewBandit, arms: Sequence[NewArm]) -> dict[str, Any]:
    """Return the document of a bandit to create."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "description": new.description,
        "reward_window": new.reward_window,
        "default_reward": new.default_reward,
        "segments": new.segments,
        "alert_after": new.alert_after,
        "holdout": msgspec.to_builtins(new.holdout),
        "holdout_secret": token_hex(16),
        "guardrail": msgspec.to_builtins(new.guardrail),
        "seed": new.seed,
        "payloads": {json.dumps(arm.label): arm.payload for arm in arms},
    }


def check_plain(text: str, name: str) -> str:
    """Return the name of a bandit or segment that users give, or raise an error.

    Members are called ``bandit@segment`` and ``bandit@@holdout``: nobody else may take such a name.
    """
    if "@" in line(text, name):
        raise ProblemError(
            "invalid", f"{name}={short(text)} must not contain '@', which marks segments"
        )
    return text


def asked_before(hosted: Hosted, key: str | None) -> Hosted | None:
    """Return the member that has taken decisions with this key, which answers again."""
    if key is not None:
        for each in hosted.members:
            if desk_of(each.bandit).ledger.memory.asked(key) is not None:
                return each
    return None


def check_root(hosted: Hosted) -> None:
    """Raise a `ProblemError` if a bandit belongs to another, which should be asked or changed."""
    if hosted.parent is not None:
        raise ProblemError(
            "conflict",
            f"bandit {hosted.name!r} belongs to {hosted.parent.name!r}; ask and change that one",
        )


def check_match(hosted: Hosted, match: str | None) -> None:
    """Raise a `ProblemError` if a bandit has changed since the client read it."""
    given = [part.strip() for part in (match or "*").split(",")]
    if "*" not in given and hosted.etag not in given:
        raise ProblemError(
            "changed-meanwhile",
            f"bandit {hosted.name!r} has changed since you read it; read it again",
            {"ETag": hosted.etag},
        )


def check_control(hosted: Hosted, label: Label) -> None:
    """Raise a `ProblemError` for an arm that the holdout or the guardrail needs."""
    for name in ("holdout", "guardrail"):
        if (hosted.notes.get(name) or {}).get("control", None) == label:
            raise ProblemError("conflict", f"arm {label!r} is the control arm of the {name}")


def check_new(notes: Mapping[str, Any], labels: Collection[Label]) -> None:
    """Raise a `ProblemError` if arms, holdout or guardrail of a new bandit cannot be."""
    if len({str(label) for label in labels}) < len(labels):
        raise ProblemError(
            "invalid",
            f"arms={short(list(labels))} repeats a label; give each arm its own, since addresses "
            "do not tell '1' and 1 apart",
        )
    holdout = notes["holdout"]
    if holdout is not None and holdout["control"] not in labels:
        raise ProblemError("invalid", f"holdout: {holdout['control']!r} is not one of the arms")
    check_guardrail(notes, dict.fromkeys(labels, "active"))


def check_guardrail(notes: Mapping[str, Any], arms: Mapping[Label, str]) -> None:
    """Raise a `ProblemError` if a guardrail's control is not an active arm."""
    guardrail = notes.get("guardrail")
    if guardrail is not None and arms.get(guardrail["control"]) != "active":
        raise ProblemError(
            "invalid", f"guardrail: {guardrail['control']!r} is not one of the active arms"
        )


def unit_of(hosted: Hosted, wanted: NewDecision) -> str:
    """Return the unit of a request to a bandit with a holdout, or raise a `ProblemError`.

    What is refused does not depend on the unit: an error for one visitor in twenty would be
    found too late.
    """
    control = hosted.notes["holdout"]["control"]
    if wanted.unit is None:
        raise ProblemError(
            "invalid",
            f"bandit {hosted.name!r} has a holdout; give the unit that asks, such as "
            '{"unit": "visitor 17"}',
        )
    if wanted.distinct:
        raise ProblemError(
            "invalid", "a bandit with a holdout has no distinct arms: the holdout has one arm"
        )
    is_among = wanted.among is None or control in wanted.among
    if not is_among or control in (wanted.without or ()):
        raise ProblemError(
            "invalid",
            f"arm {control!r} must be among those that may be chosen: it is what the holdout gets",
        )
    return wanted.unit


def check_window(notes: dict[str, Any], policy: Policy) -> None:
    """Raise a `ProblemError` for a default reward that the policy would never get, or refuse."""
    reward = notes.get("default_reward")
    if reward is None:
        return
    if notes.get("reward_window") is None:
        raise ProblemError(
            "invalid", "a default_reward needs a reward_window, after which it comes"
        )
    low, high = support_of(policy)
    if not (abs(reward) < LARGEST_REWARD and low <= reward <= high):
        advice = "give null to forget decisions"
        raise ProblemError("invalid", f"default_{refused(reward, reward, policy, advice)}")


def notes_of_change(hosted: Hosted, change: ChangedBandit) -> dict[str, Any]:
    """Return what a change says of a bandit's notes, or raise a `ProblemError`."""
    given = {
        name: value
        for name in change.__struct_fields__
        if (value := getattr(change, name)) is not msgspec.UNSET
    }
    if isinstance(given.get("guardrail"), Guardrail):
        given["guardrail"] = msgspec.to_builtins(given["guardrail"])
        check_guardrail(given, hosted.bandit.arms)
        given["unguarded"] = []
    return given


Floors = float | dict[Label, float] | None
"""A share of every arm, shares of single arms, or no floors."""


def floors_of(bandit: Bandit[Any]) -> Floors:
    """Return the floors of a bandit."""
    of_all = desk_of(bandit).floor_of_all
    return (dict(bandit.floor) or None) if of_all is None else of_all


def floors_of_new(new: NewBandit, arms: list[NewArm]) -> Floors:
    """Return the floors of a bandit to create, or raise a `ProblemError`."""
    single: dict[Label, float] = {arm.label: arm.floor for arm in arms if arm.floor is not None}
    if single and new.floor is not None:
        raise ProblemError("invalid", "give a floor for every arm or for single ones, not both")
    if isinstance(new.floor, dict):
        labels = {str(arm.label): arm.label for arm in arms}
        return {labels.get(text, text): floor for text, floor in new.floor.items()}
    return single or new.floor


def read_floors(hosted: Hosted, given: float | dict[str, float] | None) -> Floors:
    """Return floors by the labels of arms, or raise an error if the bandit cannot have them."""
    if not isinstance(given, dict):
        check_floor(given, _there(hosted))
        return given
    found = {hosted.find_arm(text): floor for text, floor in given.items()}
    if len(found) < len(given):
        raise ProblemError("invalid", "floor: an arm is named twice")
    check_floor(found, _there(hosted))
    return found


def with_floor(hosted: Hosted, label: Label, floor: float | None) -> Floors:
    """Return the floors of a bandit with another one for this arm, which may be a new one."""
    there = _there(hosted)
    floors = {**hosted.bandit.floor, label: floor or 0.0}
    check_floor(floors, there if label in there else [*there, label])
    return floors


def set_floors(hosted: Hosted, floors: Floors) -> None:
    """Set the floors of a bandit and of all that belong to it."""
    for each in hosted.members:
        if floors_of(each.bandit) != floors:
            each.bandit.set_floors(floors)
            each.stamp += 1


def _there(hosted: Hosted) -> list[Label]:
    return [label for label, state in hosted.bandit.arms.items() if state != "retired"]
