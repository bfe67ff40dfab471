"""What the Thompson samplings share: the posteriors of an arm's mean, by family of rewards."""

import math
from typing import Any

from lastblock.kernels.divergences import Family, FamilyCode
from lastblock.kernels.jit import kernel
from lastblock.kernels.samplers import beta, coin, gamma, normal
from lastblock.kernels.streams import Stream

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


def check_posterior(policy: Any) -> None:
    """Raise a ValueError unless a policy's family and its parameters are valid."""
    name = type(policy).__name__
    for parameter in ("prior_sigma", "sigma"):
        value = getattr(policy, parameter)
        if not 1.0 / LARGEST_SIGMA <= value <= LARGEST_SIGMA:
            raise ValueError(
                f"{name}: {parameter}={value} must be positive, "
                f"between {1.0 / LARGEST_SIGMA:g} and {LARGEST_SIGMA:g}"
            )
    used = _PARAMETERS[Family(policy.family)]
    for parameter in ("prior_mean", "prior_sigma", "sigma"):
        value = getattr(policy, parameter)
        if parameter not in used and value != policy._field_defaults[parameter]:
            users = [repr(family) for family, names in _PARAMETERS.items() if parameter in names]
            raise ValueError(
                f"{name}: {parameter}={value} is for family={' or '.join(users)} only; leave it out"
            )
    if policy.family in (Family.POISSON, Family.EXPONENTIAL):
        ratio = policy.prior_mean / policy.prior_sigma
        if not 1e-6 <= ratio <= 1e6:
            raise ValueError(
                f"{name}: prior_mean={policy.prior_mean} must be positive for "
                f"family={policy.family!r}, and between 1e-6 and 1e6 times prior_sigma"
            )


_PARAMETERS = {
    Family.BERNOULLI: (),
    Family.GAUSSIAN: ("prior_mean", "prior_sigma", "sigma"),
    Family.POISSON: ("prior_mean", "prior_sigma"),
    Family.EXPONENTIAL: ("prior_mean", "prior_sigma"),
}
"""The parameters that each family uses."""
