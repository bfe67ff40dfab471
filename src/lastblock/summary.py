"""Where a bandit stands."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.changes import Change, last_change
from lastblock.history import STRETCH
from lastblock.labels import ACTIVE, RETIRED, Label
from lastblock.notes import Notes, Told
from lastblock.protocol import Policy, Record


class ArmSummary(NamedTuple):
    """One arm."""

    arm: Label
    state: str
    """"active" or "retired"."""
    pulls: int
    """Rewards that it has had."""
    out: int
    """Decisions that wait for theirs."""
    held: float | None
    """How many of its rewards the policy still looks at: in its window or memory, or since a
    restart; discounted where the policy discounts. None where it does not count them."""
    mean: float | None
    """Of the held rewards where they are kept one by one, else of all."""
    low: float
    high: float
    """A 95 % interval for the mean, by the normal law."""


@dataclass(frozen=True)
class Summary:
    """A bandit at a glance, as data; `str` is a table."""

    policy: Policy
    asked: int
    leader: Label | None
    """The policy's leader; for a policy without one, the arm with the largest mean."""
    since: int | None
    """The decision for which it became the leader, where the policy has one."""
    arms: tuple[ArmSummary, ...]
    change: Change | None
    """The last one, where the policy has restarted."""

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
    labels: Sequence[Label],
    active: Sequence[Label],
    retired: Mapping[Label, Told],
    out: Sequence[Label],
    asked: int,
) -> Summary:
    """The summary of a bandit; `out` are the arms of its pending decisions."""
    rows = []
    for label in labels:
        waiting = out.count(label)
        if label in retired:
            rows.append(_row(label, RETIRED, retired[label], waiting, None, retired[label]))
        else:
            arm = active.index(label)
            total = notes.told_of(arm)
            held, rewards = held_by(policy, s, arm)
            seen = total if rewards is None else _told(rewards)
            rows.append(_row(label, ACTIVE, total, waiting, held, seen))
    last = last_change(s, active)
    if notes.leader is not None:
        return Summary(policy, asked, active[notes.leader], notes.since, tuple(rows), last)
    means = {row.arm: row.mean for row in rows if row.state == ACTIVE and row.mean is not None}
    best = max(means, key=means.__getitem__) if means else None
    return Summary(policy, asked, best, None, tuple(rows), last)


def _row(
    label: Label, state: str, total: Told, out: int, held: float | None, seen: Told
) -> ArmSummary:
    mean = None if seen.pulls == 0 or math.isnan(seen.mean) else seen.mean
    half = seen.half_width
    return ArmSummary(
        label, state, total.pulls, out, held, mean, seen.mean - half, seen.mean + half
    )


def _told(rewards: npt.NDArray[np.float64]) -> Told:
    if rewards.size == 0:
        return Told(0, 0.0, 0.0)
    with np.errstate(over="ignore"):  # rewards of 1e200 have no spread that fits a float
        mean = float((rewards / rewards.size).sum())
        return Told(rewards.size, mean, float(((rewards - mean) ** 2).sum()))


def held_by(
    policy: Any, s: Record, arm: int
) -> tuple[float | None, npt.NDArray[np.float64] | None]:
    """How many rewards of an arm a policy looks at; these rewards, if it forgets others."""
    while "inner" in s.dtype.names:
        policy, s = policy.policy, s["inner"]
    names = s.dtype.names
    if "recent" in names and s.dtype["recent"].names:
        return float(s.recent.pulls[arm]), _in_window(s.recent, arm, policy.window)
    if "history" in names:
        h = s.history
        if "kept" not in h.dtype.names:
            return float(h.zeros[arm] + h.ones[arm] + h.others[arm]), None
        if policy.grows:
            return float(h.kept[arm]), None
        origin = s.origin if "origin" in names else 0.0  # what was taken from every reward
        return float(h.kept[arm]), _in_ring(h, arm) + origin
    for name in ("pulls", "counts"):
        if name in names:
            return float(s[name][arm]), None
    return None, None


def _in_window(w: Record, arm: int, window: int) -> npt.NDArray[np.float64]:
    last = np.arange(max(0, w.written - window), w.written) % w.arm.shape[0]
    rewards: npt.NDArray[np.float64] = w.reward[last][w.arm[last] == arm]
    return rewards


def _in_ring(h: Record, arm: int) -> npt.NDArray[np.float64]:
    """The kept rewards: the steps between cumulative sums, unless they are kept themselves."""
    ring = h.prefix.shape[1]
    numbers = int(h.written[arm]) - int(h.kept[arm]) + np.arange(h.kept[arm] + 1)
    if ring == 0:
        return np.asarray(h.rewards[arm, numbers[:-1] % h.rewards.shape[1]], np.float64)
    sums = h.prefix[arm, numbers % ring]
    before = sums[:-1]
    if ring > STRETCH:  # the sums start again there
        before[numbers[:-1] % STRETCH == 0] = 0.0
    rewards: npt.NDArray[np.float64] = sums[1:] - before
    return rewards
