"""NPTS: non-parametric Thompson sampling (Riou & Honda, 2020)."""

from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.multiset import append, atoms_dtype, clear, is_full, size
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.samplers import exponential, gamma
from lastblock.kit import FIRST_ROOM, Layout, Range, Record, argmax, policy, routine, unseen


@routine
def dirichlet_mean(s: Record, arm: int, bound: float) -> float:
    """Return the mean of the arm's rewards and a 1, with Dirichlet(1, …, 1, `bound`) weights.

    The weights are shares of exponential variates; those of equal rewards add up to a gamma one.
    """
    h = s.history
    top = gamma(s.stream, h.ones[arm] + bound)
    weight = top
    if h.zeros[arm] > 0:
        weight += gamma(s.stream, float(h.zeros[arm]))
    for i in range(h.others[arm]):
        share = exponential(s.stream)
        weight += share
        top += share * h.value[arm, i]
    return float(top / weight)


@policy(support="unit", grows=True, examples=[{"bound": 0.5}])
class NPTS(NamedTuple):
    """Pull the arm with the largest mean under random weights of its rewards and of the bound 1.

    The weights are uniform on the simplex, a Dirichlet law with all parameters 1. For Bernoulli
    rewards this is Thompson sampling with the prior Beta(1, 0). Rewards must lie in [0, 1]. Every
    reward is stored, by definition; zeros and ones are only counted.

    Parameters
    ----------
    bound
        The parameter of the bound in the Dirichlet law, positive; 1 in the paper. Larger ones
        explore more.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.NPTS(), arms, horizon=2000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 25)
    True

    References
    ----------
    Riou & Honda. Bandit Algorithms Based on Thompson Sampling for Bounded Reward Distributions.
    ALT 2020.
    """

    bound: Annotated[float, Range(above=0.0, most=1e6)] = 1.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("index", np.float64, (arms,)),
            ("history", atoms_dtype(arms, FIRST_ROOM if horizon is None else horizon)),
        ]

    def start(self, s: Record) -> None:
        clear(s.history)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        for k in range(s.arms):
            if size(s.history, k) == 0:
                s.index[k] = unseen(s, k)
            else:
                s.index[k] = dirichlet_mean(s, k, self.bound)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        append(s.history, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return is_full(s.history, arm)
