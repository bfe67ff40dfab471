"""Adaptive LB-SDA: last-block duels since the last change of the world, with no parameter to tune.

Time counts decisions. The *age* is the number of decisions since the last restart.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.duels import is_owed, most_pulled, obligation, obligation_lasts
from lastblock.core.layout import ARM, COUNT, FLAG, NOBODY, record, within
from lastblock.core.marks import is_at_least
from lastblock.core.protocol import Held, Layout, Record
from lastblock.core.restarts import clear_restarts, note_restart, restart_fields
from lastblock.core.verdicts import DOUBTED, FLAGGED, FULL, LOST, PROBED, Verdict, judge
from lastblock.detectors.meanshift import (
    LONGEST_BLOCK,
    begin_block,
    forget_shift,
    largest_shift,
    last_block,
    shift_fields,
    sum_of,
)
from lastblock.kit import Range, enqueue, enqueue_all, kernel, plain, policy, routine, shuffle
from lastblock.policies._looks import begins, keeps_up, longest_silence
from lastblock.policies._luck import is_plausible
from lastblock.policies._watching import KEPT, find_limits, keep, kept_since, learn_anew

SHORT_MEMORY = 511
LONG_MEMORY = 0.2
"""A duel looks back at so many of the leader's rewards at most, or at this share of the age if that
is more."""

CAUTION = 4.5
"""The evidence, beyond log(1 + age), that a restart needs where changes are rare."""


@kernel
def events(s: Record) -> int:
    """Return the number of restarts in this dyadic epoch of time and the one before."""
    return int(s.recent_restarts + s.earlier_restarts)


@kernel
def caution(s: Record) -> float:
    """Return the evidence, beyond log(1 + age), that a restart needs; less after many restarts."""
    return max(0.0, CAUTION - math.log(1.0 + events(s)))


@kernel
def update_clock(s: Record, alertness: float) -> int:
    """Count the last round's decisions, refresh what depends on time, and return the time."""
    s.before += s.taken
    now: int = s.before
    if now >= s.epoch_ends:
        s.epoch_ends *= 2
        s.earlier_restarts = s.recent_restarts
        s.recent_restarts = 0
    age = now - s.since
    if 1.0 + age >= s.limit_lasts:
        s.limit = obligation(1.0 + age, False)
        s.limit_lasts = obligation_lasts(s.limit, False)
    if now >= s.refresh:
        s.refresh = now + (age >> 6) + 1
        s.least = math.log(1.0 + age)
        s.silence = longest_silence(s, age, events(s), alertness)
        s.memory = min(LONGEST_BLOCK, max(SHORT_MEMORY, int(LONG_MEMORY * age)))
    return now


@kernel
def update_leader(s: Record) -> Any:
    """Choose the leader: most rewards, then the largest mean of them, then at random.

    No more rewards count than the memory holds: then the leader has the best last block.
    """
    d = s.detector
    if s.leader != NOBODY:
        most = min(s.memory, d.count[s.leader])
        others = 0
        for k in range(s.arms):
            others += d.count[k] >= most
        if others == 1:
            return np.int64(s.leader)
    for k in range(s.arms):
        n = d.count[k]
        total = sum_of(d, k)
        s.pulls[k] = min(n, s.memory)
        if n > s.memory:
            n, total = last_block(d, k, s.memory)
        s.means[k] = total / n if n > 0 else 0.0
    s.leader = most_pulled(s, s.pulls, s.means, s.candidate, NOBODY)
    return np.int64(s.leader)


@kernel
def leaders_block(s: Record, arm: int, leader: int) -> tuple[int, float]:
    """Return the length and the sum of the leader's last block against an arm with rewards."""
    d = s.detector
    n = min(d.count[arm], s.memory)
    if n >= d.count[leader]:
        return d.count[leader], sum_of(d, leader)
    return last_block(d, leader, n)


@kernel
def wins(s: Record, arm: int, leader: int) -> bool:
    """Return whether an arm wins its last-block duel, and not plainly by luck.

    An arm with more rewards than the memory holds has no duel: it would lead if its last block
    were better. Late rewards cannot pile up, because no arm waits for more rewards than it has had.
    """
    d = s.detector
    own = d.count[arm]
    if own == 0 or own > s.memory or d.count[leader] == 0:
        return False
    lead, s.block_sum[arm] = leaders_block(s, arm, leader)
    if not is_at_least(sum_of(d, arm), own, s.block_sum[arm], lead) or s.out[arm] >= own:
        return False
    return is_plausible(s, arm, leader)


@kernel
def is_probed(s: Record, arm: int, leader: int, now: int) -> bool:
    """Return whether the look at an arm goes on, or a new one begins after a long silence."""
    d = s.detector
    if s.burst[arm] > 0 and s.out[arm] < d.count[arm]:
        if d.count[leader] > 0:
            lead, goal = leaders_block(s, arm, leader)
            if keeps_up(s, arm, d.count[arm], sum_of(d, arm), lead, goal):
                return True
        s.burst[arm] = -1
    return begins(s, arm, now)


@routine
def restart(s: Record, arm: int, now: int) -> None:
    """Forget what came before the arm's split; of what came after, keep the last rewards."""
    d = s.detector
    kept = min(d.size, KEPT)
    first = s.stamp[arm, (s.newest[arm] - kept + 1) & (KEPT - 1)]
    age = (now - first) & 0xFFFFFFFF
    # The split may be further back than times are kept: at the pace of the last rewards.
    back = min(now - s.since, age * (d.size - 1) // (kept - 1))
    note_restart(s, now, now - back, arm, d.old + s.origin, d.new + s.origin)
    s.since = now - age
    s.recent_restarts += 1
    s.suspect = arm
    for k in range(s.arms):
        n = kept_since(s, k, now, age)
        s.burst[k] = -1
        learn_anew(s, k, n)
    s.leader = NOBODY
    s.limit_lasts = 0.0
    s.refresh = 0
    s.least = 0.0


@policy(
    shift_invariant=True, scale_invariant=True, examples=[{"alertness": 0.25}, {"alertness": 0.0}]
)
class AdaptiveLBSDA(NamedTuple):
    """LB-SDA for worlds that may change, without being told how often, how long or how much.

    Duels are fought on the rewards since the last restart. A change detector without assumptions
    watches every arm; when it finds a change, everything before it is forgotten. Arms that have
    been silent for long are looked at again, so that a challenger's rise is noticed although the
    leader did not move. The record has a fixed size.

    Parameters
    ----------
    alertness
        c: at an age of 5000 an arm is looked at again after √(age · (K − 1)) / c decisions without
        it. This time grows with the cube root of the age, faster in a very long calm, and shrinks
        where changes are frequent. In a world that never changes looking costs regret in proportion
        to c; where a challenger rises alone, noticing takes time in proportion to 1/c. With 0 only
        arms that win their duels are pulled.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Piecewise({
    ...     0: [lb.Gaussian(0.9), lb.Gaussian(0.0), lb.Gaussian(0.2)],
    ...     1000: [lb.Gaussian(0.0), lb.Gaussian(0.9), lb.Gaussian(0.2)],
    ... })
    >>> adaptive, plain = (
    ...     lb.simulate(policy, arms, horizon=2000, replications=20, seed=1).mean()[-1]
    ...     for policy in (lb.AdaptiveLBSDA(), lb.LBSDA())
    ... )
    >>> bool(adaptive < plain)
    True

    References
    ----------
    Duels: Baudry, Russac & Cappé. On Limited-Memory Subsampling Strategies for Bandits. ICML 2021.
    """

    alertness: Annotated[float, Range(0.0, 10.0)] = 0.075

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("leader", ARM),
            ("suspect", ARM),  # the arm that showed the last change
            ("limit", np.int64),  # an arm with so many rewards is still owed one …
            ("limit_lasts", np.float64),  # … up to this age
            ("origin", np.float64),  # the first reward of all, taken from every reward …
            ("begun", FLAG),  # … once there is one
            ("before", COUNT),  # decisions before this round
            ("since", COUNT),  # the time of the last restart
            ("epoch_ends", COUNT),
            ("recent_restarts", COUNT),  # in this epoch …
            ("earlier_restarts", COUNT),  # … and the one before
            ("refresh", COUNT),  # when to compute the following three again
            ("silence", np.float64),  # the square of a silence that is too long
            ("least", np.float64),  # no less evidence is an alarm
            ("memory", within(np.int64, 1, LONGEST_BLOCK)),  # rewards of an arm in a duel, at most
            *restart_fields(),
            # What the lead goes by: rewards, at most as many as the memory holds, and their mean.
            ("pulls", COUNT, (arms,)),
            ("means", np.float64, (arms,)),
            ("candidate", FLAG, (arms,)),  # everyone
            ("asked", COUNT, (arms,)),  # the time of the arm's last decision
            ("burst", within(np.int64, -1), (arms,)),  # rewards since it began; −1: none is on
            ("burst_sum", np.float64, (arms,)),
            ("block_sum", np.float64, (arms,)),  # the leader's in the last duel: for `explain`
            ("newest", within(np.int64, 0, KEPT - 1), (arms,)),  # the slot of the last reward
            ("detector", record(shift_fields(arms, blocks=True))),
            ("stamp", np.uint32, (arms, KEPT)),  # when the last rewards came …
            ("reward", np.float64, (arms, KEPT)),  # … and what they were
        ]

    def start(self, s: Record) -> None:
        s.leader = NOBODY
        s.suspect = NOBODY
        s.limit = -1
        s.epoch_ends = 1
        s.silence = math.inf
        clear_restarts(s)
        forget_shift(s.detector)
        s.memory = SHORT_MEMORY
        for k in range(s.asked.shape[0]):
            s.candidate[k] = 1
            s.burst[k] = -1
            learn_anew(s, k, 0)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        now = update_clock(s, self.alertness)
        pulls = s.detector.count
        leader = update_leader(s)
        for k in range(s.arms):
            if k != leader:
                earns = is_owed(s, pulls, k) or wins(s, k, leader)
                if earns or is_probed(s, k, leader, now):
                    enqueue(s, k)
                    s.asked[k] = now
        if s.queued == 0:
            enqueue(s, leader)
            s.asked[leader] = now
        shuffle(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        now = s.before + s.taken
        if not s.begun:
            s.begun = 1
            s.origin = reward
        x = reward - s.origin
        keep(s, arm, x, now)
        if s.burst[arm] >= 0:
            s.burst[arm] += 1
            s.burst_sum[arm] += x
        z = largest_shift(s.detector, arm, x, s.least)
        if z > s.least and z > math.log(1.0 + (now - s.since)) + caution(s):
            restart(s, arm, now)
        elif s.detector.count[arm] == KEPT:
            find_limits(s, arm)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        # An arm that left may have had its turn. How long a silence may last depends on the arms.
        s.before += int(before.taken) - int(s.taken)
        s.refresh = 0
        if s.arms > before.arms:
            s.asked[arm] = s.before

    def replanned(self, s: Record, planned: Record, kept: npt.NDArray[np.int64]) -> None:
        s.refresh = 0

    def explain(self, s: Record) -> list[Verdict]:
        found = []
        for verdict in judge(s, s.detector.count, blocks=_blocks):
            reason = PROBED if verdict.reason == FLAGGED else verdict.reason
            if reason == LOST and verdict.mean >= verdict.leader_mean:
                reason = DOUBTED
            if s.detector.count[verdict.arm] > s.memory:
                reason = PROBED if verdict.arm in s.queue[: s.queued] else FULL
            found.append(
                verdict._replace(
                    reason=reason,
                    mean=verdict.mean + s.origin,
                    leader_mean=verdict.leader_mean + s.origin,
                )
            )
        return found

    def held(self, s: Record, arm: int) -> Held:
        n = int(s.detector.count[arm])
        return Held(float(n), plain(sum_of)(s.detector, arm) + float(s.origin) * n)


def _blocks(s: Record, arm: int, leader: int) -> tuple[int, float, int, float]:
    """Return the lengths and means of the two blocks of a duel, as they were at its time."""
    d = s.detector
    memory, own, lead = int(s.memory), int(d.count[arm]), int(d.count[leader])
    n = min(own, memory)
    if own == 0 or lead == 0:
        return own, math.nan, 0, math.nan
    begin = plain(begin_block)
    n = lead if n >= lead else lead - begin(lead, n)
    if own > memory:  # both count by their last blocks
        return own - begin(own, memory), float(s.means[arm]), n, float(s.means[leader])
    return own, plain(sum_of)(d, arm) / own, n, float(s.block_sum[arm]) / n
