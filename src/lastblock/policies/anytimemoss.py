"""MOSS-anytime: MOSS without a horizon (Degenne & Perchet, 2016)."""

import math
from typing import NamedTuple

from lastblock.core.protocol import Held, Layout, Record, Scores
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue_all, shuffle
from lastblock.policies._moss import clear_moss, moss_layout, pull_by_moss


@policy(shift_invariant=True, optimistic=True)
class AnytimeMOSS(NamedTuple):
    """Pull the arm with the largest mean + 2σ √((1 + α)/2 · max(0, log(t / (K N))) / N).

    Parameters
    ----------
    alpha
        α, positive; the paper's experiments have 1.35, and its bound holds for it.
    sigma
        σ, the standard deviation of the noise; ½ for rewards in [0, 1], which is the paper's case.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.AnytimeMOSS(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 40)
    True

    References
    ----------
    Degenne & Perchet. Anytime Optimal Algorithms in Stochastic Multi-Armed Bandits. ICML 2016.
    """

    alpha: float = 1.35
    sigma: float = 0.5

    @classmethod
    def examples(cls) -> "tuple[AnytimeMOSS, ...]":
        return (cls(),)

    def validate(self) -> None:
        if self.alpha <= 0.0:
            raise ValueError(f"AnytimeMOSS: alpha={self.alpha} must be positive")
        if self.sigma <= 0.0:
            raise ValueError(f"AnytimeMOSS: sigma={self.sigma} must be positive")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return moss_layout(arms)

    def start(self, s: Record) -> None:
        clear_moss(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        scale = 2.0 * self.sigma * math.sqrt(0.5 * (1.0 + self.alpha))
        pull_by_moss(s, float(s.arms + s.round - 1), scale)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.pulls[arm]), float(s.sums[arm]))

    def chosen_by(self, s: Record) -> Scores:
        return Scores("index", s.index)
