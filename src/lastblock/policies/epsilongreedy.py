"""ε-greedy, with a constant ε or one that falls like a power of time (Auer & al., 2002)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kit import COUNT, Layout, NotNegative, Record, argmax, below, policy, uniform, unseen


@policy(
    shift_invariant=True,
    scale_invariant=True,
    examples=[{"epsilon": 5.0, "decay": 1.0}, {"epsilon": 1.0, "decay": 0.5}],
)
class EpsilonGreedy(NamedTuple):
    """Pull any arm with probability ε_t = min(1, ε / t^decay), else the one with the best mean.

    Parameters
    ----------
    epsilon
        ε, not negative; at most 1 if it does not decay.
    decay
        0 for a constant ε. The ε_n-greedy of Auer & al. is ``decay=1`` with ε = cK/d², d a lower
        bound of the gap between the best two means.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Dirac(0.0), lb.Dirac(0.5), lb.Dirac(1.0)])
    >>> run = lb.simulate(lb.EpsilonGreedy(0.1), arms, horizon=1000, replications=100, seed=1)
    >>> bool(45 < run.mean()[-1] < 55)  # half of the explorations
    True

    References
    ----------
    Auer, Cesa-Bianchi & Fischer. Finite-time analysis of the multiarmed bandit problem. Machine
    Learning, 2002.
    """

    epsilon: NotNegative = 0.1
    decay: NotNegative = 0.0

    def validate(self) -> None:
        if self.decay == 0.0 and self.epsilon > 1.0:
            raise ValueError(f"EpsilonGreedy: epsilon={self.epsilon} must be at most 1 if decay=0")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("time", COUNT),  # of the decision that is planned, from 1
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        s.time = s.arms
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        s.time += 1
        epsilon = self.epsilon
        if self.decay > 0.0:
            epsilon *= math.exp(-self.decay * math.log(float(s.time)))
        if uniform(s.stream) < epsilon:
            enqueue(s, below(s.stream, s.arms))
        else:
            for k in range(s.arms):
                s.index[k] = s.sums[k] / s.pulls[k] if s.pulls[k] > 0 else unseen(s, k)
            enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.sums[arm] += reward
        s.pulls[arm] += 1
