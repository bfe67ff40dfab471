"""WR-SDA: subsampling duels without replacement (Baudry, Kaufmann & Maillard, 2020)."""

from typing import NamedTuple

import numpy as np

from lastblock.core.duels import duel_fields, is_owed, start_duels, update_leader, update_obligation
from lastblock.kernels.streams import below
from lastblock.kit import Layout, Record, enqueue, hypergeometric_at_most, kernel, policy, shuffle
from lastblock.policies._samples import (
    MANY,
    counted_fields,
    room_for_rewards,
    sampled_sum,
    take_reward,
)


@kernel
def wins_sampled_duel(s: Record, challenger: int, leader: int, reference: bool) -> bool:
    """Return whether the challenger's mean reaches that of a random sample of the leader.

    The sample has as many rewards as the challenger, drawn without replacement. In the authors'
    code a coin decides when both are equal.
    """
    n = s.pulls[challenger]
    if s.kinds < MANY and not reference:
        return hypergeometric_at_most(
            s.stream, s.high[challenger], n, s.high[leader], s.pulls[leader]
        )
    # Equal lengths: compare the sums, so that ties are exact.
    sample = sampled_sum(s, leader, n)
    if reference and s.sums[challenger] == sample:
        return bool(below(s.stream, 2) == 0)
    return bool(s.sums[challenger] >= sample)


@policy(shift_invariant=True, scale_invariant=True, grows=True, examples=[{"reference": True}])
class WRSDA(NamedTuple):
    """Duels between each arm's mean and the mean of a random sample of the leader's rewards.

    The rounds, the leader and the sampling obligation are those of `LBSDA`. Only the sample
    differs: as many rewards as the challenger has, drawn without replacement as in `BESA`. Every
    reward is stored, by definition.

    Parameters
    ----------
    reference
        Make the choices of the authors' code: no sampling obligation, a coin decides a tied duel, a
        tied previous leader stays, the first round is in order.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.WRSDA()
    WRSDA(reference=False)

    References
    ----------
    Baudry, Kaufmann & Maillard. Sub-sampling for Efficient Non-Parametric Bandit Exploration.
    NeurIPS 2020.
    """

    reference: bool = False

    def layout(self, arms: int, horizon: int | None) -> Layout:
        room = room_for_rewards(horizon)
        return [
            *duel_fields(arms),
            *counted_fields(arms, room),
            ("rewards", np.float64, (arms, room)),
        ]

    def start(self, s: Record) -> None:
        start_duels(s, self.reference)

    def plan(self, s: Record) -> None:
        pulls = s.pulls
        leader = update_leader(s, pulls, self.reference)

        # Challengers: under-explored arms, and winners of their duel.
        if not self.reference:
            update_obligation(s, s.round, False)
        for k in range(s.arms):
            if k != leader:
                if is_owed(s, pulls, k) or (
                    s.out[k] < pulls[k] and wins_sampled_duel(s, k, leader, self.reference)
                ):
                    enqueue(s, k)
        if s.queued == 0:
            enqueue(s, leader)
        shuffle(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        take_reward(s, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return bool(s.pulls[arm] == s.rewards.shape[1])
