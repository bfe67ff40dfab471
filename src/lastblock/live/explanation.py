"""The explanation of a bandit's last round, in words and as data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.describing import explain
from lastblock.core.history import forget_overwritten, histories_in
from lastblock.core.layout import NOBODY
from lastblock.core.protocol import (
    Aside,
    Policy,
    Record,
    Scores,
    States,
    innermost,
)
from lastblock.core.rounds import leader_of
from lastblock.core.verdicts import (
    BEGUN,
    DOUBTED,
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
from lastblock.support.json_safe import json_fields


class Duel(NamedTuple, Generic[L]):
    """The comparison of a challenger's mean with the mean of the leader's last rewards."""

    arm: L
    """The challenger."""
    mean: float | None
    """The mean of the challenger's rewards; None if later rewards have replaced them in memory."""
    length: int
    """The number of the challenger's rewards."""
    leader_mean: float | None
    """The mean of the leader's last `leader_length` rewards; None as for `mean`."""
    leader_length: int
    """As many rewards as the challenger has, or fewer if the leader has fewer."""
    won: bool
    """Whether the challenger won; if one of the means is None, whether it was pulled."""

    def to_dict(self) -> dict[str, object]:
        """Return the duel as values for JSON."""
        return json_fields(self)


@dataclass(frozen=True)
class Explanation(Generic[L]):
    """Why a bandit's last round pulled its arms, as data; `str` says it in words.

    `Bandit.explain` returns it.
    """

    policy: Policy
    """The policy that planned the round."""
    round: int
    """The number of the round; the first is 1."""
    arms: tuple[L, ...]
    """The arms that the round pulls, in this order."""
    leader: L | None
    """The leader of the round; None if the policy has no leader."""
    duels: tuple[Duel[L], ...]
    """The comparisons with the leader; empty for a policy that makes none."""
    forced: tuple[L, ...]
    """Under-explored arms, pulled without a duel."""
    flagged: tuple[L, ...]
    """Arms pulled although they lost or were not compared: they had not been pulled for long."""
    waiting: tuple[L, ...]
    """Arms that won, but are not pulled before their missing rewards have come."""
    index: Mapping[L, float]
    """The index of each arm, by which an index policy chooses; empty for other policies."""
    change: Change[L] | None
    """The last change of the world that the policy noticed before the round, or None."""
    text: str
    """The explanation in words."""
    without: tuple[L, ...] = ()
    """The arms that could not be chosen in the last decision: they were paused, or left out."""
    postponed: tuple[L, ...] = ()
    """Those of them that have a turn in the round as soon as they are eligible again."""

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, object]:
        """Return the explanation as values for JSON; an index that is infinite becomes None.

        Returns
        -------
        dict
            An entry for each attribute. The policy, and the labels in `index`, are text.
        """
        return {**json_fields(self, leave_out=("policy",)), "policy": str(self.policy)}


def explained(
    policy: Policy,
    now: States,
    planned: npt.NDArray[np.uint64],
    labels: Sequence[L],
) -> Explanation[L]:
    """Return the explanation of the last round.

    `now` is a copy of the record, which this function changes; `planned` is the beginning of the
    record when the round was planned.
    """
    s = _as_planned(policy, now, planned)
    if s.round == 0:
        return _unknown(policy, int(now[0].round))
    arms = tuple(labels[k] for k in s.queue[: s.queued])
    lead = leader_of(s)
    leader = None if lead == NOBODY else labels[lead]
    # A wrapper that hands out one arm at a time may not have asked the wrapped policy just now;
    # then duels and indices do not explain the arm.
    said = explain(policy, s)
    apart = said if isinstance(said, Aside) else None
    index = _index(said, labels[: s.arms]) if isinstance(said, Scores) else None
    verdicts = [] if apart or index or said is None else list(said)
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
        return f"The first round of {aside.policy} since it began again: every arm once."
    if aside.reason == QUEUED:
        return (
            f"{arm!r} is number {aside.number} of the {aside.arms} arms of round {aside.round} of "
            f"{aside.policy}, planned before."
        )
    return f"{arm!r} was not chosen by {aside.policy}: {REASONS[aside.reason]}."


def _unknown(policy: Policy, round_: int) -> Explanation[L]:
    text = (
        "The last round is not known: since then the arms have changed, or the bandit was loaded "
        "after some arms were left out, or a fleet planned it. Call ask(), then explain() again."
    )
    return Explanation(policy, round_, (), None, (), (), (), (), {}, None, text)


def _as_planned(policy: Policy, now: States, planned: npt.NDArray[np.uint64]) -> Record:
    """Return the record when the round was planned; sums overwritten since then are NaN."""
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
    """Return, for each history of a policy, how many rewards of each arm it has received."""
    histories = histories_in(innermost(policy, s)[1])
    return [np.array(h["written"], np.int64) for h in histories]


def _index(scores: Scores, labels: Sequence[L]) -> tuple[str, dict[L, float]]:
    return scores.name, {label: float(scores.values[k]) for k, label in enumerate(labels)}


def _sentence(v: Verdict, labels: Sequence[L], leader: L | None) -> str:
    why = REASONS[v.reason]
    if v.reason in (FORCED, SILENT):
        return f"{labels[v.arm]!r} ({v.length} rewards): {why}."
    if math.isnan(v.mean) or math.isnan(v.leader_mean):
        done = "pulled" if v.reason == WON else "not pulled"
        return (
            f"{labels[v.arm]!r} ({v.length} rewards) was compared with {leader!r} (its last "
            f"{v.leader_length}) and {done}; so many rewards have come since that those which were "
            "compared are no longer in memory."
        )
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
        v.reason in (WON, WAITS, DOUBTED),
    )


def _known(mean: float) -> float | None:
    return None if math.isnan(mean) else mean


def _with(verdicts: list[Verdict], reason: str, labels: Sequence[L]) -> tuple[L, ...]:
    return tuple(labels[v.arm] for v in verdicts if v.reason == reason)
