"""Kullback–Leibler divergences of the one-parameter families and their inverses, as kernels.

=====================  ============================================================================
`divergence`           kl(p, q) between the members of the family with means p and q
`upper`                the largest q with kl(p, q) ≤ level: the index of kl-UCB
`lower`                the smallest q with kl(p, q) ≤ level
`inside`               the nearest mean that the family allows
`family_support`       the smallest and the largest reward of the family
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

__all__ = [
    "BERNOULLI",
    "BOUNDED",
    "EXPONENTIAL",
    "GAUSSIAN",
    "POISSON",
    "divergence",
    "family_support",
    "inside",
    "lower",
    "upper",
]
