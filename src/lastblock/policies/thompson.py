"""Thompson sampling (1933), discounted (Raj & Kalyani, 2017), windowed (Trovò & al., 2020)."""

import math
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from lastblock.bounded import coin
from lastblock.indices import argmax
from lastblock.jit import kernel
from lastblock.models import Family, FamilyCode
from lastblock.protocol import Layout, Record, policy
from lastblock.random import Stream, beta, normal
from lastblock.state import enqueue
from lastblock.tunings import garivier_discount, garivier_window
from lastblock.window import check_window, clear, slide, window_dtype, window_sum

PosteriorWord: TypeAlias = Literal["bernoulli", "gaussian"]
"""The families whose posterior is known here: Beta and normal."""

LARGEST_SIGMA = 1e100

FADED = 1e-200
"""A discounted count that is as good as none; denormal numbers would be slow."""


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
    """A mean from the posterior of an arm, given its number of rewards and their sum."""
    if family == Family.GAUSSIAN:
        # The prior is worth (σ/σ₀)² rewards, each of them μ₀.
        prior_pulls = (sigma / prior_sigma) * (sigma / prior_sigma)
        worth = prior_pulls + pulls
        centre = (prior_pulls * prior_mean + total) / worth
        return centre + sigma / math.sqrt(worth) * normal(stream)
    return beta(stream, 1.0 + total, 1.0 + (pulls - total))


@kernel
def as_observed(stream: Stream, family: FamilyCode, reward: float) -> float:
    """The reward that the posterior sees: a Beta posterior knows nothing but 0 and 1."""
    if family == Family.BERNOULLI:
        return coin(stream, reward)
    return reward


def check_family(policy: Any) -> None:
    """Raise a ValueError unless the family and its parameters make sense."""
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


@policy()
class Thompson(NamedTuple):
    """Draw a mean from each arm's posterior and pull the arm with the largest.

    Parameters
    ----------
    family
        ``"bernoulli"``: Beta(1, 1) priors, rewards in [0, 1]. A reward strictly between 0 and 1
        becomes 1 with that probability and 0 otherwise; one outside counts as the nearer end.
        ``"gaussian"``: normal priors and rewards of known standard deviation.
    prior_mean, prior_sigma
        μ₀ and σ₀ of the normal prior.
    sigma
        σ, the standard deviation of a Gaussian reward.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.Thompson(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 15)
    True

    References
    ----------
    Thompson. On the likelihood that one unknown probability exceeds another in view of the evidence
    of two samples. Biometrika, 1933.
    Agrawal & Goyal. Analysis of Thompson sampling for the multi-armed bandit problem. COLT 2012.
    """

    family: Family | PosteriorWord = Family.BERNOULLI
    prior_mean: float = 0.5
    prior_sigma: float = 0.5
    sigma: float = 0.5

    @classmethod
    def examples(cls) -> "tuple[Thompson, ...]":
        return cls(), cls(family=Family.GAUSSIAN)

    def validate(self) -> None:
        check_family(self)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", np.int64, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.pulls.shape[0]):
            s.pulls[k] = 0
            s.sums[k] = 0.0
        self.plan(s)  # the prior decides from the first pull on

    def plan(self, s: Record) -> None:
        for k in range(s.arms):
            s.index[k] = posterior_draw(
                s.stream,
                self.family,
                float(s.pulls[k]),
                s.sums[k],
                self.prior_mean,
                self.prior_sigma,
                self.sigma,
            )
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.sums[arm] += as_observed(s.stream, self.family, reward)
        s.pulls[arm] += 1


@policy()
class DiscountedThompson(NamedTuple):
    """Thompson sampling whose evidence fades: each pull multiplies all counts and sums by γ.

    Parameters
    ----------
    discount
        γ, in (0, 1]; 1 forgets nothing.
    family, prior_mean, prior_sigma, sigma
        As in `Thompson`. The prior does not fade.

    Examples
    --------
    >>> import lastblock as lb
    >>> round(lb.DiscountedThompson.tuned(horizon=10_000, changes=2).discount, 4)
    0.9965

    References
    ----------
    Raj & Kalyani. Taming non-stationary bandits: a Bayesian approach. 2017.
    """

    discount: float
    family: Family | PosteriorWord = Family.BERNOULLI
    prior_mean: float = 0.5
    prior_sigma: float = 0.5
    sigma: float = 0.5

    @classmethod
    def tuned(
        cls,
        *,
        horizon: int,
        changes: int,
        family: Family | PosteriorWord = Family.BERNOULLI,
        prior_mean: float = 0.5,
        prior_sigma: float = 0.5,
        sigma: float = 0.5,
    ) -> "DiscountedThompson":
        """The discount 1 − ¼√(Γ/T) of Garivier & Moulines (2011)."""
        discount = garivier_discount(horizon=horizon, changes=changes)
        return cls(discount, family, prior_mean, prior_sigma, sigma)

    @classmethod
    def examples(cls) -> "tuple[DiscountedThompson, ...]":
        return cls(discount=0.95), cls(discount=0.9, family=Family.GAUSSIAN)

    def validate(self) -> None:
        if not 0.0 < self.discount <= 1.0:
            raise ValueError(f"DiscountedThompson: discount={self.discount} must lie in (0, 1]")
        check_family(self)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", np.float64, (arms,)),  # discounted, as are the sums
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.pulls.shape[0]):
            s.pulls[k] = 0.0
            s.sums[k] = 0.0
        self.plan(s)

    def plan(self, s: Record) -> None:
        for k in range(s.arms):
            s.index[k] = posterior_draw(
                s.stream,
                self.family,
                s.pulls[k],
                s.sums[k],
                self.prior_mean,
                self.prior_sigma,
                self.sigma,
            )
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        for k in range(s.arms):
            kept = self.discount if s.pulls[k] > FADED else 0.0
            s.pulls[k] *= kept
            s.sums[k] *= kept
        # Rounding is monotone, so with rewards 0 and 1 the sum never passes the count.
        s.sums[arm] += as_observed(s.stream, self.family, reward)
        s.pulls[arm] += 1.0


@policy()
class SlidingWindowThompson(NamedTuple):
    """Thompson sampling on the last `window` rewards of all arms together.

    Parameters
    ----------
    window
        τ, in pulls.
    family, prior_mean, prior_sigma, sigma
        As in `Thompson`.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.SlidingWindowThompson.tuned(horizon=10_000, changes=2).window
    429

    References
    ----------
    Trovò, Paladino, Restelli & Gatti. Sliding-window Thompson sampling for non-stationary settings.
    JAIR, 2020.
    """

    window: int
    family: Family | PosteriorWord = Family.BERNOULLI
    prior_mean: float = 0.5
    prior_sigma: float = 0.5
    sigma: float = 0.5

    @classmethod
    def tuned(
        cls,
        *,
        horizon: int,
        changes: int,
        family: Family | PosteriorWord = Family.BERNOULLI,
        prior_mean: float = 0.5,
        prior_sigma: float = 0.5,
        sigma: float = 0.5,
    ) -> "SlidingWindowThompson":
        """The window 2√(T log T / Γ) of Garivier & Moulines (2011)."""
        window = garivier_window(horizon=horizon, changes=changes)
        return cls(window, family, prior_mean, prior_sigma, sigma)

    @classmethod
    def examples(cls) -> "tuple[SlidingWindowThompson, ...]":
        return cls(window=40), cls(window=20, family=Family.GAUSSIAN)

    def validate(self) -> None:
        check_window("SlidingWindowThompson", self.window, least=1)
        check_family(self)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("index", np.float64, (arms,)),
            ("recent", window_dtype(arms, self.window)),
        ]

    def start(self, s: Record) -> None:
        clear(s.recent)
        self.plan(s)

    def plan(self, s: Record) -> None:
        w = s.recent
        for k in range(s.arms):
            s.index[k] = posterior_draw(
                s.stream,
                self.family,
                float(w.pulls[k]),
                window_sum(w, k),
                self.prior_mean,
                self.prior_sigma,
                self.sigma,
            )
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        slide(s.recent, arm, as_observed(s.stream, self.family, reward), self.window)
