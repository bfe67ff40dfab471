"""POKER: the price of knowledge and estimated reward (Vermorel & Mohri, 2005)."""

import math
from typing import Annotated, NamedTuple

from lastblock.core.protocol import Held, Layout, Record, Scores
from lastblock.kit import Range, argmax, enqueue, enqueue_all, kernel, policy, shuffle, unseen
from lastblock.policies._variances import held_with_variance, spread, take_in, variance_layout

ROOT_2 = math.sqrt(2.0)


@kernel
def mean_of_rank(s: Record, rank: int) -> float:
    """Return the mean that `rank` arms reach, the largest one for 1; K is enough for all ranks."""
    best = -math.inf
    for k in range(s.arms):
        if s.pulls[k] > 0 and s.means[k] > best:
            reached = 0
            for j in range(s.arms):
                if s.pulls[j] > 0 and s.means[j] >= s.means[k]:
                    reached += 1
            if reached >= rank:
                best = s.means[k]
    return best


@policy(shift_invariant=True, examples=[{"horizon": 200}])
class POKER(NamedTuple):
    """Pull the arm with the largest mean + δ (T − t) P(its true mean ≥ the best mean + δ).

    The second term is the price of knowledge: what one would gain in the time that is left, if the
    arm were better than the best by δ, times how likely that is. δ is the mean distance between
    the best √K means, and the probability is that of a normal law with the arm's mean and variance.

    Parameters
    ----------
    horizon
        T, the number of pulls, at least 1. After it the best mean decides alone.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Gaussian(0.0), lb.Gaussian(0.5), lb.Gaussian(1.0)])
    >>> policy = lb.POKER(horizon=1000)
    >>> run = lb.simulate(policy, arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.quantile(0.5)[-1] < 50)
    True

    References
    ----------
    Vermorel & Mohri. Multi-Armed Bandit Algorithms and Empirical Evaluation. ECML 2005.
    """

    horizon: Annotated[int, Range(1)]

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return variance_layout(arms)

    def plan(self, s: Record) -> None:
        if s.round == 2:  # every arm once more, for a variance
            enqueue_all(s)
            shuffle(s)
            return
        seen = 0
        varied = 0
        usual = 0.0  # the mean of the standard deviations
        for k in range(s.arms):
            if s.pulls[k] > 0:
                seen += 1
                square = spread(s, k)
                if square > 0.0:  # hence of two rewards, at least
                    varied += 1
                    usual += math.sqrt(square / (s.pulls[k] - 1))
        if varied > 0:
            usual /= varied
        best = mean_of_rank(s, 1)
        root = math.sqrt(float(seen))
        delta = (best - mean_of_rank(s, math.ceil(root))) / root if seen > 1 else 0.0
        # Pull t is being chosen: 2K of them in rounds 1 and 2, one in every later round.
        left = max(0.0, float(self.horizon - (2 * s.arms + s.round - 2)))
        for k in range(s.arms):
            if s.pulls[k] == 0:
                s.index[k] = unseen(s, k)
                continue
            sigma = usual
            square = spread(s, k)
            if square > 0.0:
                sigma = math.sqrt(square / (s.pulls[k] - 1))
            s.index[k] = s.origin + s.means[k]
            if sigma > 0.0 and delta > 0.0:
                z = (best + delta - s.means[k]) * math.sqrt(s.pulls[k] + s.out[k]) / sigma
                s.index[k] += delta * left * 0.5 * math.erfc(z / ROOT_2)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        take_in(s, arm, reward)

    def held(self, s: Record, arm: int) -> Held:
        return held_with_variance(s, arm)

    def explain(self, s: Record) -> Scores | None:
        return Scores("index", s.index) if s.round > 2 else None
