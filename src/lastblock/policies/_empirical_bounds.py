"""The empirical kl-UCB: how large the mean of a law on [0, 1] near an arm's rewards can be.

The bound is the largest q with K_inf(F̂, q) ≤ level, for F̂ the law of the arm's n rewards. With

    A(ν) = Σ 1 / (ν − x)  and  B(ν) = Σ log(ν − x)

over them, the law with weights in proportion to 1 / (ν − x) has the mean ν − n / A and the
divergence f(ν) = B / n + log(A / n) from F̂, which falls with ν > 1 (Filippi, Cappé & Garivier,
2010). Hence the bound is at least ν − n / A if f(ν) ≤ level, and by duality it is at most
ν − exp(B / n − level), for every ν ≥ 1. Both are equal where f(ν) = level, and nearly so close to
it.

So the sums are kept for a ν a little above the root, and a new reward adds a term to each: the two
bounds then take no pass over the rewards. They nearly always decide which arm has the largest
index, until the root has moved past ν, when the arm has some hundredth more rewards. Only arms
between which they do not decide are solved, by Newton's iteration from the last ν on.
"""

import math
from typing import Any

import numpy as np

from lastblock.core.multiset import clear, is_full, size
from lastblock.kernels.divergences import bernoulli_upper
from lastblock.kernels.jit import in_kernels, kernel, routine
from lastblock.kit import Layout, Record, argmax, clipped, unseen
from lastblock.policies._empirical_laws import add_to_law, law_fields

CLOSEST = 1e-13
"""Where ν − 1 would be smaller the bound is 1, as that of Bernoulli rewards is."""

FURTHEST = 1e15

MARGIN = 1e-12
"""More than the rounding errors of the bounds."""

SLACK = 0.01
"""The sums are kept for the ν with f(ν) = (1 − SLACK) level."""

ROUGHLY, EXACTLY = 1e-3, 1e-8
"""How close to the root of log(ν − 1) Newton's iteration ends."""

ITERATIONS = 80


def empirical_bound_fields(arms: int, horizon: int | None) -> Layout:
    """Return the fields for every reward of each arm, and for the sums at the last solution."""
    return [
        *law_fields(arms, horizon),
        ("anchor", np.float64, (arms,)),  # ν − 1
        ("inverse", np.float64, (arms,)),  # A(ν)
        ("log_gap", np.float64, (arms,)),  # B(ν)
        ("floor", np.float64, (arms,)),  # the bound is at least this
    ]


@kernel
def sum_up(s: Record, arm: int, anchor: float) -> float:
    """Set ν and the sums A and B, in a pass over all rewards; return Σ 1 / (ν − x)²."""
    h = s.atoms
    nu = 1.0 + anchor
    share = 1.0 / nu
    inverse = h.zeros[arm] * share
    square = inverse * share
    log_gap = h.zeros[arm] * math.log(nu)
    if h.ones[arm] > 0:
        share = 1.0 / anchor
        inverse += h.ones[arm] * share
        square += h.ones[arm] * share * share
        log_gap += h.ones[arm] * math.log(anchor)
    for i in range(h.others[arm]):
        gap = anchor + (1.0 - float(h.value[arm, i]))
        share = 1.0 / gap
        inverse += share
        square += share * share
        log_gap += math.log(gap)
    s.anchor[arm] = anchor
    s.inverse[arm] = inverse
    s.log_gap[arm] = log_gap
    return float(square)


@kernel
def divergence_there(s: Record, arm: int, n: int) -> float:
    """Return f(ν) for the ν of the sums."""
    return float(s.log_gap[arm]) / n + math.log(float(s.inverse[arm]) / n)


@kernel
def from_above(s: Record, arm: int, n: int, level: float) -> float:
    """Return ν − exp(B / n − level), which the bound does not exceed."""
    return float(s.anchor[arm]) + (1.0 - math.exp(float(s.log_gap[arm]) / n - level))


@routine
def solve(s: Record, arm: int, level: float, closeness: float) -> float:
    """Find the ν with f(ν) = level, set the sums there, and return the bound."""
    n = size(s.atoms, arm)
    low = math.log(CLOSEST)
    high = math.log(FURTHEST)
    at = math.log(float(s.anchor[arm])) if s.anchor[arm] > CLOSEST else 0.0
    for _ in range(ITERATIONS):
        anchor = math.exp(at)
        square = sum_up(s, arm, anchor)
        found = divergence_there(s, arm, n)
        if found > level:
            low = at
        else:
            high = at
        # The slope of log f in log(ν − 1).
        slope = anchor * (s.inverse[arm] / n - square / s.inverse[arm])
        following = 0.5 * (low + high)
        if found > 0.0 and slope < 0.0:
            newton = at - math.log(found / level) * found / slope
            if low < newton < high:
                following = newton
        step = abs(following - at)
        at = following
        # The bound is stationary in ν: its error is that of ν squared.
        if step <= closeness:
            break
    if at <= math.log(CLOSEST) + 1e-6:
        return 1.0
    return min(from_above(s, arm, n, level), 1.0)


@kernel
def decided(s: Record, arm: int, level: float) -> bool:
    """Set the index and the floor of an arm without a pass; return whether they are exact."""
    h = s.atoms
    mean = float(s.means[arm])
    n = size(h, arm)
    exact = True
    if level <= 0.0 or mean >= 1.0:
        s.index[arm] = mean
    elif h.others[arm] == 0:
        s.index[arm] = bernoulli_upper(mean, level)
    else:
        rest = math.exp(float(s.shortfall[arm]) / n - level)
        if h.ones[arm] == 0 and rest * s.nearness[arm] <= n:  # ν = 1
            s.index[arm] = 1.0 - rest
        elif s.inverse[arm] == 0.0:
            s.index[arm] = 1.0
            exact = False
        else:
            s.index[arm] = min(from_above(s, arm, n, level), 1.0)
            exact = False
    s.floor[arm] = s.index[arm]
    if not exact:
        s.floor[arm] = mean
        if s.inverse[arm] > 0.0 and divergence_there(s, arm, n) <= level:
            s.floor[arm] = max(mean, 1.0 + float(s.anchor[arm]) - n / float(s.inverse[arm]))
    return exact


@kernel
def rivals(s: Record, height: float) -> int:
    """Return the number of arms that may have the largest bound, if one is at least `height`."""
    found = 0
    for k in range(s.arms):
        if s.index[k] >= height - MARGIN:
            found += 1
    return found


@kernel
def is_open(s: Record, arm: int, height: float) -> bool:
    """Return whether the bound of such an arm is not known exactly."""
    return bool(
        s.level[arm] >= 0.0 and s.floor[arm] < s.index[arm] and s.index[arm] >= height - MARGIN
    )


@kernel
def _largest(s: Record) -> Any:
    height = -math.inf
    for k in range(s.arms):
        s.floor[k] = -math.inf
        if s.level[k] < 0.0:
            s.index[k] = unseen(s, k)
        else:
            decided(s, k, s.level[k])
        height = max(height, s.floor[k] if s.level[k] >= 0.0 else s.index[k])
    if rivals(s, height) > 1:
        for k in range(s.arms):
            if is_open(s, k, height) and s.floor[k] == s.means[k]:
                solve(s, k, (1.0 - SLACK) * float(s.level[k]), ROUGHLY)
                decided(s, k, s.level[k])
                height = max(height, s.floor[k])
    if rivals(s, height) > 1:
        for k in range(s.arms):
            if is_open(s, k, height):
                s.index[k] = solve(s, k, float(s.level[k]), EXACTLY)
                s.floor[k] = s.index[k]
                height = max(height, s.index[k])
    return argmax(s, s.index)


# For records of all families; what they are is known at compile time.


def start_bounds(s: Record) -> None:
    """Begin without any reward."""
    if "anchor" in s.dtype.names:
        _start(s)


@kernel
def _start(s: Record) -> None:
    clear(s.atoms)
    for k in range(s.anchor.shape[0]):
        s.anchor[k] = 1.0


@in_kernels(start_bounds)
def _start_kernel(s: Any) -> Any:
    return _start if "anchor" in s.fields else lambda s: None


def keep_for_bounds(s: Record, arm: int, reward: float) -> None:
    """Keep a reward of an arm, and add it to the sums at the last solution."""
    if "anchor" in s.dtype.names:
        _keep(s, arm, reward)


@kernel
def _keep(s: Record, arm: int, reward: float) -> None:
    reward = clipped(reward)
    add_to_law(s, arm, reward)
    gap = float(s.anchor[arm]) + (1.0 - reward)
    s.inverse[arm] += 1.0 / gap
    s.log_gap[arm] += math.log(gap)


@in_kernels(keep_for_bounds)
def _keep_kernel(s: Any, arm: Any, reward: Any) -> Any:
    return _keep if "anchor" in s.fields else lambda s, arm, reward: None


def no_room_for_bounds(s: Record, arm: int) -> bool:
    """Return whether there is no room for another reward of an arm."""
    return "anchor" in s.dtype.names and is_full(s.atoms, arm)


@in_kernels(no_room_for_bounds)
def _no_room_kernel(s: Any, arm: Any) -> Any:
    return (lambda s, arm: is_full(s.atoms, arm)) if "anchor" in s.fields else lambda s, arm: False


def largest_empirical_bound(s: Record) -> Any:
    """Return the arm with the largest bound, given the levels.

    A negative level means that the arm has no reward. The index of an arm that is not solved is a
    bound from above of its bound.
    """
    return _largest(s) if "anchor" in s.dtype.names else np.int64(0)


@in_kernels(largest_empirical_bound)
def _largest_kernel(s: Any) -> Any:
    return _largest if "anchor" in s.fields else lambda s: np.int64(0)
