"""Bandits that belong together: the one that users know, those of its segments, its holdout.

Each is a bandit of the store with a log of its own. The notes of a member name the bandit to which
it belongs, and that one has all settings.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from secrets import token_hex
from typing import Any, Final

import msgspec

from lastblock.core.protocol import Policy
from lastblock.core.support import support_of
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live.bandit import Bandit, desk_of
from lastblock.live.labels import Label, refused
from lastblock.serve.floors import floors_of
from lastblock.serve.hosted import Hosted
from lastblock.serve.messages import ChangedBandit, NewArm, NewBandit, NewDecision
from lastblock.serve.problems import ProblemError
from lastblock.serve.safety_messages import Guardrail
from lastblock.store.documents import Found
from lastblock.store.store import Store
from lastblock.support.checks import line
from lastblock.support.errors import short

COLLECTION: Final = "bandits"
"""The documents of bandits in the store."""


def parent_of(found: Found | None) -> str | None:
    """Return the name of the bandit to which another belongs, by its document."""
    return None if found is None else found.value.get("parent")


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
    there = store.documents.all(COLLECTION).get(name)
    if name in store.names():
        if parent_of(there) != hosted.name or there is None:
            raise ProblemError("conflict", f"there is a bandit {name!r} already; delete it first")
        return hosted_of(name, store.bandit(name), there)
    version = store.documents.put(COLLECTION, name, notes)
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
