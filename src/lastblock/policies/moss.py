"""MOSS: optimism that is minimax optimal in the stochastic case (Audibert & Bubeck, 2009)."""

from typing import NamedTuple

from lastblock.core.protocol import Held, Layout, Record, Scores
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue_all, shuffle
from lastblock.policies._moss import clear_moss, moss_layout, pull_by_moss
from lastblock.support.checks import number


@policy(shift_invariant=True, optimistic=True)
class MOSS(NamedTuple):
    """Pull the arm with the largest mean + C √(max(0, log(T / (K N))) / N).

    An arm that has had its share T/K of the pulls gets no bonus any more, so that the regret is at
    most of the order √(KT), without UCB's logarithm.

    Parameters
    ----------
    horizon
        T, the number of pulls, at least 1.
    scale
        C. The default is the paper's, for rewards in [0, 1]; it is 2σ for noise of standard
        deviation σ, see `gaussian`.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.MOSS(horizon=1000), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 40)
    True

    References
    ----------
    Audibert & Bubeck. Minimax Policies for Adversarial and Stochastic Bandits. COLT 2009.
    """

    horizon: int
    scale: float = 1.0

    @classmethod
    def gaussian(cls, horizon: int, sigma: float) -> "MOSS":
        """Return the policy with C = 2σ, for noise of standard deviation `sigma`."""
        return cls(horizon, scale=2.0 * number(sigma, "MOSS: sigma"))

    @classmethod
    def examples(cls) -> "tuple[MOSS, ...]":
        return (cls(horizon=200),)

    def validate(self) -> None:
        if self.horizon < 1:
            raise ValueError(f"MOSS: horizon={self.horizon} must be at least 1")
        if self.scale <= 0.0:
            raise ValueError(f"MOSS: scale={self.scale} must be positive")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return moss_layout(arms)

    def start(self, s: Record) -> None:
        clear_moss(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        pull_by_moss(s, float(self.horizon), self.scale)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.pulls[arm]), float(s.sums[arm]))

    def chosen_by(self, s: Record) -> Scores:
        return Scores("index", s.index)
