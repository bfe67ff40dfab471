"""The policies that the suite of random problems compares, with their parameters for a problem.

The parameters of the rivals use facts that nobody knows beforehand in practice: the horizon T, the
number of changes Γ, the family of the rewards, their largest standard deviation σ, and the smallest
and the largest mean. `AdaptiveLBSDA`, `LBSDA` and `LBSDALM` use none of them.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from benchmarks.suite.problems import SuiteProblem
from lastblock.arms.bernoulli import Bernoulli
from lastblock.arms.beta import Beta
from lastblock.arms.exponential import Exponential
from lastblock.arms.gaussian import Gaussian
from lastblock.arms.poisson import Poisson
from lastblock.core.protocol import Policy
from lastblock.environments.piecewise import Piecewise
from lastblock.kernels.divergences import Family
from lastblock.policies.adaptivelbsda import AdaptiveLBSDA
from lastblock.policies.cusumucb import CUSUMUCB
from lastblock.policies.discountedthompson import DiscountedThompson
from lastblock.policies.glrklucb import GLRKLUCB
from lastblock.policies.lbsda import LBSDA
from lastblock.policies.lbsdalm import LBSDALM
from lastblock.policies.mucb import MUCB
from lastblock.policies.oraclerestart import OracleRestart
from lastblock.policies.slidingwindowthompson import SlidingWindowThompson
from lastblock.policies.swlbsda import SWLBSDA

ADAPTIVE = "Adaptive LB-SDA"
TUNED = "SW-LB-SDA"
ORACLE = "LB-SDA, told the changes"
CLASSES = {
    ADAPTIVE: "AdaptiveLBSDA",
    TUNED: "SWLBSDA",
    "LB-SDA": "LBSDA",
    "LB-SDA-LM": "LBSDALM",
    "SW-TS": "SlidingWindowThompson",
    "DTS": "DiscountedThompson",
    "GLR-kl-UCB": "GLRKLUCB",
    "CUSUM-UCB": "CUSUMUCB",
    "M-UCB": "MUCB",
    ORACLE: "OracleRestart",
}
"""The name of the policy behind each label."""

RIVALS = tuple(CLASSES)
"""The labels of all policies, in the order of the tables."""

COUNTED = (ADAPTIVE, "GLR-kl-UCB", "CUSUM-UCB", "M-UCB")
"""The labels of the policies that detect changes, restart, and count their restarts."""

WINDOWS = tuple(1 << j for j in range(7, 17))
"""The windows from which, with the tuned one, the best is chosen in hindsight."""


class Knowledge(NamedTuple):
    """The facts about the rewards of a problem that rivals may use."""

    family: Family | None
    """None for laws that are not a `Family`."""
    low: float
    """The smallest mean."""
    high: float
    """The largest mean."""
    sigma: float
    """The largest standard deviation of an arm."""
    bounded: bool
    """Whether rewards lie in [0, 1]."""

    @property
    def scale(self) -> float:
        """The assumed range of the rewards: that of the means plus 2σ, as SW-UCB assumes."""
        return 1.0 if self.bounded else self.high - self.low + 2.0 * self.sigma


def knowledge_of(problem: SuiteProblem) -> Knowledge:
    """Return the facts about the rewards of a problem, from its arms."""
    environment = problem.environment
    if isinstance(environment, Piecewise):
        arms = [arm for phase in environment.phases for arm in phase]
    else:
        arms = [
            arm._replace(mean=mean)
            for arm, path in zip(environment.arms, environment.paths, strict=True)
            for mean in path.extremes()
        ]
    means = [float(arm.mean) for arm in arms]
    sigma = max(_deviation(arm) for arm in arms)
    bounded = isinstance(arms[0], Bernoulli | Beta)
    family = Family.BERNOULLI if bounded else _FAMILY_OF.get(type(arms[0]))
    return Knowledge(family, min(means), max(means), sigma, bounded)


_FAMILY_OF: dict[type[Any], Family] = {
    Gaussian: Family.GAUSSIAN,
    Exponential: Family.EXPONENTIAL,
    Poisson: Family.POISSON,
}


def _deviation(arm: Any) -> float:
    """Return the standard deviation of an arm's rewards."""
    match arm:
        case Gaussian():
            return float(arm.std)
        case Bernoulli():
            return math.sqrt(arm.mean * (1.0 - arm.mean))
        case Beta():
            return math.sqrt(arm.mean * (1.0 - arm.mean) / (arm.a + arm.b + 1.0))
        case Exponential():
            return float(arm.mean)
        case Poisson():
            return math.sqrt(arm.mean)
    values, chances = np.asarray(arm.values), np.asarray(arm.probabilities)
    return math.sqrt(float(((values - arm.mean) ** 2 * chances).sum()))


def rivals(problem: SuiteProblem) -> dict[str, Policy]:
    """Return the policies that can play a problem, by their labels."""
    told = knowledge_of(problem)
    arms = problem.environment.n_arms
    size: dict[str, Any] = {"horizon": problem.horizon, "changes": problem.changes}
    # Thompson sampling has two families. Unbounded rewards of any law get the Gaussian one with the
    # largest σ, and a normal prior around the middle of the means, as wide as their range.
    posterior: dict[str, Any] = {"family": Family.BERNOULLI}
    if not told.bounded:
        posterior = {
            "family": Family.GAUSSIAN,
            "prior_mean": (told.low + told.high) / 2.0,
            "prior_sigma": told.high - told.low,
            "sigma": told.sigma,
        }
    # The test of GLR-kl-UCB has four families; rewards with heavy tails get the Gaussian one.
    law: dict[str, Any] = {"family": told.family}
    if told.family is None or told.family == Family.GAUSSIAN:
        law = {"family": Family.GAUSSIAN, "sigma": told.sigma}
    found: dict[str, Policy] = {
        ADAPTIVE: AdaptiveLBSDA(),
        TUNED: tuned_window(problem),
        "LB-SDA": LBSDA(),
        "LB-SDA-LM": LBSDALM(),
        "SW-TS": SlidingWindowThompson.tuned(**size, **posterior),
        "DTS": DiscountedThompson.tuned(**size, **posterior),
        "GLR-kl-UCB": GLRKLUCB.tuned_to_changes(**size, arms=arms, **law),
        "CUSUM-UCB": _scaled(CUSUMUCB.tuned(**size), told.scale),
        "M-UCB": _scaled(MUCB.tuned(**size, arms=arms), told.scale),
    }
    if isinstance(problem.environment, Piecewise):
        found[ORACLE] = OracleRestart(LBSDA(), _padded(problem))
    return found


def _padded(problem: SuiteProblem) -> tuple[int, ...]:
    """Return the times of the changes, padded with times after the horizon.

    Every number of times needs a compilation; padding leaves only a few different numbers.
    """
    changes: tuple[int, ...] = problem.environment.changes
    size = next((n for n in (3, 10, 20) if n >= len(changes)), len(changes))
    return (*changes, *range(problem.horizon + 1, problem.horizon + 1 + size - len(changes)))


def _scaled(policy: Any, scale: float) -> Any:
    """Return a policy tuned for rewards in [0, 1] with its parameters in reward units scaled."""
    measured = ("threshold", "drift", "scale")
    changed = {name: getattr(policy, name) * scale for name in measured if hasattr(policy, name)}
    return policy._replace(**changed)


def tuned_window(problem: SuiteProblem) -> SWLBSDA:
    """Return SW-LB-SDA with the window that follows from T and Γ, at least twice the arms."""
    tuned = SWLBSDA.tuned(horizon=problem.horizon, changes=problem.changes)
    return tuned._replace(window=max(tuned.window, 2 * problem.environment.n_arms))


def windows(problem: SuiteProblem) -> dict[str, Policy]:
    """Return SW-LB-SDA with each of `WINDOWS` that fits a problem, by labels."""
    least = 2 * problem.environment.n_arms
    return {f"window {w}": SWLBSDA(window=w) for w in WINDOWS if least <= w < problem.horizon}
