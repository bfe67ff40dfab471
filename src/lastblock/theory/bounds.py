"""Lower bounds on the regret."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.kernels.divergences import Family
from lastblock.theory.kullback import divergence


def lai_robbins(environment: Any) -> float:
    """The constant of Lai & Robbins (1985): no good policy's regret grows slower than C log t.

    C is the sum over the worse arms of Δ_k / kl(μ_k, μ*), within the one family of all arms; each
    Gaussian arm has its own, known standard deviation.
    """
    phases = getattr(environment, "phases", None)
    if phases is None or count_changes(environment) > 0:
        raise ValueError(
            f"lai_robbins: {environment!r} changes over time; the bound is for arms that never do"
        )
    family = common_family(phases[0])
    best = max(arm.mean for arm in phases[0])
    return math.fsum(
        (best - arm.mean) / divergence(family, arm.mean, best, getattr(arm, "std", 1.0))
        for arm in phases[0]
        if arm.mean < best
    )


def lower_bound(environment: Any, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The curve C log t at the given times, with the constant of `lai_robbins`."""
    t = np.asarray(times, dtype=np.float64)
    if t.size > 0 and not t.min() >= 1.0:
        raise ValueError(f"times: {t.min()} must be at least 1")
    return lai_robbins(environment) * np.log(t)


def count_changes(environment: Any) -> int:
    """Γ, the number of times at which some arm of a piecewise environment changes.

    >>> import lastblock as lb
    >>> a, b = [lb.Bernoulli(0.5), lb.Bernoulli(0.3)], [lb.Bernoulli(0.3), lb.Bernoulli(0.5)]
    >>> count_changes(lb.Piecewise({0: a, 100: a, 200: b}))
    1
    """
    phases = getattr(environment, "phases", None)
    if phases is None:
        raise ValueError(
            f"count_changes: {environment!r} has no phases; it changes at every step or at unknown "
            "times, so give the number of changes yourself"
        )
    return sum(before != after for before, after in pairwise(phases))


def common_family(arms: Any) -> int:
    """The number of the one family that all arms belong to."""
    names = sorted({type(arm).__name__ for arm in arms})
    known = {member.name.capitalize(): int(member) for member in Family}
    if len(names) > 1:
        raise ValueError(f"arms of several families ({', '.join(names)}); they must share one")
    if names[0] not in known:
        raise ValueError(f"{names[0]} arms: the family must be one of {', '.join(known)}")
    return known[names[0]]
