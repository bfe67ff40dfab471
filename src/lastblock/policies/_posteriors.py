"""What the Thompson samplings share: the posteriors of an arm's mean, by family of rewards."""

import math
from typing import Annotated, Any, TypeAlias

from lastblock.kit import Family, FamilyCode, Range, Stream, beta, coin, gamma, kernel, normal

LARGEST_SIGMA = 1e100


@kernel
def posterior_draw(
    stream: Stream,
    family: FamilyCode,
    pulls: float,
    total: float,
    prior_mean: float,
    prior_sigma: float,
    sigma: float,
) -> float:
    """Draw a mean from the posterior of an arm, given its number of rewards and their sum."""
    if family == Family.GAUSSIAN:
        # The prior is worth (σ/σ₀)² rewards, each of them μ₀.
        prior_pulls = (sigma / prior_sigma) * (sigma / prior_sigma)
        worth = prior_pulls + pulls
        centre = (prior_pulls * prior_mean + total) / worth
        return centre + sigma / math.sqrt(worth) * normal(stream)
    ratio = prior_mean / prior_sigma
    if family == Family.POISSON:
        # The mean has a gamma prior: the shape is (μ₀/σ₀)², the rate μ₀/σ₀².
        return gamma(stream, ratio * ratio + total) / (ratio / prior_sigma + pulls)
    if family == Family.EXPONENTIAL:
        # 1 / mean has a gamma prior: the shape is 2 + (μ₀/σ₀)², the rate μ₀ (1 + (μ₀/σ₀)²).
        shape = 1.0 + ratio * ratio
        return (prior_mean * shape + total) / gamma(stream, 1.0 + shape + pulls)
    return beta(stream, 1.0 + total, 1.0 + (pulls - total))


@kernel
def as_observed(stream: Stream, family: FamilyCode, reward: float) -> float:
    """Return the reward for the posterior: 0 or 1, by a coin, if it is a Beta posterior."""
    if family == Family.BERNOULLI:
        return coin(stream, reward)
    return reward


_PARAMETERS = {
    Family.BERNOULLI: (),
    Family.GAUSSIAN: ("prior_mean", "prior_sigma", "sigma"),
    Family.POISSON: ("prior_mean", "prior_sigma"),
    Family.EXPONENTIAL: ("prior_mean", "prior_sigma"),
}
"""The parameters that each family uses."""


def _is_used(owner: Any, name: str) -> None:
    value = getattr(owner, name)
    if name not in _PARAMETERS[Family(owner.family)] and value != owner._field_defaults[name]:
        users = [repr(family) for family, names in _PARAMETERS.items() if name in names]
        raise ValueError(
            f"{type(owner).__name__}: {name}={value} is for family={' or '.join(users)} only; "
            "leave it out"
        )


def _suits_mean(owner: Any, name: str) -> None:
    if owner.family in (Family.POISSON, Family.EXPONENTIAL):
        if not 1e-6 <= owner.prior_mean / getattr(owner, name) <= 1e6:
            raise ValueError(
                f"{type(owner).__name__}: prior_mean={owner.prior_mean} must be positive for "
                f"family={owner.family!r}, and between 1e-6 and 1e6 times {name}"
            )


_SCALE = Range(1.0 / LARGEST_SIGMA, LARGEST_SIGMA)

PriorMean: TypeAlias = Annotated[float, _is_used]
PriorSigma: TypeAlias = Annotated[float, _SCALE, _is_used, _suits_mean]
Sigma: TypeAlias = Annotated[float, _SCALE, _is_used]
