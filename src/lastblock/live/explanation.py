"""Why the last round was what it was."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import NOBODY
from lastblock.core.protocol import Policy, Record, States
from lastblock.core.rounds import leader_of
from lastblock.core.verdicts import (
    FLAGGED,
    FORCED,
    LOOKED,
    PROBED,
    REASONS,
    SILENT,
    WAITS,
    WON,
    Verdict,
)
from lastblock.live.changes import Change, last_change
from lastblock.live.labels import L

INDICES = {"index": "index", "chance": "probability"}
"""Fields by which a policy chooses, and what to call them."""


class Duel(NamedTuple, Generic[L]):
    """A challenger's mean against the mean of the leader's last rewards."""

    arm: L
    mean: float | None
    """Of the challenger's rewards; None if later ones have pushed them out of the memory."""
    length: int
    leader_mean: float | None
    leader_length: int
    """As many as the challenger has; fewer if the leader has fewer."""
    won: bool


@dataclass(frozen=True)
class Explanation(Generic[L]):
    """The last round of a bandit, as data; `str` says it in words."""

    policy: Policy
    round: int
    arms: tuple[L, ...]
    """The arms that the round pulls, in this order."""
    leader: L | None
    duels: tuple[Duel[L], ...]
    forced: tuple[L, ...]
    """Under-explored arms, pulled without a duel."""
    flagged: tuple[L, ...]
    """Arms that lost, or were not compared, and are pulled since nobody has looked at them for
    long."""
    waiting: tuple[L, ...]
    """Arms that won but wait for rewards that are out."""
    index: Mapping[L, float]
    """By which an index policy chooses."""
    change: Change[L] | None
    """The last change of the world before the round, where the policy has noticed one."""
    text: str

    def __str__(self) -> str:
        return self.text


def explained(
    policy: Policy,
    now: States,
    planned: npt.NDArray[np.uint64],
    labels: Sequence[L],
) -> Explanation[L]:
    """The last round, from a copy of the record now and the beginning of the record back then."""
    s = _as_planned(now, planned)
    if s.round == 0:
        return _unknown(policy, int(now[0].round))
    arms = tuple(labels[k] for k in s.queue[: s.queued])
    lead = leader_of(s)
    leader = None if lead == NOBODY else labels[lead]
    # A wrapper that hands out one arm at a time may not have asked the wrapped policy just now:
    # then duels and indices are not why.
    aside = _aside(policy, s, arms[0])
    verdicts = _verdicts(policy, s) if leader is not None and aside is None else []
    index = None if verdicts or aside is not None else _index(s, labels)
    round_ = int(s.round)
    change = last_change(s, labels)
    lines = [f"Round {round_} of {policy}."]
    if change is not None:
        lines.append(str(change))
    if leader is not None:
        lines.append(f"{leader!r} leads.")
    lines += [_sentence(verdict, labels, leader) for verdict in verdicts]
    if round_ == 1 and len(arms) == s.arms > 1:
        lines.append("The first round: every arm once.")
    elif aside is not None:
        lines.append(aside.text)
    elif index is not None:
        name, values = index
        lines.append(
            f"{arms[0]!r} was chosen by its {name}: "
            + ", ".join(f"{label!r} {value:.6g}" for label, value in values.items())
            + "."
        )
    lines.append("It pulls " + ", ".join(repr(arm) for arm in arms) + ".")
    return Explanation(
        policy,
        round_,
        arms,
        leader,
        tuple(_duel(v, labels) for v in verdicts if v.length > 0 and v.reason != FORCED),
        _with(verdicts, FORCED, labels),
        arms[:1]
        if aside is not None and aside.silent
        else _with(verdicts, FLAGGED, labels) + _with(verdicts, PROBED, labels),
        _with(verdicts, WAITS, labels),
        {} if index is None else index[1],
        change,
        "\n".join(lines),
    )


class _Aside(NamedTuple):
    """Why a wrapper pulls an arm, if not for what the wrapped policy compares now."""

    text: str
    silent: bool = False


def _aside(policy: Any, s: Record, arm: L) -> _Aside | None:
    whole = True  # whether the wrappers hand out whole rounds
    while "inner" in s.dtype.names:
        if "asked" in s.dtype.names and _looked(policy, s):
            return _Aside(f"{arm!r} was not chosen by {policy.policy}: {REASONS[LOOKED]}.", True)
        whole = whole and not {"due", "phase"} & set(s.dtype.names)
        policy, s = policy.policy, s["inner"]
    if whole:
        return None
    if s.round == 1 and s.queued == s.arms > 1:
        return _Aside(f"The first round of {policy}, as if new: every arm once.")
    if s.taken > 1:
        return _Aside(
            f"{arm!r} is number {s.taken} of the {s.queued} arms of round {s.round} of {policy}, "
            "planned before."
        )
    return None


def _looked(policy: Any, s: Record) -> bool:
    """Whether the arm was pulled for its long silence: `Restarting`, after it has planned.

    The record has its last decision no longer, this one is written over it. If the wrapped policy's
    last arm is another one, the wrapped policy was not asked. If it is the same one, and yet was
    the longest silent, then every decision since was a look at another arm, and they tell how long
    it was silent.
    """
    age = s.round - s.since
    if s.round == 1 or s.arms == 1 or (s.restarts > 0 and age == 1):  # it begins
        return False
    arm, inner = s.queue[0], s["inner"]
    if inner.queue[inner.taken - 1] != arm:
        return True
    others = {int(s.asked[k]) for k in range(s.arms) if k != arm}
    first = min(others)
    if not others.issuperset(range(first, s.round)):
        return False
    silent = float(s.round - first + 1) * policy.alertness
    return bool(silent * silent > age * (s.arms - 1.0))


def _unknown(policy: Policy, round_: int) -> Explanation[L]:
    text = (
        "The last round was not kept, since the arms have changed or a fleet planned it: ask first."
    )
    return Explanation(policy, round_, (), None, (), (), (), (), {}, None, text)


def _as_planned(now: States, planned: npt.NDArray[np.uint64]) -> Record:
    """The record when the round was planned; sums that have been written over since are NaN."""
    written = _written(now[0])
    now.view(np.uint64)[: planned.size] = planned
    s = now[0]
    if written is not None and s.round > 0:
        h = _innermost(s)["history"]
        for k, newer in enumerate((written - _written(s)).tolist()):
            if h["prefix"].shape[1] > 0:
                _overwrite(h["prefix"][k], h["written"][k] + 1, newer)
            else:
                _overwrite(h["rewards"][k], h["written"][k], newer)
    return s


def _overwrite(ring: npt.NDArray[Any], first: int, n: int) -> None:
    ring[(int(first) + np.arange(min(n, ring.size))) % ring.size] = np.nan


def _written(s: Record) -> Any:
    """How many rewards of each arm were appended to the history, if there is one."""
    inner = _innermost(s)
    if "history" in inner.dtype.names and "prefix" in inner.dtype["history"].names:
        h = inner["history"]
        compact = h["prefix"].shape[1] == 0  # there `written` is a place in the ring
        return np.array(s["told"] if compact else h["written"], np.int64)
    return None


def _innermost(s: Record) -> Record:
    """The record of a wrapped policy."""
    while "inner" in s.dtype.names:
        s = s["inner"]
    return s


def _verdicts(policy: Any, s: Record) -> list[Verdict]:
    while "inner" in s.dtype.names:
        policy, s = policy.policy, s["inner"]
    method = getattr(policy, "duels", None)
    return [] if method is None else list(method(s))


def _index(s: Record, labels: Sequence[L]) -> tuple[str, dict[L, float]] | None:
    s = _innermost(s)
    for field, name in INDICES.items():
        if field in s.dtype.names:
            return name, {labels[k]: float(s[field][k]) for k in range(s.arms)}
    return None


def _sentence(v: Verdict, labels: Sequence[L], leader: L | None) -> str:
    why = REASONS[v.reason]
    if v.reason in (FORCED, SILENT):
        return f"{labels[v.arm]!r} ({v.length} rewards): {why}."
    return (
        f"{labels[v.arm]!r}, mean {v.mean:.6g} of {v.length}, against {leader!r}, "
        f"mean {v.leader_mean:.6g} of its last {v.leader_length}: {why}."
    )


def _duel(v: Verdict, labels: Sequence[L]) -> Duel:
    return Duel(
        labels[v.arm],
        _known(v.mean),
        v.length,
        _known(v.leader_mean),
        v.leader_length,
        v.reason in (WON, WAITS),
    )


def _known(mean: float) -> float | None:
    return None if math.isnan(mean) else mean


def _with(verdicts: list[Verdict], reason: str, labels: Sequence[L]) -> tuple[L, ...]:
    return tuple(labels[v.arm] for v in verdicts if v.reason == reason)
