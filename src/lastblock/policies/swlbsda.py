"""SW-LB-SDA: LB-SDA with a sliding window (Baudry, Russac & Cappé, 2021, algorithm 2)."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from lastblock.core.duels import is_owed, most_pulled, obligation, wins_duel
from lastblock.core.history import (
    append,
    block_sum,
    clear,
    forget_if,
    forget_oldest,
    history_dtype,
    is_full,
)
from lastblock.core.layout import ARM, COUNT, FLAG, NOBODY, within
from lastblock.core.rounds import enqueue, enqueue_all, shuffle, stop_waiting
from lastblock.core.window import FITS_ARMS, LONGEST_WINDOW
from lastblock.kit import Layout, Range, Record, Verdict, judge, kernel, plain, policy, routine
from lastblock.theory.tunings import garivier_window

NEVER = 1 << 62


@kernel
def patience(window: int, arms: int, reference: bool) -> int:
    """Return the rounds before a diversity flag: (K − 1)(log τ)², rounded up.

    The authors' code rounds down.
    """
    rounds = (arms - 1) * math.log(window) ** 2
    return math.floor(rounds) if reference else math.ceil(rounds)


@kernel
def expire(s: Record, window: int, now: int) -> None:
    """Forget the rewards that arrived `window` or more ticks ago."""
    h = s.history
    mask = s.stamp.shape[1] - 1
    for k in range(s.arms):
        # Without delay at most one reward of an arm is due. Which arm's is hard to predict, so the
        # first one goes without a branch.
        due = s.expires[k] <= now
        forget_if(h, k, due)
        kept = h.kept[k]
        age = stamp_of(now - s.stamp[k, (h.written[k] - kept) & mask])
        following = now - age + window if kept > 0 else NEVER
        s.expires[k] = following if due else s.expires[k]
        while s.expires[k] <= now:
            drop_oldest(s, k, window, now)


@kernel
def drop_oldest(s: Record, arm: int, window: int, now: int) -> None:
    """Forget the arm's oldest reward and note when the next one falls out."""
    h = s.history
    forget_oldest(h, arm)
    s.expires[arm] = NEVER
    if h.kept[arm] > 0:
        oldest = (h.written[arm] - h.kept[arm]) & (s.stamp.shape[1] - 1)
        age = stamp_of(now - s.stamp[arm, oldest])
        s.expires[arm] = now - age + window


@kernel
def stamp_of(ticks: int) -> int:
    """Return a time or an age modulo the range of a stamp."""
    return ticks & 0xFFFFFFFF


@kernel
def draw(s: Record, arm: int) -> None:
    """Add an arm to the round, and note the round."""
    enqueue(s, arm)
    s.drawn[arm] = s.round


@kernel
def choose_leader(s: Record, window: int, reference: bool, naive: bool) -> Any:
    """Return the paper's leader.

    It stays until an arm that beat it has enough pulls, or until it has too few itself.
    """
    pulls = s.history.kept
    previous = s.leader
    # ℓ(r + 1) is judged by min(r, τ); the authors' code is one round ahead.
    horizon = min(s.round - 1 if reference else s.round - 2, window)
    anyone = naive or previous == NOBODY or 2 * s.arms * pulls[previous] < horizon
    contested = anyone
    if not anyone:
        for i in range(s.taken):  # those that beat it, or the leader itself
            k = s.queue[i]
            if k != previous and pulls[k] >= pulls[previous] and s.arms * pulls[k] >= horizon:
                contested = True
    return np.int64(elect(s, horizon, anyone, reference) if contested else previous)


@routine
def elect(s: Record, horizon: int, anyone: bool, reference: bool) -> Any:
    """Return the arm with most pulls, among all or among the leader and those that beat it."""
    h = s.history
    for k in range(s.arms):
        s.candidate[k] = anyone
        s.sums[k] = block_sum(h, k, h.kept[k])
    if not anyone:
        s.candidate[s.leader] = 1
        for i in range(s.taken):
            k = s.queue[i]
            s.candidate[k] |= s.arms * h.kept[k] >= horizon
    return most_pulled(s, h.kept, s.sums, s.candidate, s.leader if reference else NOBODY)


@policy(
    shift_invariant=True,
    scale_invariant=True,
    examples=[
        {"window": 60},
        {"window": 40, "reference": True},
        {"window": 25, "naive_leader": True},
    ],
)
class SWLBSDA(NamedTuple):
    """LB-SDA on the rewards of the last `window` rounds, for a world that changes.

    An arm must win a duel to take the lead. Under-explored arms are pulled without a duel, and so
    are arms that have not been pulled for long, by a rare diversity flag.

    Parameters
    ----------
    window
        τ, in rounds (in pulls with ``reference=True``); at least the number of arms.
    reference
        Make the choices of the authors' code instead of the paper's.
    naive_leader
        The leader is simply the arm pulled most within the window: the rule that the paper's
        figure 1 warns of, kept to show why.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.SWLBSDA.tuned(horizon=10_000, changes=2)
    SWLBSDA(window=429, reference=False, naive_leader=False)

    References
    ----------
    Baudry, Russac & Cappé. On Limited-Memory Subsampling Strategies for Bandits. ICML 2021.
    """

    window: Annotated[int, Range(2, LONGEST_WINDOW, unit="rounds"), FITS_ARMS]
    reference: bool = False
    naive_leader: bool = False

    @classmethod
    def tuned(cls, *, horizon: int, changes: int, reference: bool = False) -> "SWLBSDA":
        """Return the policy with the window 2√(T log T / Γ) of Garivier & Moulines (2011)."""
        return cls(window=garivier_window(horizon=horizon, changes=changes), reference=reference)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        history = history_dtype(arms, self.window)
        return [
            ("leader", ARM),
            ("since", COUNT),  # the round after which it became the leader
            ("limit", np.int64),  # of the sampling obligation
            ("patience", COUNT),  # rounds before a diversity flag: ⌈(K − 1)(log τ)²⌉
            ("scarce", COUNT),  # pulls up to which an arm may raise it: (log τ)²
            ("forgive", COUNT),  # the round in which lost decisions are forgiven
            ("time", within(np.int64, 0, NEVER // 2)),  # rewards seen, for the authors' clock
            ("drawn", COUNT, (arms,)),  # the last round that queued the arm
            ("sums", np.float64, (arms,)),
            ("candidate", FLAG, (arms,)),
            ("history", history),
            ("expires", COUNT, (arms,)),  # when the oldest reward of the arm falls out
            ("stamp", np.uint32, history["prefix"].shape),  # when each reward arrived, modulo 2³²
        ]

    def start(self, s: Record) -> None:
        s.patience = patience(self.window, s.arms, self.reference)
        s.scarce = math.floor(math.log(self.window) ** 2)
        s.limit = obligation(self.window, self.reference)
        s.leader = NOBODY
        s.forgive = 1 + self.window
        for k in range(s.drawn.shape[0]):
            s.drawn[k] = 1
            s.expires[k] = NEVER
        clear(s.history)
        enqueue_all(s)
        if not self.reference:
            shuffle(s)

    def plan(self, s: Record) -> None:
        h = s.history
        pulls = h.kept
        finished = s.round - 1
        expire(s, self.window, s.time if self.reference else finished)

        if s.round >= s.forgive:  # what was sent out or lost long ago is owed again
            s.forgive = s.round + self.window
            stop_waiting(s)
            for k in range(s.arms):
                s.lost[k] = 0

        leader = choose_leader(s, self.window, self.reference, self.naive_leader)
        if leader != s.leader:
            s.leader = leader
            s.since = finished

        # Diversity: the leader unchanged and unpulled for long (the authors' clock is one ahead).
        now = s.round if self.reference else finished
        stalled = finished - s.since >= s.patience and now - s.drawn[leader] >= s.patience

        for k in range(s.arms):
            if k == leader:
                if self.reference and is_owed(s, pulls, k):
                    draw(s, k)
            elif (
                is_owed(s, pulls, k)
                or (stalled and now - s.drawn[k] >= s.patience and pulls[k] <= s.scarce)
                or (s.out[k] < pulls[k] and wins_duel(h, k, leader))
            ):
                draw(s, k)
        if s.queued == 0:
            draw(s, leader)
        shuffle(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        h = s.history
        s.time += 1
        clock = s.time if self.reference else s.round
        s.stamp[arm, h.written[arm] & (s.stamp.shape[1] - 1)] = stamp_of(clock)
        if is_full(h, arm):  # only late rewards can bring more than one a round
            drop_oldest(s, arm, self.window, clock)
        append(h, arm, reward)
        if h.kept[arm] == 1:
            s.expires[arm] = clock + self.window

    def explain(self, s: Record) -> list[Verdict]:
        return judge(s, s.history.kept)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        s.patience = plain(patience)(self.window, int(s.arms), self.reference)
        if s.arms > before.arms:
            s.drawn[arm] = s.round
