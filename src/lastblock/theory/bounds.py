"""Lower bounds on the regret, and the number of changes of an environment."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import require_environment
from lastblock.kernels.divergences import Family
from lastblock.kernels.proportions import best_proportions
from lastblock.theory.kullback import divergence


def lai_robbins(environment: Any) -> float:
    """Return the constant C of Lai & Robbins (1985).

    The regret of a policy that is good on all problems of a family grows at least like C log t.
    C is the sum of Δ_k / kl(μ_k, μ*) over all arms k that are not best.

    Parameters
    ----------
    environment
        A stationary environment whose arms belong to one family: `Bernoulli`, `Gaussian`,
        `Poisson` or `Exponential`. Gaussian arms may have different standard deviations; the
        bound takes them as known.

    Returns
    -------
    float
        The constant; 0 if all arms have the same mean.

    Raises
    ------
    ValueError
        If `environment` is not an environment or changes over time, or its arms are of other or
        different families.
    """
    arms = _lasting_arms(environment, "lai_robbins")
    family = common_family(arms)
    best = max(arm.mean for arm in arms)
    return math.fsum(
        (best - arm.mean) / divergence(family, arm.mean, best, getattr(arm, "std", 1.0))
        for arm in arms
        if arm.mean < best
    )


def characteristic_time(environment: Any) -> float:
    """Return T* of Garivier & Kaufmann (2016): how hard it is to find the best arm.

    A policy that finds it with a probability of 1 − δ, on all problems of the family, needs at
    least about T* log(1/δ) pulls on average; `TrackAndStop` needs no more, as δ becomes small.

    Parameters
    ----------
    environment
        As for `lai_robbins`; Gaussian arms have one standard deviation.

    Returns
    -------
    float
        The number of pulls; infinite if several arms are best.

    Raises
    ------
    ValueError
        As for `lai_robbins`, and if Gaussian arms have different standard deviations.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(mean) for mean in (0.5, 0.45, 0.43, 0.4)])
    >>> round(characteristic_time(arms))
    990
    """
    arms = _lasting_arms(environment, "characteristic_time")
    family = common_family(arms)
    sigmas = {getattr(arm, "std", 1.0) for arm in arms}
    if len(sigmas) > 1:
        raise ValueError(
            "characteristic_time: the arms have different standard deviations; give them one"
        )
    means = np.array([arm.mean for arm in arms], np.float64)
    case = best_proportions(means, np.empty(means.size), means.size, int(family), sigmas.pop())
    return 1.0 / case if case > 0.0 else math.inf


def _lasting_arms(environment: Any, caller: str) -> Any:
    """Return the arms of a stationary environment; raise a ValueError for anything else."""
    phases = getattr(environment, "phases", None)
    if phases is None:
        require_environment(environment)
    if phases is None or count_changes(environment) > 0:
        raise ValueError(
            f"{caller}: {environment!r} changes over time; it is defined for arms that never "
            "change, so give a Stationary environment"
        )
    return phases[0]


def lower_bound(environment: Any, times: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the lower bound C log t on the regret, with the constant C of `lai_robbins`.

    Parameters
    ----------
    environment
        As for `lai_robbins`.
    times
        Numbers of pulls t; at least 1.

    Returns
    -------
    array
        The bound at each of `times`.

    Raises
    ------
    ValueError
        As for `lai_robbins`, and if a time is below 1.
    """
    t = np.asarray(times, dtype=np.float64)
    if t.size > 0 and not t.min() >= 1.0:
        raise ValueError(f"times: {t.min()} must be at least 1")
    return lai_robbins(environment) * np.log(t)


def count_changes(environment: Any) -> int:
    """Return Γ, the number of times at which some arm of a piecewise environment changes.

    Parameters
    ----------
    environment
        An environment with phases: `Piecewise` or `Stationary`.

    Returns
    -------
    int
        The number of changes.

    Raises
    ------
    ValueError
        If the environment has no phases, such as `Drifting`, or is not an environment.

    Examples
    --------
    >>> import lastblock as lb
    >>> a, b = [lb.Bernoulli(0.5), lb.Bernoulli(0.3)], [lb.Bernoulli(0.3), lb.Bernoulli(0.5)]
    >>> count_changes(lb.Piecewise({0: a, 100: a, 200: b}))
    1
    """
    phases = getattr(environment, "phases", None)
    if phases is None:
        require_environment(environment)
        raise ValueError(
            f"count_changes: {environment!r} has no phases; it changes at every step or at unknown "
            "times, so give the number of changes yourself"
        )
    return sum(before != after for before, after in pairwise(phases))


def common_family(arms: Any) -> int:
    """Return the number of the family that all arms belong to.

    Raises a `ValueError` if they belong to several families, or to one without a divergence here.
    """
    names = sorted({type(arm).__name__ for arm in arms})
    known = {member.name.capitalize(): int(member) for member in Family}
    if len(names) > 1:
        raise ValueError(
            f"the arms are of several families ({', '.join(names)}); they must share one"
        )
    if names[0] not in known:
        raise ValueError(
            f"the arms are of the family {names[0]}; it must be one of {', '.join(known)}"
        )
    return known[names[0]]
