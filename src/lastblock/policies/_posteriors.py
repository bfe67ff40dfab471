"""What the Thompson samplings share: the posteriors of Bernoulli and Gaussian arms."""

import math
from typing import Any, Literal, TypeAlias

from lastblock.kernels.divergences import Family, FamilyCode
from lastblock.kernels.jit import kernel
from lastblock.kernels.samplers import beta, coin, normal
from lastblock.kernels.streams import Stream

PosteriorWord: TypeAlias = Literal["bernoulli", "gaussian"]
"""The families of rewards with a posterior: Beta for "bernoulli", normal for "gaussian"."""

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
    if policy.family not in (Family.BERNOULLI, Family.GAUSSIAN):
        raise ValueError(f"{name}: family={policy.family!r} must be 'bernoulli' or 'gaussian'")
    for parameter in ("prior_sigma", "sigma"):
        value = getattr(policy, parameter)
        if not 1.0 / LARGEST_SIGMA <= value <= LARGEST_SIGMA:
            raise ValueError(
                f"{name}: {parameter}={value} must be positive, "
                f"between {1.0 / LARGEST_SIGMA:g} and {LARGEST_SIGMA:g}"
            )
    for parameter in ("prior_mean", "prior_sigma", "sigma"):
        value = getattr(policy, parameter)
        if policy.family != Family.GAUSSIAN and value != policy._field_defaults[parameter]:
            raise ValueError(
                f"{name}: {parameter}={value} is for family='gaussian' only; leave it out"
            )
