"""The summary of a bandit: its leader, and the counts and means of its arms."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import grows
from lastblock.core.protocol import Policy, Record, begins_again, held
from lastblock.core.reward_stats import Told
from lastblock.live.changes import Change, last_change
from lastblock.live.labels import ACTIVE, RETIRED, ArmState, L
from lastblock.live.notes import Notes

NONE = Told(0, 0.0, 0.0)
"""What an arm without rewards has."""
UNKNOWN = Told(0, math.nan, math.inf)
"""What we say of an arm with rewards whose sum the policy does not keep."""


class ArmSummary(NamedTuple, Generic[L]):
    """The row of one arm in a `Summary`."""

    arm: L
    """The label of the arm."""
    state: ArmState
    """"active" or "retired"."""
    pulls: int
    """The number of rewards that the arm has had."""
    out: int
    """The number of its decisions that wait for a reward."""
    held: float | None
    """How many of its rewards the policy still uses: those in its window or memory, or since a
    restart; a discounted count if the policy discounts. None if the policy does not count them."""
    mean: float | None
    """The mean of the held rewards, or of all rewards if `held` is None. None if there are no
    rewards, or if the policy has forgotten some and keeps no sum of the others."""
    low: float
    """The lower end of a 95 % interval for the mean, by the normal approximation. Infinite if the
    spread is not known, as when the policy has forgotten some rewards and keeps only a sum."""
    high: float
    """The upper end of that interval."""


@dataclass(frozen=True)
class Summary(Generic[L]):
    """A bandit at a glance, as data; `str` makes a table of it. `Bandit.summary` returns it."""

    policy: Policy
    """The policy that decides."""
    asked: int
    """The number of decisions that have been asked for."""
    leader: L | None
    """The policy's leader. For a policy without one, the arm with the largest mean, or None if the
    mean of some arm is not known."""
    since: int | None
    """The decision for which it became the leader; None for a policy without a leader."""
    arms: tuple[ArmSummary[L], ...]
    """One row per arm, including retired arms."""
    change: Change[L] | None
    """The last change of the world that the policy has noticed, or None."""

    def __str__(self) -> str:
        lines = [f"{self.policy}, {self.asked} decisions"]
        if self.leader is not None:
            since = "" if self.since is None else f" since decision {self.since}"
            lines[0] += f", {self.leader!r} leads{since}"
        if self.change is not None:
            lines.append(str(self.change))
        width = max(3, *(len(str(arm.arm)) for arm in self.arms))
        lines.append(
            f"{'arm':<{width}}  {'state':<8}{'pulls':>9}{'out':>7}{'held':>9}{'mean':>12}  95 %"
        )
        for arm in self.arms:
            held = "" if arm.held is None else f"{arm.held:.6g}"
            mean = "" if arm.mean is None else f"{arm.mean:.5g}"
            interval = f"{arm.low:.5g} … {arm.high:.5g}" if math.isfinite(arm.low) else ""
            lines.append(
                f"{arm.arm!s:<{width}}  {arm.state:<8}{arm.pulls:>9}{arm.out:>7}{held:>9}"
                f"{mean:>12}  {interval}".rstrip()
            )
        return "\n".join(lines)


def summarised(
    policy: Policy,
    s: Record,
    notes: Notes,
    labels: Sequence[L],
    active: Sequence[L],
    retired: Mapping[L, Told],
    out: Sequence[L],
    asked: int,
) -> Summary[L]:
    """Return the summary of a bandit; `out` holds the arms of its pending decisions."""
    rows = []
    keeps_all = grows(policy, len(active))
    for label in labels:
        waiting = out.count(label)
        if label in retired:
            rows.append(_row(label, RETIRED, retired[label], waiting, None, retired[label]))
        else:
            arm = active.index(label)
            total = notes.told_of(arm)
            count, seen = seen_by(policy, s, arm, total, keeps_all)
            rows.append(_row(label, ACTIVE, total, waiting, count, seen))
    last = last_change(s, active)
    if notes.leader is not None and not begins_again(policy, s):
        return Summary(policy, asked, active[notes.leader], notes.since, tuple(rows), last)
    return Summary(policy, asked, _best(rows), None, tuple(rows), last)


def _best(rows: Sequence[ArmSummary[L]]) -> L | None:
    """Return the arm with the largest mean; None if the mean of an arm with rewards is unknown."""
    held = [row for row in rows if row.state == ACTIVE and row.pulls > 0 and row.held != 0.0]
    means = {row.arm: row.mean for row in held if row.mean is not None}
    return max(means, key=means.__getitem__) if held and len(means) == len(held) else None


def _row(
    label: L, state: ArmState, total: Told, out: int, held: float | None, seen: Told
) -> ArmSummary[L]:
    mean = None if seen.pulls == 0 or math.isnan(seen.mean) else seen.mean
    half = seen.half_width
    return ArmSummary(
        label, state, total.pulls, out, held, mean, seen.mean - half, seen.mean + half
    )


def _told(rewards: npt.NDArray[np.float64]) -> Told:
    if rewards.size == 0:
        return NONE
    with np.errstate(over="ignore"):  # rewards of 1e200 have no spread that fits a float
        mean = float((rewards / rewards.size).sum())
        return Told(rewards.size, mean, float(((rewards - mean) ** 2).sum()))


def seen_by(
    policy: Policy, s: Record, arm: int, told: Told, keeps_all: bool
) -> tuple[float | None, Told]:
    """Return how many rewards of an arm a policy uses, and their mean and spread.

    `told` are all rewards of the arm, and `keeps_all` says whether the policy's record grows with
    their number.
    """
    found = held(policy, s, arm)
    if found is None:
        return None, told
    if found.size is None:
        return None, UNKNOWN
    exact = found.rewards is None or keeps_all
    if found.size == told.pulls and not math.isnan(told.mean) and exact:
        return found.size, told  # nothing is forgotten
    seen = _summed(found.size, found.total) if found.rewards is None else _told(found.rewards())
    low, width = found.low, found.width
    return found.size, Told(seen.pulls, low + width * seen.mean, width * width * seen.spread)


def _summed(count: float, total: float | None) -> Told:
    """Return what is known of rewards of which the policy keeps the sum, or not even that."""
    if count <= 0.0:
        return NONE
    return UNKNOWN if total is None else Told(math.ceil(count), total / count, math.inf)
