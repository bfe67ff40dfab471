"""The generalised likelihood ratio test of a one-parameter family.

Of each arm the cumulative sums are kept at splits, ever fewer the further they are from both ends
(Besson, Kaufmann, Maillard & Seznec, 2022, test every split).
"""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.layout import COUNT, within
from lastblock.core.protocol import Layout, Record
from lastblock.core.registry import detector
from lastblock.kernels.divergences import (
    BERNOULLI,
    EXPONENTIAL,
    GAUSSIAN,
    Family,
    FamilyCode,
    FamilyWord,
    divergence,
    inside,
)
from lastblock.kernels.exact_sums import two_sum
from lastblock.kernels.jit import kernel, routine

GRAIN = 8
"""A split at distance d from the nearer end of the rewards is missed by d / 8 at most."""

RUNGS = 28
"""Powers of two up to which splits are kept: room for 4 · 10⁹ rewards between two restarts."""

FILTER = 1.0 - 1e-9


def split_fields(arms: int) -> Layout:
    """What is kept of every arm since its last restart, and the last split found."""
    return [
        ("pulls", COUNT, (arms,)),
        ("sums", np.float64, (arms,)),
        ("error", np.float64, (arms,)),  # what rounding took away from the sum
        ("rung", within(np.int64, 0, RUNGS - 1), (arms,)),  # the coarsest one in use
        ("first", np.float64, (arms, GRAIN * (RUNGS + 1))),
        ("recent", np.float64, (arms, RUNGS, 2 * GRAIN)),
        ("size", COUNT),  # rewards since the split …
        ("old", np.float64),  # … the mean before it …
        ("new", np.float64),  # … and since
    ]


@kernel
def forget_arm(s: Record, arm: int) -> None:
    """Begin again with an arm."""
    s.pulls[arm] = 0
    s.sums[arm] = 0.0
    s.error[arm] = 0.0
    s.rung[arm] = 0


@kernel
def append(s: Record, arm: int, reward: float) -> None:
    """Add a reward to the cumulative sum, and keep the sum where later splits will need it.

    On rung j lie the splits that are multiples of 2ʲ: `recent` keeps the last 2 · GRAIN of them,
    `first` those between GRAIN and 2 · GRAIN multiples from the start (and all before).
    """
    n = s.pulls[arm] + 1
    s.pulls[arm] = n
    total, error = two_sum(s.sums[arm], reward)
    s.sums[arm] = total
    s.error[arm] += error
    total += s.error[arm]
    j = 0
    while j < RUNGS and n & ((1 << j) - 1) == 0:
        s.recent[arm, j, (n >> j) & (2 * GRAIN - 1)] = total
        j += 1
    if n >> s.rung[arm] >= 2 * GRAIN and s.rung[arm] < RUNGS - 1:
        s.rung[arm] += 1
    j = s.rung[arm]
    if n & ((1 << j) - 1) == 0 and n >> j < 2 * GRAIN:
        s.first[arm, GRAIN * j + (n >> j)] = total


@kernel
def is_split(
    family: FamilyCode, sigma: float, n: int, total: float, at: int, head: float, threshold: float
) -> bool:
    """Whether the first `at` of n rewards (their sum: `head`) and the rest differ too much.

    at · kl(mean before, mean) + (n − at) · kl(mean after, mean) is below its χ² bound, which needs
    no logarithm and rules out nearly every split.
    """
    mean = total / n
    miss = head - at * mean
    if family == EXPONENTIAL:
        room = head * (total - head)
    elif family == BERNOULLI:
        room = mean * (1.0 - mean) * at * (n - at)
    elif family == GAUSSIAN:
        room = 2.0 * sigma * sigma * at * (n - at)
    else:
        room = mean * at * (n - at)
    if miss * miss * n < threshold * room * FILTER:
        return False
    middle = inside(family, mean)
    old = divergence(family, inside(family, head / at), middle, sigma)
    new = divergence(family, inside(family, (total - head) / (n - at)), middle, sigma)
    return bool(at * old + (n - at) * new >= threshold)


@kernel
def note_split(s: Record, at: int, head: float, n: int, total: float) -> bool:
    """Leave where the split is, and the means before and after it."""
    s.size = n - at
    s.old = head / at
    s.new = (total - head) / (n - at)
    return True


@routine
def has_changed(s: Record, arm: int, family: FamilyCode, sigma: float, delta: float) -> bool:
    """The generalised likelihood ratio test over the kept splits of the arm's rewards."""
    n = s.pulls[arm]
    total = s.sums[arm] + s.error[arm]
    # β(n, δ) = log(3 n√n / δ)
    threshold = 1.5 * math.log(n) + math.log(3.0 / delta)
    # Splits nearer to the start, from there on …
    at = 1
    j = 0
    while 2 * at <= n and j <= s.rung[arm]:
        if is_split(family, sigma, n, total, at, s.first[arm, GRAIN * j + (at >> j)], threshold):
            return note_split(s, at, s.first[arm, GRAIN * j + (at >> j)], n, total)
        at += 1 << j
        if at >> j == 2 * GRAIN:
            j += 1
    # … and nearer to the end, backwards.
    for j in range(RUNGS):
        nearest = 1 if j == 0 else GRAIN << j
        if 2 * nearest >= n:
            break
        multiple = (n - nearest) >> j
        at = multiple << j
        while n - at < (2 * GRAIN) << j and 2 * (n - at) < n:
            head = s.recent[arm, j, multiple & (2 * GRAIN - 1)]
            if is_split(family, sigma, n, total, at, head, threshold):
                return note_split(s, at, head, n, total)
            multiple -= 1
            at -= 1 << j
    return False


@detector()
class GLR(NamedTuple):
    """The test of GLR-kl-UCB, for any policy: it must be told the law of the rewards.

    Parameters
    ----------
    delta
        δ, about the probability of a false alarm of one arm that never changes.
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson" or "exponential".
    sigma
        The known standard deviation of Gaussian rewards.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.Restarting(lb.Thompson(), lb.GLR(delta=0.01)).detector
    GLR(delta=0.01, family='bernoulli', sigma=1.0)

    References
    ----------
    Besson, Kaufmann, Maillard & Seznec. Efficient Change-Point Detection for Tackling
    Piecewise-Stationary Bandits. JMLR, 2022.
    """

    delta: float = 0.01
    family: Family | FamilyWord = Family.BERNOULLI
    sigma: float = 1.0

    def validate(self) -> None:
        if not 0.0 < self.delta < 1.0:
            raise ValueError(f"GLR: delta={self.delta} must lie between 0 and 1")
        if self.sigma <= 0.0:
            raise ValueError(f"GLR: sigma={self.sigma} must be positive")
        if self.family != Family.GAUSSIAN and self.sigma != 1.0:
            raise ValueError(f"GLR: sigma={self.sigma} is for family='gaussian' only; leave it out")

    def layout(self, arms: int) -> Layout:
        return split_fields(arms)

    def reset(self, d: Record) -> None:
        d.size = 0
        d.old = 0.0
        d.new = 0.0
        for k in range(d.pulls.shape[0]):
            forget_arm(d, k)

    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool:
        append(d, arm, reward)
        return has_changed(d, arm, self.family, self.sigma, self.delta)
