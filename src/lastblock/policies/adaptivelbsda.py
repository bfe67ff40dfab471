"""Adaptive LB-SDA: last-block duels since the last change of the world, with no parameter to tune.

Time counts decisions. The *age* is the number of decisions since the last restart.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lastblock.core.duels import (
    is_ahead,
    is_owed,
    most_pulled,
    obligation,
    obligation_lasts,
    wins_duel,
)
from lastblock.core.history import append, block_sum, clear, held, history_dtype
from lastblock.core.layout import ARM, COUNT, FLAG, NOBODY, record, within
from lastblock.core.protocol import Held, Layout, Record
from lastblock.core.registry import policy
from lastblock.core.restarts import clear_restarts, note_restart, restart_fields
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.core.verdicts import FLAGGED, LOST, OVERRULED, PROBED, Verdict, judge
from lastblock.detectors.meanshift import (
    forget_arm,
    forget_shift,
    largest_shift,
    shift_fields,
    sum_of,
)
from lastblock.kernels.jit import kernel, routine

MEMORY = 511
"""The largest number of rewards of an arm that take part in duels."""

KEPT = 32
"""The largest number of rewards of an arm that are kept at a restart."""

CAUTION = 4.5
"""The evidence, beyond log(1 + age), that a restart needs where changes are rare."""

MOST_ALERT = 0.25
"""The largest alertness, which a world of many changes leads to."""

ALARM = 0.25
"""How many times the square of `alertness` a restart adds to the square of the alertness."""

CALM = 20_000
"""The age beyond which √age is replaced by age / √CALM, so that arms are looked at less often."""

TOLERANCE = 0.75
PATIENCE = 2
"""By which share of the arm's old gap a burst may fall short of the leader, and for how many
rewards."""

SECOND_LOOK = 128
"""The age at which the arm that showed the last change is probed."""


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
        alarmed = alertness * math.sqrt(1.0 + ALARM * events(s))
        rate = min(max(MOST_ALERT, alertness), alarmed) ** 2
        slow = age if age <= CALM else age * (age / CALM)
        s.silence = slow * (s.arms - 1.0) / rate if rate > 0.0 else math.inf
    return now


@kernel
def update_leader(s: Record) -> Any:
    """Choose the leader: most rewards, then the largest sum of them, then at random."""
    h = s.history
    if not is_ahead(s, h.kept, s.leader):
        for k in range(s.arms):
            s.sums[k] = block_sum(h, k, h.kept[k])
        s.leader = most_pulled(s, h.kept, s.sums, s.candidate, NOBODY)
    return s.leader


@kernel
def wins(s: Record, arm: int, leader: int) -> bool:
    """Return whether an arm wins its last-block duel.

    If the memory is full, the means of all rewards since the restart must agree: blocks that have
    stopped growing would let luck win for ever. Late rewards cannot pile up, because no arm waits
    for more rewards than it has had.
    """
    h = s.history
    if s.out[arm] >= h.kept[arm] or not wins_duel(h, arm, leader):
        return False
    if h.kept[arm] < MEMORY or h.kept[leader] < MEMORY:
        return True
    d = s.detector
    mine = sum_of(d, arm) + (d.base[arm] - d.base[leader]) * d.count[arm]
    return bool(mine * d.count[leader] >= sum_of(d, leader) * d.count[arm])


@kernel
def goes_on(s: Record, arm: int, leader: int) -> bool:
    """Return whether a burst's rewards keep up with the leader's last block, nearly so at first."""
    h = s.history
    n = h.kept[arm]
    own = min(s.burst[arm], n)
    lead = min(n, h.kept[leader])
    if lead == 0:
        return False
    burst = block_sum(h, arm, own)
    goal = block_sum(h, leader, lead)
    ahead = burst * lead - goal * own
    rest = n - own
    if rest == 0:
        return bool(ahead >= 0.0)
    # The burst's mean, less the leader's, plus a share of the gap, times own · lead · rest: whole
    # numbers stay exact, so that ties are ties.
    gap = goal * rest - (block_sum(h, arm, n) - burst) * lead
    return bool(ahead * rest + TOLERANCE * min(own, PATIENCE) * max(0.0, gap) >= 0.0)


@kernel
def is_probed(s: Record, arm: int, leader: int, now: int) -> bool:
    """Return whether the arm's burst goes on, or a new one begins after a long silence."""
    if s.burst[arm] > 0 and s.out[arm] < s.history.kept[arm]:
        if goes_on(s, arm, leader):
            return True
        s.burst[arm] = -1
    silent = float(now - s.asked[arm])
    due = silent * silent > s.silence
    if arm == s.suspect and now - s.since > SECOND_LOOK:
        s.suspect = NOBODY
        due = s.silence < math.inf
    if due:
        s.burst[arm] = 0
    return bool(due)


@routine
def restart(s: Record, arm: int, now: int) -> None:
    """Forget what came before the arm's split; of what came after, keep the last rewards."""
    d = s.detector
    h = s.history
    kept = min(d.size, KEPT)
    first = s.stamp[arm, (h.written[arm] - kept + 1) & (KEPT - 1)]
    age = (now - first) & 0xFFFFFFFF
    # The split may be further back than times are kept: at the pace of the last rewards.
    back = min(now - s.since, age * (d.size - 1) // (kept - 1))
    note_restart(s, now, now - back, arm, d.old + s.origin, d.new + s.origin)
    s.since = now - age
    s.recent_restarts += 1
    s.suspect = arm
    for k in range(s.arms):
        n = 0
        while n < min(KEPT, h.kept[k]):
            stamp = s.stamp[k, (h.written[k] - n) & (KEPT - 1)]
            if (now - stamp) & 0xFFFFFFFF > age:
                break
            n += 1
        h.kept[k] = n
        s.burst[k] = -1
        forget_arm(d, k)
        for i in range(n):
            largest_shift(d, k, s.reward[k, (h.written[k] - n + 1 + i) & (KEPT - 1)], math.inf)
    s.leader = NOBODY
    s.limit_lasts = 0.0
    s.refresh = 0
    s.least = 0.0


@policy(shift_invariant=True, scale_invariant=True)
class AdaptiveLBSDA(NamedTuple):
    """LB-SDA for worlds that may change, without being told how often, how long or how much.

    Duels are fought on the rewards since the last restart. A change detector without assumptions
    watches every arm; when it finds a change, everything before it is forgotten. Arms that have
    been silent for long are looked at again, so that a challenger's rise is noticed although the
    leader did not move. The record has a fixed size.

    Parameters
    ----------
    alertness
        c: an arm is looked at again after √(age · (K − 1)) / c decisions without it, less often in
        a very long calm and more often where changes are frequent. In a world that never changes
        looking costs regret in proportion to c; where a challenger rises alone, noticing takes
        time in proportion to 1/c. 0: only arms that win their duels are pulled.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Piecewise({
    ...     0: [lb.Gaussian(0.9), lb.Gaussian(0.0)],
    ...     5000: [lb.Gaussian(0.0), lb.Gaussian(0.9)],
    ... })
    >>> adaptive, plain = (
    ...     lb.simulate(policy, arms, horizon=10_000, replications=20, seed=1).mean()[-1]
    ...     for policy in (lb.AdaptiveLBSDA(), lb.LBSDA())
    ... )
    >>> bool(adaptive < plain)
    True

    References
    ----------
    Duels: Baudry, Russac & Cappé. On Limited-Memory Subsampling Strategies for Bandits. ICML 2021.
    """

    alertness: float = 0.065

    @classmethod
    def examples(cls) -> "tuple[AdaptiveLBSDA, ...]":
        return cls(), cls(alertness=0.25), cls(alertness=0.0)

    def validate(self) -> None:
        if not 0.0 <= self.alertness <= 10.0:
            raise ValueError(f"AdaptiveLBSDA: alertness={self.alertness} must lie in [0, 10]")

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
            ("refresh", COUNT),  # when to compute the following two again
            ("silence", np.float64),  # the square of a silence that is too long
            ("least", np.float64),  # no less evidence is an alarm
            *restart_fields(),
            ("sums", np.float64, (arms,)),
            ("candidate", FLAG, (arms,)),  # for the lead: everyone
            ("asked", COUNT, (arms,)),  # the time of the arm's last decision
            (
                "burst",
                within(np.int64, -1),
                (arms,),
            ),  # rewards since the burst began; −1: none is on
            ("history", history_dtype(arms, MEMORY)),
            ("stamp", np.uint32, (arms, KEPT)),  # when the last rewards came …
            ("reward", np.float64, (arms, KEPT)),  # … and what they were
            ("detector", record(shift_fields(arms))),
        ]

    def start(self, s: Record) -> None:
        s.leader = NOBODY
        s.suspect = NOBODY
        s.limit = -1
        s.limit_lasts = 0.0
        s.origin = 0.0
        s.begun = 0
        s.before = 0
        s.since = 0
        s.epoch_ends = 1
        s.recent_restarts = 0
        s.earlier_restarts = 0
        s.refresh = 0
        s.silence = math.inf
        s.least = 0.0
        clear_restarts(s)
        forget_shift(s.detector)
        for k in range(s.sums.shape[0]):
            s.sums[k] = 0.0
            s.candidate[k] = 1
            s.asked[k] = 0
            s.burst[k] = -1
            forget_arm(s.detector, k)
        clear(s.history)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        now = update_clock(s, self.alertness)
        h = s.history
        leader = update_leader(s)
        for k in range(s.arms):
            if k != leader:
                if is_owed(s, h.kept, k) or wins(s, k, leader) or is_probed(s, k, leader, now):
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
        h = s.history
        append(h, arm, x)
        latest = h.written[arm] & (KEPT - 1)
        s.stamp[arm, latest] = now & 0xFFFFFFFF
        s.reward[arm, latest] = x
        if s.burst[arm] >= 0:
            s.burst[arm] += 1
        z = largest_shift(s.detector, arm, x, s.least)
        if z > s.least and z > math.log(1.0 + (now - s.since)) + caution(s):
            restart(s, arm, now)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        # The decisions of an arm that left are no longer in the round: they were handed out all
        # the same. How long a silence may last depends on the number of arms.
        s.before += int(before.taken) - int(s.taken)
        s.refresh = 0
        if s.arms > before.arms:
            s.asked[arm] = s.before

    def duels(self, s: Record) -> list[Verdict]:
        found = []
        for verdict in judge(s, s.history.kept):
            reason = PROBED if verdict.reason == FLAGGED else verdict.reason
            if reason == LOST and verdict.mean >= verdict.leader_mean:
                reason = OVERRULED
            found.append(
                verdict._replace(
                    reason=reason,
                    mean=verdict.mean + s.origin,
                    leader_mean=verdict.leader_mean + s.origin,
                )
            )
        return found

    def held(self, s: Record, arm: int) -> Held:
        return held(s.history, arm, float(s.origin))
