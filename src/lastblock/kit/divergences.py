"""Kullback–Leibler divergences of the one-parameter families and their inverses, as kernels.

=====================  ============================================================================
`divergence`           kl(p, q) between the members of the family with means p and q
`upper`                the largest q with kl(p, q) ≤ level: the index of kl-UCB
`lower`                the smallest q with kl(p, q) ≤ level
`inside`               the nearest mean that the family allows
`family_support`       the smallest and the largest reward of the family
`best_proportions`     the proportions of pulls that tell the best arm from the others soonest
=====================  ============================================================================

Their first argument is a number: a field `Family | FamilyWord` of a policy, or one of `BERNOULLI`,
`GAUSSIAN`, `POISSON`, `EXPONENTIAL`. `BOUNDED`, any law on [0, 1], has a support but no divergence.
"""

from lastblock.kernels.divergences import (
    BERNOULLI,
    BOUNDED,
    EXPONENTIAL,
    GAUSSIAN,
    POISSON,
    divergence,
    family_support,
    inside,
    lower,
    upper,
)
from lastblock.kernels.proportions import best_proportions

__all__ = [
    "BERNOULLI",
    "BOUNDED",
    "EXPONENTIAL",
    "GAUSSIAN",
    "POISSON",
    "best_proportions",
    "divergence",
    "family_support",
    "inside",
    "lower",
    "upper",
]
