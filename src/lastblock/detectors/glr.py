"""The generalised likelihood ratio test for a change of the mean in a one-parameter family.

For each arm the detector keeps the cumulative sum of the rewards at selected splits into "before"
and "after": the further a split is from both ends, the fewer of its neighbours are kept. Besson,
Kaufmann, Maillard & Seznec (2022) test every split; a policy that has room for all cumulative sums
does so, too.
"""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.layout import COUNT, capacity, within
from lastblock.core.parameters import Chance, Sigma
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
"""For every split at distance d from the nearer end, a kept split is at most d / 8 away."""

RUNGS = 28
"""Splits on rung j are multiples of 2ʲ. With 28 rungs an arm can have 4 · 10⁹ rewards between two
restarts."""

SMALLEST_ROOM = 64

LARGEST_SUMS = (1 << 31) - 1
"""The largest size of all cumulative sums in bytes, because numpy's records are no larger."""

FILTER = 1.0 - 1e-9
"""Factor on the χ² bound in `is_split`, so that rounding errors never rule out a split."""


def split_fields(arms: int, rewards: int | None = None) -> Layout:
    """Return the fields of the record: sums of each arm since its restart, and the last split.

    With `rewards`, there is room for all cumulative sums of so many rewards of each arm, and every
    split is tested.
    """
    at_start, at_end = GRAIN * (RUNGS + 1), 2 * GRAIN
    pulls = COUNT
    if rewards is not None:
        at_start, at_end = capacity(rewards + 1, SMALLEST_ROOM), 0
        if 8 * arms * at_start > LARGEST_SUMS:
            raise ValueError(
                f"the sums of {rewards} rewards an arm do not fit into a record; choose a shorter "
                "horizon, or all_splits=False"
            )
        pulls = within(np.int64, 0, at_start - 1)
    return [
        ("pulls", pulls, (arms,)),
        ("sums", np.float64, (arms,)),
        ("error", np.float64, (arms,)),  # the accumulated rounding errors of `sums`
        ("rung", within(np.int64, 0, RUNGS - 1), (arms,)),  # the coarsest rung in use
        ("first", np.float64, (arms, at_start)),
        ("recent", np.float64, (arms, RUNGS, at_end)),
        ("size", COUNT),  # number of rewards after the last split found
        ("old", np.float64),  # mean before it
        ("new", np.float64),  # mean after it
    ]


@kernel
def forget_arm(s: Record, arm: int) -> None:
    """Forget all rewards of `arm`."""
    s.pulls[arm] = 0
    s.sums[arm] = 0.0
    s.error[arm] = 0.0
    s.rung[arm] = 0


@kernel
def append(s: Record, arm: int, reward: float) -> None:
    """Add a reward to the cumulative sum, and store the sum where later tests will look for it.

    The splits on rung j are the multiples of 2ʲ. `recent` holds the last 2 · GRAIN of them, and
    `first` those from GRAIN · 2ʲ to 2 · GRAIN · 2ʲ (on rung 0 also all smaller ones). Where all
    splits are tested, `first` holds all of them and `recent` has no room.
    """
    n = s.pulls[arm] + 1
    s.pulls[arm] = n
    total, error = two_sum(s.sums[arm], reward)
    s.sums[arm] = total
    s.error[arm] += error
    total += s.error[arm]
    if s.recent.shape[2] == 0:
        s.first[arm, n] = total
        return
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
    """Return whether the test statistic of a split reaches the threshold.

    The statistic is at · kl(mean before, mean) + (n − at) · kl(mean after, mean). It is below a χ²
    bound that needs no logarithm; this bound rules out nearly every split.

    Parameters
    ----------
    family, sigma
        The law of the rewards.
    n, total
        Number and sum of all rewards.
    at, head
        Number and sum of the rewards before the split.
    threshold
        The value from which on the split counts as a change.
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
    """Store the size and the means of the split that was found; return True."""
    s.size = n - at
    s.old = head / at
    s.new = (total - head) / (n - at)
    return True


@kernel
def no_room(s: Record, arm: int) -> bool:
    """Return whether there is no room for another cumulative sum of `arm`."""
    return bool(s.recent.shape[2] == 0 and s.pulls[arm] == s.first.shape[1] - 1)


@routine
def has_changed(
    s: Record, arm: int, family: FamilyCode, sigma: float, delta: float, factor: float
) -> bool:
    """Return whether the test finds a change of `arm` at one of the kept splits.

    If so, it leaves the split in the fields `size`, `old` and `new`. The threshold is
    β(n, δ) = log(`factor` n√n / δ).
    """
    n = s.pulls[arm]
    total = s.sums[arm] + s.error[arm]
    threshold = 1.5 * math.log(n) + math.log(factor / delta)
    if s.recent.shape[2] == 0:
        for at in range(1, n):
            if is_split(family, sigma, n, total, at, s.first[arm, at], threshold):
                return note_split(s, at, s.first[arm, at], n, total)
        return False
    # The splits nearer to the start, forwards from the start …
    at = 1
    j = 0
    while 2 * at <= n and j <= s.rung[arm]:
        if is_split(family, sigma, n, total, at, s.first[arm, GRAIN * j + (at >> j)], threshold):
            return note_split(s, at, s.first[arm, GRAIN * j + (at >> j)], n, total)
        at += 1 << j
        if at >> j == 2 * GRAIN:
            j += 1
    # … and the splits nearer to the end, backwards from the end.
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


@detector(support="family")
class GLR(NamedTuple):
    """The generalised likelihood ratio test of GLR-kl-UCB, for rewards of a known law.

    `Restarting` combines it with any policy.

    Parameters
    ----------
    delta
        δ, about the probability that an arm that never changes raises a false alarm.
    family
        The law of the rewards: "bernoulli" (suits all rewards in [0, 1]), "gaussian",
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

    delta: Chance = 0.01
    family: Family | FamilyWord = Family.BERNOULLI
    sigma: Sigma = 1.0

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
        return has_changed(d, arm, self.family, self.sigma, self.delta, 3.0)
