"""LB-SDA-GM: LB-SDA in O(log T) numbers an arm, with blocks of nearly the right length."""

import math
from typing import Any, NamedTuple

import numpy as np

from lastblock.core.duels import duel_fields, is_owed, start_duels, update_leader, update_obligation
from lastblock.core.marks import (
    Block,
    BlockWord,
    begin_block,
    block_sum,
    clear_marks,
    half_of,
    is_at_least,
    is_full,
    levels_of,
    marks_dtype,
    take_in,
)
from lastblock.core.protocol import Held
from lastblock.kit import Layout, Record, Verdict, enqueue, judge, kernel, plain, policy, shuffle

FEWEST_MARKS, MOST_MARKS = 4, 64


@kernel
def wins_duel(s: Record, challenger: int, leader: int, block: Block | BlockWord) -> bool:
    """Return whether the challenger's mean reaches that of nearly as many of the leader's last."""
    m = s.marks
    own: Any = np.int64(m.written[challenger])
    lead: Any = np.int64(m.written[leader])
    if own == 0:
        return False
    level: Any = np.int64(m.level[challenger])
    place = begin_block(lead, own, level, block, half_of(m), levels_of(m))
    s.block_sum[challenger] = block_sum(m, leader, place, level, block)
    return is_at_least(s.sums[challenger], own, s.block_sum[challenger], lead - place)


@policy(shift_invariant=True, scale_invariant=True, examples=[{"marks": 6, "block": "long"}])
class LBSDAGM(NamedTuple):
    """LB-SDA with geometric memory: duels as with all rewards, in the memory of some dozens.

    A duel needs the mean of about as many of the leader's last rewards as the challenger has. Sums
    that are marked ever more rarely towards the past give it, with a length that is off by a share
    of 1 / (marks − 2) at most. The record has a fixed size, made for 10⁹ rounds or, in simulations
    and fleets, for a shorter horizon. It learns at any gap.

    Parameters
    ----------
    marks
        Marks within reach on each level, an even number from 4 to 64. Blocks of up to so many
        rewards are exact.
    block
        Which mark a block begins at: the nearest one ("near"), the one before ("long": less
        exploration, a lower mean regret and a heavier tail) or the one after ("short").

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(p) for p in (0.02, 0.02, 0.03)])  # click rates
    >>> geometric, limited = (
    ...     lb.simulate(policy, arms, horizon=50_000, replications=10, seed=1).mean()[-1]
    ...     for policy in (lb.LBSDAGM(), lb.LBSDALM())
    ... )
    >>> bool(geometric < limited / 5)
    True
    >>> lb.state_size(lb.LBSDAGM(), arms=4) // 4 < 1024
    True

    References
    ----------
    Duels: Baudry, Russac & Cappé. On Limited-Memory Subsampling Strategies for Bandits. ICML 2021.
    Marks: Datar, Gionis, Indyk & Motwani. Maintaining Stream Statistics over Sliding Windows. SIAM
    Journal on Computing 31, 2002.
    """

    marks: int = 8
    block: Block | BlockWord = Block.NEAR

    def validate(self) -> None:
        if not FEWEST_MARKS <= self.marks <= MOST_MARKS or self.marks % 2 != 0:
            raise ValueError(
                f"LBSDAGM: marks={self.marks} must be an even number from {FEWEST_MARKS} to "
                f"{MOST_MARKS}; more marks make more exact blocks"
            )

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            *duel_fields(arms),
            ("block_sum", np.float64, (arms,)),  # the leader's in the last duel: for `explain`
            ("marks", marks_dtype(arms, self.marks, horizon)),
        ]

    def start(self, s: Record) -> None:
        clear_marks(s.marks)
        start_duels(s, False)

    def plan(self, s: Record) -> None:
        pulls = s.marks.written
        leader = update_leader(s, pulls, False)

        # Challengers: under-explored arms, and winners of their duel. Late rewards cannot pile up:
        # nobody waits for more rewards than it has had.
        update_obligation(s, s.round, False)
        for k in range(s.arms):
            if k != leader:
                won = is_owed(s, pulls, k)
                if not won:
                    won = wins_duel(s, k, leader, self.block) and s.out[k] < pulls[k]
                if won:
                    enqueue(s, k)
        if s.queued == 0:
            enqueue(s, leader)
        shuffle(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        take_in(s.marks, s.sums, arm, reward, self.block)

    def full(self, s: Record, arm: int) -> bool:
        return is_full(s.marks, arm)

    def explain(self, s: Record) -> list[Verdict]:
        return judge(s, s.marks.written, blocks=self._blocks)

    def _blocks(self, s: Record, arm: int, leader: int) -> tuple[int, float, int, float]:
        """Return the lengths and means of the two blocks of a duel, as they were at its time."""
        m = s.marks
        own, lead = int(m.written[arm]), int(m.written[leader])
        if own == 0 or lead == 0:
            return own, math.nan, 0, math.nan
        half, levels = plain(half_of)(m), plain(levels_of)(m)
        n = lead - plain(begin_block)(lead, own, int(m.level[arm]), self.block, half, levels)
        return own, float(s.sums[arm]) / own, n, float(s.block_sum[arm]) / n

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.marks.written[arm]), float(s.sums[arm]))
