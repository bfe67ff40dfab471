"""Where a bandit stands."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.history import STRETCH
from lastblock.core.protocol import Policy, Record
from lastblock.core.reward_stats import Told
from lastblock.live.changes import Change, last_change
from lastblock.live.labels import ACTIVE, RETIRED, ArmState, L
from lastblock.live.notes import Notes

NONE = Told(0, 0.0, 0.0)
UNKNOWN = Told(0, math.nan, math.inf)
"""There are some, but the policy does not keep their sum."""


class ArmSummary(NamedTuple, Generic[L]):
    """One arm."""

    arm: L
    state: ArmState
    """"active" or "retired"."""
    pulls: int
    """Rewards that it has had."""
    out: int
    """Decisions that wait for theirs."""
    held: float | None
    """How many of its rewards the policy still looks at: in its window or memory, or since a
    restart; discounted where the policy discounts. None where it does not count them."""
    mean: float | None
    """Of the held rewards, as the policy keeps them; of all where it does not count them. None if
    there are none, or if the policy has forgotten some and keeps no sum of the others."""
    low: float
    high: float
    """A 95 % interval for the mean, by the normal law; infinite where the spread is not known, as
    when some rewards are forgotten and the others are kept as a sum."""


@dataclass(frozen=True)
class Summary(Generic[L]):
    """A bandit at a glance, as data; `str` is a table."""

    policy: Policy
    asked: int
    leader: L | None
    """The policy's leader; for a policy without one, the arm with the largest mean, unless some
    mean is not known."""
    since: int | None
    """The decision for which it became the leader, where the policy has one."""
    arms: tuple[ArmSummary[L], ...]
    change: Change[L] | None
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
    labels: Sequence[L],
    active: Sequence[L],
    retired: Mapping[L, Told],
    out: Sequence[L],
    asked: int,
) -> Summary[L]:
    """The summary of a bandit; `out` are the arms of its pending decisions."""
    rows = []
    for label in labels:
        waiting = out.count(label)
        if label in retired:
            rows.append(_row(label, RETIRED, retired[label], waiting, None, retired[label]))
        else:
            arm = active.index(label)
            total = notes.told_of(arm)
            held, seen = held_by(policy, s, arm, total)
            rows.append(_row(label, ACTIVE, total, waiting, held, seen))
    last = last_change(s, active)
    if notes.leader is not None and not _is_due(s):
        return Summary(policy, asked, active[notes.leader], notes.since, tuple(rows), last)
    return Summary(policy, asked, _best(rows), None, tuple(rows), last)


def _best(rows: Sequence[ArmSummary[L]]) -> L | None:
    """The arm with the largest mean; nobody, if that of an arm with rewards is not known."""
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


def held_by(policy: Any, s: Record, arm: int, total: Told) -> tuple[float | None, Told]:
    """How many rewards of an arm a policy looks at, and what they are; `total` is all of them."""
    forgot = False  # a wrapper has begun again
    low, width = 0.0, 1.0  # the wrapped policy's x is the reward low + width · x
    while "inner" in s.dtype.names:
        if _is_due(s):
            return 0.0, NONE
        names = s.dtype.names
        forgot |= ("restarts" in names and s.restarts > 0) or ("phase" in names and s.phase > 0)
        if hasattr(policy, "low"):
            low, width = low + width * policy.low, width * (policy.high - policy.low)
        policy, s = policy.policy, s["inner"]
    held = _count(s, arm)
    if held is None:
        return None, UNKNOWN if forgot else total
    one_by_one = _kept(policy, s, arm)
    if held == total.pulls and not math.isnan(total.mean) and (one_by_one is None or policy.grows):
        return held, total  # nothing is forgotten
    seen = _summed(s, arm, held) if one_by_one is None else _told(one_by_one())
    return held, Told(seen.pulls, low + width * seen.mean, width * width * seen.spread)


def _is_due(s: Record) -> bool:
    """Whether the policy begins again with the next decision."""
    while "inner" in s.dtype.names:
        if "due" in s.dtype.names and s.due:
            return True
        s = s["inner"]
    return False


def _duels(s: Record) -> bool:
    """Whether the policy compares blocks of its history; others have it for a detector."""
    return "leader" in s.dtype.names


def _count(s: Record, arm: int) -> float | None:
    names = s.dtype.names
    if "recent" in names and s.dtype["recent"].names:
        return float(s.recent.pulls[arm])
    if "history" in names:
        h = s.history
        if "kept" not in h.dtype.names:
            return float(h.zeros[arm] + h.ones[arm] + h.others[arm])
        return float(h.kept[arm] if _duels(s) else h.written[arm])
    if "marks" in names:
        return float(s.marks.written[arm])
    for name in ("pulls", "counts"):
        if name in names:
            return float(s[name][arm])
    return None


def _kept(policy: Any, s: Record, arm: int) -> Callable[[], npt.NDArray[np.float64]] | None:
    """What gives the held rewards, if they are kept one by one."""
    names = s.dtype.names
    if "recent" in names and s.dtype["recent"].names:
        return lambda: _in_window(s.recent, arm, policy.window)
    if "history" not in names:
        return None
    h = s.history
    if "kept" not in h.dtype.names:
        return lambda: _in_atoms(h, arm)
    if not _duels(s):
        return None
    origin = s.origin if "origin" in names else 0.0  # what was taken from every reward
    return lambda: _in_ring(h, arm) + origin


def _summed(s: Record, arm: int, held: float) -> Told:
    """Rewards of which the policy has the sum, and not the spread."""
    if held <= 0.0:
        return NONE
    if "sums" not in s.dtype.names:
        return UNKNOWN
    lost = s.error[arm] if "error" in s.dtype.names else 0.0  # to rounding
    return Told(math.ceil(held), float(s.sums[arm] + lost) / held, math.inf)


def _in_atoms(h: Record, arm: int) -> npt.NDArray[np.float64]:
    others = h.value[arm, : h.others[arm]]
    return np.concatenate((np.zeros(h.zeros[arm]), np.ones(h.ones[arm]), others))


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
