"""Giro: garbage in, reward out (Kveton et al., 2019)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.multiset import append, atoms_dtype, clear, is_full, size
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.jit import routine
from lastblock.kernels.streams import below, uniform
from lastblock.kit import FIRST_ROOM, Layout, Range, Record, argmax, binomial, policy, unseen


@routine
def bootstrap_mean(s: Record, arm: int, pseudo: int) -> float:
    """Return the mean of a bootstrap sample of the arm's rewards, `pseudo` zeros and as many ones.

    A sample with replacement holds a binomial number of the rewards strictly between 0 and 1, a
    binomial number of ones among the rest, and zeros.
    """
    h = s.history
    ones = h.ones[arm] + pseudo
    atoms = ones + h.zeros[arm] + pseudo
    total = atoms + h.others[arm]
    inner = total if atoms == 0 else binomial(s.stream, total, h.others[arm] / total)
    sampled = 0.0
    for _ in range(inner):
        sampled += h.value[arm, below(s.stream, h.others[arm])]
    if inner < total:
        sampled += binomial(s.stream, total - inner, ones / atoms)
    return float(sampled / total)


@policy(support="unit", grows=True, examples=[{"a": 0.3}, {"a": 0.0}])
class Giro(NamedTuple):
    """Pull the arm with the best bootstrap mean of its rewards and of added zeros and ones.

    Each reward of an arm comes with `a` pseudo-rewards 0 and `a` pseudo-rewards 1, the garbage,
    without which bootstrapping can fail for good. Rewards must lie in [0, 1], or the
    garbage would be too small or too large for them. Every reward is stored, by definition; zeros
    and ones are only counted.

    Parameters
    ----------
    a
        How many zeros and how many ones an arm gets for each reward, not negative. The paper proves
        logarithmic regret above 1/√2; smaller ones explore less.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    >>> run = lb.simulate(lb.Giro(), arms, horizon=2000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 40)
    True

    References
    ----------
    Kveton, Szepesvári, Vaswani, Wen, Ghavamzadeh & Lattimore. Garbage In, Reward Out:
    Bootstrapping Exploration in Multi-Armed Bandits. ICML 2019.
    """

    a: Annotated[float, Range(0.0, 1e6)] = 1.0

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
            n = size(s.history, k)
            if n == 0:
                s.index[k] = unseen(s, k)
            else:
                # a n is rounded up or down at random, so that it is right on average.
                exact = self.a * n
                pseudo = math.floor(exact)
                if exact > pseudo and uniform(s.stream) < exact - pseudo:
                    pseudo += 1
                s.index[k] = bootstrap_mean(s, k, pseudo)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        append(s.history, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return is_full(s.history, arm)
