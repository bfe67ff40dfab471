"""kl-UCB (Garivier & Cappé, 2011; Cappé et al., 2013), and what its variants share."""

import math
from typing import Any, NamedTuple

import numpy as np

from lastblock.divergences import EXPONENTIAL, GAUSSIAN, POISSON, inside, upper
from lastblock.indices import argmax, unseen
from lastblock.jit import kernel
from lastblock.models import Family, FamilyCode, FamilyWord
from lastblock.protocol import Layout, Record, policy
from lastblock.state import enqueue, enqueue_all, shuffle

MARGIN = 1e-12
"""Rounding of a tangent, with room to spare."""


def bounds_layout(arms: int) -> Layout:
    """The fields of the kernels below."""
    return [
        ("means", np.float64, (arms,)),  # what the bounds belong to
        ("level", np.float64, (arms,)),  # log t / N, now …
        ("solved", np.float64, (arms,)),  # … and when the bound was last solved for
        ("bound", np.float64, (arms,)),  # sup {q: kl(mean, q) ≤ solved}
        ("slope", np.float64, (arms,)),  # by which it grows with the level, at most
        ("index", np.float64, (arms,)),
    ]


@kernel
def clear_bounds(s: Record) -> None:
    """Nothing is solved yet."""
    for k in range(s.means.shape[0]):
        s.means[k] = 0.0
        s.level[k] = 0.0
        s.solved[k] = math.inf
        s.bound[k] = 0.0
        s.slope[k] = 0.0
        s.index[k] = 0.0


@kernel
def set_mean(s: Record, arm: int, family: FamilyCode, mean: float) -> None:
    """The arm's mean has changed: its bound must be solved for again."""
    s.means[arm] = inside(family, mean)
    s.solved[arm] = math.inf


@kernel
def solve(s: Record, arm: int, family: FamilyCode, sigma: float) -> None:
    """The bound at the arm's level, and its slope there."""
    p = s.means[arm]
    level = s.level[arm]
    q = upper(family, p, level, sigma)
    s.bound[arm] = q
    s.solved[arm] = level
    # 1 / kl'(p, q). The bound is concave in the level, so that its tangent lies above it; not so
    # for exponential arms, where the logarithm of the bound is: these are solved for every time.
    if family == EXPONENTIAL or q <= p:
        s.slope[arm] = math.inf
    elif family == POISSON:
        s.slope[arm] = q / (q - p)
    else:
        s.slope[arm] = q * (1.0 - q) / (q - p)


@kernel
def might_reach(s: Record, arm: int, height: float) -> bool:
    """Whether the arm's bound may be as high as this, by its tangent, which costs no root."""
    growth = s.level[arm] - s.solved[arm]
    if growth == 0.0:
        return False  # solved for this level already
    if math.isinf(s.slope[arm]):
        return True
    tangent = s.bound[arm] + growth * s.slope[arm]
    return bool(tangent >= height * (1.0 - MARGIN))


@kernel
def largest_bound(s: Record, family: FamilyCode, sigma: float) -> Any:
    """The arm with the largest bound, given the levels (negative: none of its rewards is there).

    Roots are solved for only where they can decide: means move one or two at a time and levels
    grow slowly, so that most arms are ruled out by the tangent at their last root.
    """
    height = 0.0
    for k in range(s.arms):
        if s.level[k] < 0.0:
            s.index[k] = unseen(s, k)
            continue
        if family == GAUSSIAN:
            s.index[k] = s.means[k] + sigma * math.sqrt(2.0 * s.level[k])
            continue
        if s.level[k] < s.solved[k]:
            solve(s, k, family, sigma)
        # Bounds grow with the level, so that an older one is a bound from below.
        s.index[k] = s.bound[k]
        height = max(height, s.bound[k])
    if family != GAUSSIAN:
        for k in range(s.arms):
            if s.level[k] >= 0.0 and might_reach(s, k, height):
                solve(s, k, family, sigma)
                s.index[k] = s.bound[k]
    return argmax(s, s.index)


def validate_family(name: str, family: Family | FamilyWord, sigma: float, c: float) -> None:
    """The parameters that all kl-UCB policies share."""
    if sigma <= 0.0:
        raise ValueError(f"{name}: sigma={sigma} must be positive")
    if family != Family.GAUSSIAN and sigma != 1.0:
        raise ValueError(f"{name}: sigma={sigma} is for family='gaussian' only; leave it out")
    if c < 0.0:
        raise ValueError(f"{name}: c={c} must not be negative")


@policy()
class KLUCB(NamedTuple):
    """Pull the arm whose mean could be largest: sup {q: N kl(mean, q) ≤ c log t}.

    Parameters
    ----------
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson" or "exponential".
    sigma
        The known standard deviation of Gaussian rewards.
    c
        The factor of log t.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.KLUCB(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(5 < run.mean()[-1] < 15)
    True

    References
    ----------
    Garivier & Cappé. The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond. COLT 2011.
    Cappé, Garivier, Maillard, Munos & Stoltz. Kullback–Leibler Upper Confidence Bounds for Optimal
    Sequential Allocation. Annals of Statistics, 2013.
    """

    family: Family | FamilyWord = Family.BERNOULLI
    sigma: float = 1.0
    c: float = 1.0

    @classmethod
    def examples(cls) -> "tuple[KLUCB, ...]":
        return cls(), cls(Family.GAUSSIAN, sigma=0.5), cls(Family.POISSON, c=0.5)

    def validate(self) -> None:
        validate_family("KLUCB", self.family, self.sigma, self.c)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", np.int64, (arms,)),
            ("sums", np.float64, (arms,)),
            *bounds_layout(arms),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.pulls.shape[0]):
            s.pulls[k] = 0
            s.sums[k] = 0.0
        clear_bounds(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        exploration = self.c * math.log(s.round + s.arms - 1)
        for k in range(s.arms):
            if s.pulls[k] > 0:
                s.level[k] = exploration / (s.pulls[k] + s.out[k])
            else:
                s.level[k] = -1.0
        enqueue(s, largest_bound(s, self.family, self.sigma))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
        set_mean(s, arm, self.family, s.sums[arm] / s.pulls[arm])
