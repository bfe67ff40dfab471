"""BESA: best empirical sampled average (Baransi, Maillard & Mannor, 2014)."""

from typing import Any, NamedTuple

import numpy as np

from lastblock.core.indices import tried_enough
from lastblock.core.layout import FIRST_ROOM, INDEX, capacity, within
from lastblock.core.protocol import Held, Layout, Record
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.count_samplers import hypergeometric_at_most
from lastblock.kernels.jit import kernel, routine
from lastblock.kernels.streams import below

SMALLEST_ROOM = 64
MANY = 3


@routine
def sampled_sum(s: Record, arm: int, n: int) -> float:
    """Return the sum of `n` of the arm's rewards, drawn without replacement.

    The order of the stored rewards does not matter, so the draw is the beginning of a shuffle in
    place. If more than half of the rewards are wanted, the others are drawn instead.
    """
    count = s.pulls[arm]
    draws = min(n, count - n)
    total = 0.0
    for i in range(draws):
        j = i + below(s.stream, count - i)
        drawn = s.rewards[arm, j]
        s.rewards[arm, j] = s.rewards[arm, i]
        s.rewards[arm, i] = drawn
        total += drawn
    return float(total if draws == n else s.sums[arm] - total)


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


@policy(shift_invariant=True, scale_invariant=True, grows=True)
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

    initial: int = 1

    @classmethod
    def examples(cls) -> "tuple[BESA, ...]":
        return cls(), cls(initial=3)

    def validate(self) -> None:
        if self.initial < 1:
            raise ValueError(f"BESA: initial={self.initial} must be at least 1 pull")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        room = capacity(FIRST_ROOM if horizon is None else horizon, SMALLEST_ROOM)
        return [
            (
                "kinds",
                within(np.int64, 0, MANY),
            ),  # different rewards seen of all arms: none, 1, 2 or MANY
            ("low_value", np.float64),
            ("high_value", np.float64),
            ("pulls", within(np.int64, 0, room), (arms,)),
            (
                "high",
                within(np.int64, 0, room),
                (arms,),
            ),  # of these, rewards of the higher value; unless MANY
            ("sums", np.float64, (arms,)),
            ("order", within(INDEX, 0, arms - 1), (arms,)),
            ("rewards", np.float64, (arms, room)),
        ]

    def start(self, s: Record) -> None:
        s.kinds = 0
        s.low_value = 0.0
        s.high_value = 0.0
        for k in range(s.pulls.shape[0]):
            s.pulls[k] = 0
            s.high[k] = 0
            s.sums[k] = 0.0
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
        is_low = s.kinds > 0 and reward == s.low_value
        is_high = s.kinds > 0 and reward == s.high_value
        if s.kinds < MANY and not (is_low or is_high):
            s.kinds += 1
            if s.kinds == 1:
                s.low_value = reward
                s.high_value = reward
            elif s.kinds == 2 and reward > s.high_value:
                s.high_value = reward
                for k in range(s.arms):
                    s.high[k] = 0
            elif s.kinds == 2:
                s.low_value = reward
        if reward == s.high_value:
            s.high[arm] += 1
        s.rewards[arm, s.pulls[arm]] = reward
        s.pulls[arm] += 1
        s.sums[arm] += reward

    def full(self, s: Record, arm: int) -> bool:
        return bool(s.pulls[arm] == s.rewards.shape[1])

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.pulls[arm]), float(s.sums[arm]))
