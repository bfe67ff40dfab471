"""What policies for any rewards in [0, 1] share: K_inf of an arm's rewards.

Of all laws on [0, 1] with a mean of at least μ, the one nearest to the empirical law F̂ of an arm is
at the divergence

    K_inf(F̂, μ) = max over 0 ≤ λ ≤ 1 / (1 − μ) of the mean of log(1 − λ (X − μ))

(Honda & Takemura, 2010). It is 0 for μ up to the mean of F̂, then convex, with the slope λ. Where no
reward is 1 and (1 − μ) Σ 1 / (1 − X) ≤ n, the maximum is at the end, and two sums are enough. Where
all rewards are 0 or 1, it is the divergence of Bernoulli laws. Otherwise Newton's iteration goes
over all rewards, from the last λ on; zeros and ones are only counted.

The record of a policy with `family="bounded"` has the fields `empirical_fields`. Records of other
families have not, and the functions at the end do nothing for them: which they are is known at
compile time.
"""

import math
from typing import Any

import numpy as np

from lastblock.core.multiset import append, atoms_dtype, clear, is_full, size
from lastblock.kernels.divergences import BERNOULLI, divergence
from lastblock.kernels.jit import in_kernels, kernel, routine
from lastblock.kit import FIRST_ROOM, Layout, Record, clipped, unseen

NOT_SOLVED = -1.0

MARGIN = 1e-9
"""More than the rounding errors of a tangent, relative to the costs that it rules out."""

ITERATIONS = 60


def law_fields(arms: int, horizon: int | None) -> Layout:
    """Return the fields for every reward of each arm."""
    return [
        ("atoms", atoms_dtype(arms, FIRST_ROOM if horizon is None else horizon)),
        ("nearness", np.float64, (arms,)),  # Σ 1 / (1 − x) over the rewards below 1 …
        ("shortfall", np.float64, (arms,)),  # … and Σ log(1 − x)
    ]


@kernel
def add_to_law(s: Record, arm: int, reward: float) -> None:
    """Keep a reward of an arm."""
    append(s.atoms, arm, reward)
    if reward < 1.0:
        s.nearness[arm] += 1.0 / (1.0 - reward)
        s.shortfall[arm] += math.log1p(-reward)


def empirical_fields(arms: int, horizon: int | None) -> Layout:
    """Return the fields for every reward of each arm, and for what was solved last."""
    return [
        *law_fields(arms, horizon),
        ("dual", np.float64, (arms,)),  # λ (1 − μ), from which the next search starts
        ("solved_for", np.float64, (arms,)),  # μ, unless a reward came since
        ("distance", np.float64, (arms,)),  # K_inf there …
        ("steepness", np.float64, (arms,)),  # … and its slope, λ
    ]


@kernel
def find_dual(s: Record, arm: int, target: float) -> float:
    """Return λ (1 − μ) in (0, 1), where the derivative of the mean of log(1 − λ (X − μ)) is 0."""
    h = s.atoms
    rest = 1.0 - target
    lowest = -target / rest  # of (x − μ) / (1 − μ), for x = 0
    low = 0.0
    high = 1.0
    dual = s.dual[arm]
    if not 0.0 < dual < 1.0:
        dual = 0.5
    for _ in range(ITERATIONS):
        share = lowest / (1.0 - dual * lowest)
        value = h.zeros[arm] * share
        slope = h.zeros[arm] * share * share
        if h.ones[arm] > 0:
            share = 1.0 / (1.0 - dual)
            value += h.ones[arm] * share
            slope += h.ones[arm] * share * share
        for i in range(h.others[arm]):
            place = (h.value[arm, i] - target) / rest
            share = place / (1.0 - dual * place)
            value += share
            slope += share * share
        if value > 0.0:
            high = dual
        else:
            low = dual
        following = dual - value / slope
        if not low < following < high:
            following = 0.5 * (low + high)
        moved = abs(following - dual)
        dual = following
        # Convergence is quadratic: after this step only rounding errors remain.
        if moved <= max(1e-9 * min(dual, 1.0 - dual), 1e-16):
            break
    return float(dual)


@routine
def k_inf(s: Record, arm: int, target: float) -> float:
    """Return K_inf of the arm's rewards and the mean `target`; leave λ in `steepness`."""
    h = s.atoms
    mean = s.means[arm]
    target = float(target)
    if target <= mean:
        s.steepness[arm] = 0.0
        return 0.0
    if target >= 1.0:
        s.steepness[arm] = math.inf
        return math.inf
    rest = 1.0 - target
    if h.others[arm] == 0:
        s.steepness[arm] = (target - mean) / (target * rest)
        return divergence(BERNOULLI, mean, target, 1.0)
    n = size(h, arm)
    if h.ones[arm] == 0 and rest * s.nearness[arm] <= n:
        s.dual[arm] = 1.0
        s.steepness[arm] = 1.0 / rest
        return max(float(s.shortfall[arm]) / n - math.log(rest), 0.0)
    dual = find_dual(s, arm, target)
    s.dual[arm] = dual
    s.steepness[arm] = dual / rest
    total = h.zeros[arm] * math.log1p(dual * target / rest)
    if h.ones[arm] > 0:
        total += h.ones[arm] * math.log1p(-dual)
    for i in range(h.others[arm]):
        total += math.log1p(-dual * (float(h.value[arm, i]) - target) / rest)
    return float(max(total / n, 0.0))


@kernel
def solve_cost(s: Record, arm: int, best: float) -> None:
    """Compute K_inf of the arm and the largest mean, unless it is known."""
    if s.solved_for[arm] != best:
        s.distance[arm] = k_inf(s, arm, best)
        s.solved_for[arm] = best


@kernel
def least_costs(s: Record, best: float) -> None:
    """Set the index of each arm to −(N K_inf + log N), or less where it cannot be the largest.

    K_inf is convex in the largest mean, so that the tangent where it was solved last is a bound
    from below. It rules out most arms without a pass over their rewards.
    """
    least = math.inf
    for k in range(s.arms):
        if s.pulls[k] == 0:
            s.index[k] = unseen(s, k)
            continue
        n = s.pulls[k] + s.out[k]
        cost = s.logs[k] if s.out[k] == 0 else math.log(n)
        if s.means[k] < best:
            if best >= 1.0:
                s.index[k] = -math.inf
                continue
            if s.solved_for[k] == NOT_SOLVED:
                solve_cost(s, k, best)
            tangent = s.distance[k] + s.steepness[k] * (best - s.solved_for[k])
            cost += n * max(tangent, 0.0)
        if s.means[k] >= best or s.solved_for[k] == best:
            least = min(least, cost)
        s.index[k] = -cost
    for k in range(s.arms):
        if s.pulls[k] > 0 and s.means[k] < best < 1.0 and s.solved_for[k] != best:
            if -s.index[k] <= least + MARGIN * (1.0 + abs(least)):
                n = s.pulls[k] + s.out[k]
                solve_cost(s, k, best)
                cost = math.log(n) + n * s.distance[k]
                least = min(least, cost)
                s.index[k] = -cost


# For records of all families.


def start_empirical(s: Record) -> None:
    """Begin without any reward."""
    if "atoms" in s.dtype.names:
        _start(s)


@kernel
def _start(s: Record) -> None:
    clear(s.atoms)
    for k in range(s.dual.shape[0]):
        s.dual[k] = 0.5
        s.solved_for[k] = NOT_SOLVED


@in_kernels(start_empirical)
def _start_kernel(s: Any) -> Any:
    return _start if "atoms" in s.fields else lambda s: None


def keep_reward(s: Record, arm: int, reward: float) -> None:
    """Keep a reward of an arm."""
    if "atoms" in s.dtype.names:
        _keep(s, arm, reward)


@kernel
def _keep(s: Record, arm: int, reward: float) -> None:
    reward = clipped(reward)
    add_to_law(s, arm, reward)
    s.solved_for[arm] = NOT_SOLVED


@in_kernels(keep_reward)
def _keep_kernel(s: Any, arm: Any, reward: Any) -> Any:
    return _keep if "atoms" in s.fields else lambda s, arm, reward: None


def no_room(s: Record, arm: int) -> bool:
    """Return whether there is no room for another reward of an arm."""
    return "atoms" in s.dtype.names and is_full(s.atoms, arm)


@in_kernels(no_room)
def _no_room_kernel(s: Any, arm: Any) -> Any:
    return (lambda s, arm: is_full(s.atoms, arm)) if "atoms" in s.fields else lambda s, arm: False


def empirical_costs(s: Record, best: float) -> None:
    """Set the indices by `least_costs`."""
    if "atoms" in s.dtype.names:
        least_costs(s, best)


@in_kernels(empirical_costs)
def _costs_kernel(s: Any, best: Any) -> Any:
    return least_costs if "atoms" in s.fields else lambda s, best: None


def empirical_cost(s: Record, arm: int, best: float) -> float:
    """Return K_inf of an arm and the largest mean."""
    if "atoms" not in s.dtype.names:
        return 0.0
    return _cost(s, arm, best)


@kernel
def _cost(s: Record, arm: int, best: float) -> float:
    solve_cost(s, arm, best)
    return float(s.distance[arm])


@in_kernels(empirical_cost)
def _cost_kernel(s: Any, arm: Any, best: Any) -> Any:
    return _cost if "atoms" in s.fields else lambda s, arm, best: 0.0
