"""Why the last round was what it was."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.history import forget_overwritten, histories_in, is_compact
from lastblock.core.layout import NOBODY
from lastblock.core.protocol import (
    Aside,
    Policy,
    Record,
    States,
    aside,
    chosen_by,
    innermost,
)
from lastblock.core.rounds import leader_of
from lastblock.core.verdicts import (
    BEGUN,
    FLAGGED,
    FORCED,
    LOOKED,
    PROBED,
    QUEUED,
    REASONS,
    SILENT,
    WAITS,
    WON,
    Verdict,
)
from lastblock.live.changes import Change, last_change
from lastblock.live.labels import L


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
    s = _as_planned(policy, now, planned)
    if s.round == 0:
        return _unknown(policy, int(now[0].round))
    arms = tuple(labels[k] for k in s.queue[: s.queued])
    lead = leader_of(s)
    leader = None if lead == NOBODY else labels[lead]
    # A wrapper that hands out one arm at a time may not have asked the wrapped policy just now:
    # then duels and indices are not why.
    apart = aside(policy, s)
    verdicts = _verdicts(policy, s) if leader is not None and apart is None else []
    index = None if verdicts or apart is not None else _index(policy, s, labels)
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
    elif apart is not None:
        lines.append(_said_aside(apart, arms[0]))
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
        if apart is not None and apart.reason == LOOKED
        else _with(verdicts, FLAGGED, labels) + _with(verdicts, PROBED, labels),
        _with(verdicts, WAITS, labels),
        {} if index is None else index[1],
        change,
        "\n".join(lines),
    )


def _said_aside(aside: Aside, arm: L) -> str:
    if aside.reason == BEGUN:
        return f"The first round of {aside.policy}, as if new: every arm once."
    if aside.reason == QUEUED:
        return (
            f"{arm!r} is number {aside.number} of the {aside.arms} arms of round {aside.round} of "
            f"{aside.policy}, planned before."
        )
    return f"{arm!r} was not chosen by {aside.policy}: {REASONS[aside.reason]}."


def _unknown(policy: Policy, round_: int) -> Explanation[L]:
    text = (
        "The last round was not kept, since the arms have changed or a fleet planned it: ask first."
    )
    return Explanation(policy, round_, (), None, (), (), (), (), {}, None, text)


def _as_planned(policy: Policy, now: States, planned: npt.NDArray[np.uint64]) -> Record:
    """The record when the round was planned; sums that have been written over since are NaN."""
    before = _appended(policy, now[0])
    now.view(np.uint64)[: planned.size] = planned
    s = now[0]
    if s.round > 0:
        histories = histories_in(innermost(policy, s)[1])
        after = _appended(policy, s)
        for h, late, early in zip(histories, before, after, strict=True):
            forget_overwritten(h, (late - early).tolist())
    return s


def _appended(policy: Policy, s: Record) -> list[npt.NDArray[np.int64]]:
    """How many rewards of each arm were appended to each history of a policy."""
    histories = histories_in(innermost(policy, s)[1])
    return [np.array(s["told"] if is_compact(h) else h["written"], np.int64) for h in histories]


def _verdicts(policy: Policy, s: Record) -> list[Verdict]:
    policy, s = innermost(policy, s)
    method = getattr(policy, "duels", None)
    return [] if method is None else list(method(s))


def _index(policy: Policy, s: Record, labels: Sequence[L]) -> tuple[str, dict[L, float]] | None:
    scores = chosen_by(policy, s)
    if scores is None:
        return None
    return scores.name, {labels[k]: float(scores.values[k]) for k in range(s.arms)}


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
