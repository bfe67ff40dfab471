"""Kullback–Leibler divergences within a one-parameter family, and their inverses."""

from lastblock.kernels import divergences
from lastblock.kernels.divergences import Family, FamilyWord
from lastblock.kernels.jit import entry
from lastblock.support.checks import choice, number


@entry
def divergence(family: int, p: float, q: float, sigma: float) -> float:
    """Return kl(p, q); `family` is a number, and the means must have been checked."""
    return divergences.divergence(family, p, q, sigma)


@entry
def _upper(family: int, p: float, level: float, sigma: float) -> float:
    return divergences.upper(family, p, level, sigma)


@entry
def _lower(family: int, p: float, level: float, sigma: float) -> float:
    return divergences.lower(family, p, level, sigma)


def kl(
    p: float, q: float, family: Family | FamilyWord = "bernoulli", *, sigma: float = 1.0
) -> float:
    """Return kl(p, q), the Kullback–Leibler divergence between two members of a family.

    Parameters
    ----------
    p, q
        The means of the two members.
    family
        "bernoulli", "gaussian", "poisson" or "exponential".
    sigma
        The standard deviation of both, for "gaussian" only.

    Returns
    -------
    float
        The divergence; it may be infinite.

    Raises
    ------
    ValueError
        If the family does not allow one of the means, or if `sigma` is not positive.

    Examples
    --------
    >>> round(kl(0.05, 0.15), 6)
    0.050734
    """
    code = _family(family, sigma)
    return float(divergence(code, _mean(code, p, "p"), _mean(code, q, "q"), float(sigma)))


def kl_upper(
    p: float, level: float, family: Family | FamilyWord = "bernoulli", *, sigma: float = 1.0
) -> float:
    """Return the largest mean q with kl(p, q) ≤ level.

    For level = log t / N this is the index of kl-UCB.

    Parameters
    ----------
    p
        A mean that the family allows.
    level
        The largest divergence; not negative.
    family, sigma
        As for `kl`.

    Returns
    -------
    float
        The mean q; it may be infinite.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> kl_upper(0.0, 2.0, "gaussian", sigma=0.5)
    1.0
    """
    code = _family(family, sigma)
    return float(_upper(code, _mean(code, p, "p"), _level(level), float(sigma)))


def kl_lower(
    p: float, level: float, family: Family | FamilyWord = "bernoulli", *, sigma: float = 1.0
) -> float:
    """Return the smallest mean q with kl(p, q) ≤ level.

    Parameters
    ----------
    p, level, family, sigma
        As for `kl_upper`.

    Returns
    -------
    float
        The mean q; it may be infinite.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> kl_lower(0.0, 2.0, "gaussian", sigma=0.5)
    -1.0
    """
    code = _family(family, sigma)
    return float(_lower(code, _mean(code, p, "p"), _level(level), float(sigma)))


def _family(family: Family | FamilyWord, sigma: float) -> int:
    if number(sigma, "sigma") <= 0.0:
        raise ValueError(f"sigma={sigma} must be positive")
    return int(choice(Family, family, "family"))


def _mean(family: int, mean: float, name: str) -> float:
    mean = number(mean, name)
    if divergences.inside(family, mean) != mean:
        words = "lie in [0, 1]" if family == divergences.BERNOULLI else "not be negative"
        raise ValueError(f"{name}={mean} must {words} for family={Family(family)!r}")
    return mean


def _level(level: float) -> float:
    level = float(level)
    if not level >= 0.0:
        raise ValueError(f"level={level} must not be negative")
    return level
