"""SSMC: subsample-mean comparison (Chan, 2020)."""

import math
from typing import NamedTuple

from lastblock.core.duels import duel_fields, start_duels, update_leader
from lastblock.core.history import (
    any_span_at_most,
    append,
    block_sum,
    clear,
    history_dtype,
    is_full,
)
from lastblock.core.layout import ARM, COUNT, FIRST_ROOM, FLAG, NOBODY
from lastblock.kit import Layout, NotNegative, Record, enqueue, kernel, policy, shuffle


@kernel
def wins_some_block(s: Record, challenger: int, leader: int) -> bool:
    """Return whether the challenger's mean reaches the least of the leader's block means.

    The challenger's sum stays the same until its next reward. Until then, only blocks that end with
    new rewards of the leader need to be compared.
    """
    h = s.history
    n = h.kept[challenger]
    if s.against[challenger] != leader or s.length[challenger] != n:
        s.against[challenger] = leader
        s.length[challenger] = n
        s.compared[challenger] = 0
        s.reached[challenger] = 0
    blocks = h.kept[leader] - n + 1
    if s.reached[challenger] == 0 and s.compared[challenger] < blocks:
        mine = block_sum(h, challenger, n)
        if any_span_at_most(h, leader, s.compared[challenger], blocks, n, mine):
            s.reached[challenger] = 1
        s.compared[challenger] = blocks
    return bool(s.reached[challenger] == 1)


@policy(shift_invariant=True, scale_invariant=True, grows=True, examples=[{"exploration": 3.0}])
class SSMC(NamedTuple):
    """Duels between each arm's mean and the least of the leader's running means of that length.

    A challenger with fewer rewards than the leader wins if its mean reaches that of at least one
    block of as many consecutive rewards of the leader. Every reward is stored, by definition.

    Parameters
    ----------
    exploration
        c in c √log r, the number of pulls below which an arm is pulled without a duel; not
        negative. The paper leaves the sequence open.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.SSMC(), arms, horizon=2000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 25)
    True

    References
    ----------
    Chan. The Multi-Armed Bandit Problem: An Efficient Nonparametric Solution. Annals of
    Statistics 48(1), 2020.
    """

    exploration: NotNegative = 1.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            *duel_fields(arms),
            ("against", ARM, (arms,)),  # the leader of the comparisons so far …
            ("length", COUNT, (arms,)),  # … the length of the blocks …
            ("compared", COUNT, (arms,)),  # … how many of them, the oldest first …
            ("reached", FLAG, (arms,)),  # … and whether the challenger reached one's mean
            ("history", history_dtype(arms, FIRST_ROOM if horizon is None else horizon)),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.against.shape[0]):
            s.against[k] = NOBODY
        clear(s.history)
        start_duels(s, False)

    def plan(self, s: Record) -> None:
        h = s.history
        pulls = h.kept

        leader = update_leader(s, pulls, False)

        # Challengers: an arm with as many pulls as the leader loses, one with fewer than
        # c √log r wins, the others need one block of the leader that is no better than they are.
        scarce = self.exploration * math.sqrt(math.log(s.round))
        for k in range(s.arms):
            if k != leader and pulls[k] < pulls[leader]:
                if pulls[k] + s.out[k] + s.lost[k] < scarce or (
                    s.out[k] < pulls[k] and wins_some_block(s, k, leader)
                ):
                    enqueue(s, k)
        if s.queued == 0:
            enqueue(s, leader)
        shuffle(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        append(s.history, arm, reward)
        s.sums[arm] += reward

    def full(self, s: Record, arm: int) -> bool:
        return is_full(s.history, arm)
