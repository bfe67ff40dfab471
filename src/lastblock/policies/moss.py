"""MOSS: optimism that is minimax optimal in the stochastic case (Audibert & Bubeck, 2009)."""

from typing import Annotated, NamedTuple

from lastblock.kit import Layout, Positive, Range, Record, number, policy
from lastblock.policies._moss import moss_layout, pull_by_moss


@policy(shift_invariant=True, optimistic=True, examples=[{"horizon": 200}])
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

    horizon: Annotated[int, Range(1)]
    scale: Positive = 1.0

    @classmethod
    def gaussian(cls, horizon: int, sigma: float) -> "MOSS":
        """Return the policy with C = 2σ, for noise of standard deviation `sigma`."""
        return cls(horizon, scale=2.0 * number(sigma, "MOSS: sigma"))

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return moss_layout(arms)

    def plan(self, s: Record) -> None:
        pull_by_moss(s, float(self.horizon), self.scale)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
