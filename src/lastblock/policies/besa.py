"""BESA: best empirical sampled average (Baransi, Maillard & Mannor, 2014)."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.count_samplers import hypergeometric_at_most
from lastblock.kit import INDEX, Layout, Range, Record, below, kernel, policy, tried_enough, within
from lastblock.policies._samples import (
    MANY,
    counted_fields,
    room_for_rewards,
    sampled_sum,
    take_reward,
)


@kernel
def duel(s: Record, a: Any, b: Any) -> Any:
    """Return the winner of two arms: the better mean of equally many rewards.

    Ties go to the arm with fewer pulls, then to a coin.
    """
    n, m = s.pulls[a], s.pulls[b]
    if n != m and n > 0 and m > 0:
        few, many = (a, b) if n < m else (b, a)
        if s.kinds < MANY:
            # Of two values: how many of a sample are the higher one has a hypergeometric law.
            wins = hypergeometric_at_most(
                s.stream, s.high[few], s.pulls[few], s.high[many], s.pulls[many]
            )
        else:
            wins = bool(s.sums[few] >= sampled_sum(s, many, s.pulls[few]))
        return few if wins else many
    if n != m:  # late rewards: an arm without any goes first, if not too often …
        margin = float(m - n)
        if tried_enough(s, a if n == 0 else b):
            margin = -margin
    elif n == 0:  # … among several, that with the fewest out
        margin = float(s.out[b] - s.out[a])
    elif s.kinds < MANY:
        margin = float(s.high[a] - s.high[b])
    else:
        margin = s.sums[a] - s.sums[b]
    if margin == 0.0:
        return a if below(s.stream, 2) == 0 else b
    return a if margin > 0.0 else b


@kernel
def tournament(s: Record) -> Any:
    """Return the winner of a tournament: each half of the list sends its own winner to a duel.

    At depth d the list has 2^d parts, whose sizes differ by at most one; the winner of a part
    stands at its beginning. The deepest duels come first.
    """
    depth = 0
    while (1 << depth) < s.arms:
        depth += 1
    while depth > 0:
        depth -= 1
        for part in range(1 << depth):
            first = (s.arms * part) >> depth
            middle = (s.arms * (2 * part + 1)) >> (depth + 1)
            end = (s.arms * (part + 1)) >> depth
            if first < middle < end:
                s.order[first] = duel(s, s.order[first], s.order[middle])
    return s.order[0]


@policy(shift_invariant=True, scale_invariant=True, grows=True, examples=[{"initial": 3}])
class BESA(NamedTuple):
    """Compare two arms by equally many rewards: all of one, and a random sample of the other.

    The sample is drawn without replacement, afresh at every step. More than two arms play a
    tournament in random order. Every reward is stored, by definition.

    Parameters
    ----------
    initial
        How often each arm is pulled before the first duel, at least once.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.BESA(), arms, horizon=2000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 25)
    True

    References
    ----------
    Baransi, Maillard & Mannor. Sub-sampling for Multi-armed Bandits. ECML PKDD 2014.
    """

    initial: Annotated[int, Range(1, unit="pull")] = 1

    def layout(self, arms: int, horizon: int | None) -> Layout:
        room = room_for_rewards(horizon)
        return [
            *counted_fields(arms, room),
            ("sums", np.float64, (arms,)),
            ("order", within(INDEX, 0, arms - 1), (arms,)),
            ("rewards", np.float64, (arms, room)),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.order.shape[0]):
            s.order[k] = k
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        if s.round <= self.initial:
            enqueue_all(s)
            shuffle(s)
            return
        for k in range(s.arms):
            s.order[k] = k
        if s.arms > 2:
            for last in range(s.arms - 1, 0, -1):
                other = below(s.stream, last + 1)
                s.order[last], s.order[other] = s.order[other], s.order[last]
        enqueue(s, tournament(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        take_reward(s, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return bool(s.pulls[arm] == s.rewards.shape[1])
