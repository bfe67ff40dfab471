"""The summary of a bandit: its leader, its arms, and which of them is best; also in words."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np

from lastblock.core.describing import held
from lastblock.core.layout import grows
from lastblock.core.protocol import Policy, Record
from lastblock.core.restarts import begins_again
from lastblock.core.reward_stats import Told
from lastblock.core.support import Support, support_of
from lastblock.live.best_arm import best_arm
from lastblock.live.changes import Change, last_change
from lastblock.live.desk import Desk
from lastblock.live.labels import ACTIVE, PAUSED, RETIRED, ArmState, L
from lastblock.live.mean_rewards import assumed, mean_rewards, model_of
from lastblock.support.json_safe import json_fields
from lastblock.support.rounding import decimals_of, fixed
from lastblock.theory.confidence_sequences import Model

_LISTED = 6
"""How many arms a sentence names."""


class ArmSummary(NamedTuple, Generic[L]):
    """The row of one arm in a `Summary`."""

    arm: L
    """The label of the arm."""
    state: ArmState
    """"active", "paused" or "retired"."""
    pulls: int
    """The number of rewards that the arm has had."""
    out: int
    """The number of its decisions that wait for a reward."""
    held: float | None
    """How many of its rewards the policy still uses: those in its window or memory, or since a
    restart; a discounted count if the policy discounts. None if the policy does not count them."""
    mean: float | None
    """The mean reward: of all rewards that the arm has ever had. None if there are none, or if a
    fleet took them, which does not note means."""
    low: float
    """The lower end of an interval for the mean of the arm, which holds at any time; infinite, or
    the smallest possible reward, if nothing is known yet."""
    high: float
    """The upper end of that interval."""
    held_mean: float | None = None
    """The mean of the held rewards, by which the policy goes, or of all rewards if `held` is None.
    None if there are no rewards, or if the policy has forgotten some and keeps no sum of the
    others."""
    chance: float | None = None
    """The probability that the arm is the best active one, given all rewards so far and a prior
    that says little (for a single look; `Summary.sure` holds at any time). None for a retired arm,
    if some active arm has had no reward, or where `Summary.best` is None."""
    deferred: int = 0
    """The number of its decisions whose reward has come, and that the policy learns when they
    expire."""

    def to_dict(self) -> dict[str, object]:
        """Return the row as values for JSON; numbers that are infinite become None."""
        return json_fields(self)


@dataclass(frozen=True)
class Summary(Generic[L]):
    """A bandit at a glance, as data; `str` makes a table of it. `Bandit.summary` returns it."""

    policy: Policy
    """The policy that decides."""
    asked: int
    """The number of decisions that have been asked for."""
    leader: L | None
    """The policy's leader. For a policy without one, the arm with the largest mean of the rewards
    that the policy uses, or None if that mean is not known for some arm."""
    since: int | None
    """The decision for which it became the leader; None for a policy without a leader."""
    arms: tuple[ArmSummary[L], ...]
    """One row per arm, including retired arms."""
    change: Change[L] | None
    """The last change of the world that the policy has noticed, or None."""
    confidence: float = 0.95
    """The confidence of all intervals and of `contenders`."""
    best: L | None = None
    """The active arm with the largest mean of all its rewards. None if there are no rewards, if a
    fleet took them, or if the policy has noticed a change, which all-time means do not know of."""
    sure: float | None = None
    """How sure it is that `best` is the best active arm: with a probability of at least `sure`,
    such a statement is not wrong at any time. None if `best` is None."""
    contenders: tuple[L, ...] = ()
    """The arms that may be the best active one. With a probability of `confidence` the best one is
    among them at all times. Empty if `best` is None."""
    rewards: str = ""
    """What the intervals and `contenders` assume of the rewards."""

    @property
    def forgets(self) -> bool:
        """Whether the policy uses other rewards than all of them."""
        return any(row.held is not None and row.held != row.pulls for row in self.arms)

    def __str__(self) -> str:
        return _in_words(self)

    def to_dict(self) -> dict[str, object]:
        """Return the summary as values for JSON; numbers that are infinite become None.

        Returns
        -------
        dict
            An entry for each attribute. The policy is there as text.
        """
        return {**json_fields(self, leave_out=("policy",)), "policy": str(self.policy)}


class _Row(NamedTuple, Generic[L]):
    """What we know of an arm before we compare it with others."""

    arm: L
    state: ArmState
    told: Told
    out: int
    deferred: int
    held: float | None
    held_mean: float | None


class Gathered(NamedTuple, Generic[L]):
    """What a summary needs of a bandit. To read it takes far less time than to compute with it."""

    policy: Policy
    asked: int
    leader: L | None
    since: int | None
    rows: tuple[_Row[L], ...]
    change: Change[L] | None
    confidence: float


def gather(desk: Desk[L], confidence: float) -> Gathered[L]:
    """Read what a summary needs from a bandit."""
    policy, s, notes, active = desk.live.policy, desk.live.s, desk.live.notes, desk.active
    keeps_all = grows(policy, len(active))
    deferred = Counter(desk.label(desk.out[id]) for id in desk.ledger.deferred)
    out = Counter(map(desk.label, desk.out.values())) - deferred
    rows: list[_Row[L]] = []
    for label in desk.labels:
        waiting = out[label], deferred[label]
        if label in desk.retired:
            told = desk.retired[label]
            rows.append(_Row(label, RETIRED, told, *waiting, None, _mean_of_all(told)))
        else:
            arm = active.index(label)
            told = notes.told_of(arm)
            count, mean = held_by(policy, s, arm, told, keeps_all)
            state: ArmState = PAUSED if label in desk.paused else ACTIVE
            rows.append(_Row(label, state, told, *waiting, count, mean))
    has_leader = notes.leader is not None and not begins_again(s)
    leader = active[notes.leader] if notes.leader is not None and has_leader else None
    since = notes.since if has_leader else None
    change = last_change(s, active)
    return Gathered(policy, desk.asked, leader, since, tuple(rows), change, confidence)


def summarise(found: Gathered[L], bounds: Support | None) -> Summary[L]:
    """Return the summary of a bandit, from what `gather` has read."""
    rows, confidence = found.rows, found.confidence
    model = model_of([row.told for row in rows], support_of(found.policy), bounds)
    arms = _arm_summaries(rows, model, confidence)
    stated = None
    playing = [k for k, row in enumerate(rows) if row.state != RETIRED]
    are_known = not any(row.told.pulls and math.isnan(row.told.mean) for row in rows)
    if found.change is None and are_known:
        stated = best_arm(
            model,
            [rows[k].arm for k in playing],
            [rows[k].told for k in playing],
            [arms[k].low for k in playing],
            confidence,
            ever=len(rows),
            retired=len(rows) - len(playing),
        )
    if stated is not None:
        arms = tuple(row._replace(chance=stated.chances.get(row.arm)) for row in arms)
    return Summary(
        found.policy,
        found.asked,
        _best_seen(arms) if found.leader is None else found.leader,
        found.since,
        arms,
        found.change,
        confidence,
        None if stated is None else stated.best,
        None if stated is None else stated.sure,
        () if stated is None else stated.contenders,
        assumed(model) if are_known else "",
    )


def _arm_summaries(
    rows: Sequence[_Row[L]], model: Model, confidence: float
) -> tuple[ArmSummary[L], ...]:
    found = mean_rewards(model, [row.told for row in rows], confidence)
    return tuple(
        ArmSummary(
            row.arm,
            row.state,
            each.rewards,
            row.out,
            row.held,
            each.mean,
            each.low,
            each.high,
            row.held_mean,
            deferred=row.deferred,
        )
        for row, each in zip(rows, found, strict=True)
    )


def _best_seen(rows: Sequence[ArmSummary[L]]) -> L | None:
    """Return the arm with the largest held mean; None if that of an arm with rewards is unknown."""
    held = [row for row in rows if row.state == ACTIVE and row.pulls > 0 and row.held != 0.0]
    means = {row.arm: row.held_mean for row in held if row.held_mean is not None}
    return max(means, key=means.__getitem__) if held and len(means) == len(held) else None


def held_by(
    policy: Policy, s: Record, arm: int, told: Told, keeps_all: bool
) -> tuple[float | None, float | None]:
    """Return how many rewards of an arm a policy uses, and their mean.

    `told` are all rewards of the arm, and `keeps_all` says whether the policy's record grows with
    their number.
    """
    found = held(policy, s, arm)
    if found is None:
        return None, _mean_of_all(told)
    if found.size is None:
        return None, None
    exact = found.rewards is None or keeps_all
    if found.size == told.pulls and not math.isnan(told.mean) and exact:
        return found.size, _mean_of_all(told)  # nothing is forgotten
    mean = None
    if found.rewards is not None:
        rewards = found.rewards()
        with np.errstate(over="ignore"):
            mean = float((rewards / rewards.size).sum()) if rewards.size else None
    elif found.size > 0.0 and found.total is not None:
        mean = found.total / found.size
    return found.size, None if mean is None else found.low + found.width * mean


def _mean_of_all(told: Told) -> float | None:
    return told.mean if told.pulls > 0 and not math.isnan(told.mean) else None


def _in_words(summary: Summary[Any]) -> str:
    """Return a summary as text: a line on the leader, one on the best arm, a table, and notes."""
    first = f"{summary.policy}, {summary.asked} decisions"
    if summary.leader is not None:
        since = "" if summary.since is None else f" since decision {summary.since}"
        first += f", {summary.leader!r} leads{since}"
    lines = [first]
    if summary.change is not None:
        lines.append(str(summary.change))
    if summary.best is not None:
        lines.append(_best(summary))
    return "\n".join([*lines, *_table(summary), *_notes(summary)])


def _best(summary: Summary[Any]) -> str:
    if len(summary.contenders) == 1:
        return f"{summary.best!r} is best: {_percent(summary.sure or 0.0)} % sure, at any time."
    (chance,) = (row.chance for row in summary.arms if row.arm == summary.best)
    first = f"{summary.best!r} has the largest mean"
    if chance is not None:
        first += f" and is best with a probability of {min(chance, 0.999):.3g}, for one look"
    others = [repr(arm) for arm in summary.contenders if arm != summary.best]
    level = _percent(summary.confidence)
    return f"{first}. Not ruled out at {level} %, at any time: {_listed(others)}."


def _listed(arms: Sequence[str]) -> str:
    """Return some arms by name, and how many others there are."""
    listed = ", ".join(arms[:_LISTED])
    return f"{listed} and {len(arms) - _LISTED} other arms" if len(arms) > _LISTED else listed


def _table(summary: Summary[Any]) -> list[str]:
    level = _percent(summary.confidence)
    head = ["arm", "state", "pulls", "out", "mean reward", f"{level} % at any time"]
    rows = [
        [str(row.arm), row.state, str(row.pulls), str(row.out), *_mean_and_ends(row)]
        for row in summary.arms
    ]
    if summary.forgets:
        head += ["held", "their mean"]
        for cells, row in zip(rows, summary.arms, strict=True):
            held = "" if row.held is None else f"{row.held:.6g}"
            cells += [held, _mean(row.held_mean)]
    widths = [max(len(cells[i]) for cells in (head, *rows)) for i in range(len(head))]
    return ["  ".join(_aligned(cells, widths)).rstrip() for cells in (head, *rows)]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return cells in their widths: words to the left, numbers to the right."""
    return [
        cell.ljust(width) if i in (0, 1, 5) else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]


def _notes(summary: Summary[Any]) -> list[str]:
    notes: list[str] = []
    if deferred := sum(row.deferred for row in summary.arms):
        notes.append(f"Rewards that the policy learns when their decisions expire: {deferred}.")
    if not any(row.pulls for row in summary.arms):
        return notes
    if not summary.rewards:
        notes.append("A fleet took some of these rewards. It does not note their means.")
    elif summary.change is not None:
        notes.append(
            "The means of all pulls mix rewards from before and after the change, so they do not "
            "say which arm is best."
        )
    else:
        notes.append(
            f"Mean rewards: of all pulls, with intervals for {summary.rewards}, if no arm's mean "
            "changes."
        )
    blank = [
        repr(row.arm)
        for row in summary.arms
        if row.mean is not None and not math.isfinite(row.high - row.low)
    ]
    if blank:
        notes.append(
            f"No interval for {_listed(blank)}: the rewards so far do not tell how much they vary. "
            "If you know the smallest and the largest possible reward, give them: "
            "summary(bounds=(…, …))."
        )
    if summary.forgets:
        notes.append("Held: the rewards that the policy still uses.")
    return notes


def _mean(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.5g}"


def _mean_and_ends(row: ArmSummary[Any]) -> list[str]:
    """Return the mean and its interval with as many decimals as the interval is worth."""
    decimals = decimals_of((row.high - row.low) / 4.0)
    if row.mean is None or decimals is None:
        return [_mean(row.mean), "" if decimals is None else f"{row.low:.5g} … {row.high:.5g}"]
    mean, low, high = (fixed(value, decimals) for value in (row.mean, row.low, row.high))
    return [mean, f"{low} … {high}"]


def _percent(share: float) -> str:
    """Return a share in per cent, never rounded up to 100."""
    percent = min(math.floor(share * 1000), 999) / 10  # 1 - 1e-20 is 1.0
    return f"{percent:g}"
