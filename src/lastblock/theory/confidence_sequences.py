"""Statements about means that hold at any time, although a policy chooses what to pull.

A *test martingale* of an arm is a process M(m) that, if m is the arm's mean, starts at 1, stays
positive and grows at no time in expectation, whatever was decided before. By Ville's inequality it
ever reaches 1/α with a probability of at most α. Two statements follow.

- All m with M(m) < 1/α are a confidence sequence: the mean lies in it at all times at once, with a
  probability of at least 1 − α.
- For two arms, the product of their martingales is one, since only one of them moves at a time. If
  arm b is at least as good as arm a, then E(a, b), the smallest product M_a(m) · M_b(m) over all m,
  stays below the product at their true means. So it ever reaches 1/α with a probability of at most
  α, and a large E(a, b) says that a is better than b. We take the mean of the product and of the
  two factors instead, which is such a process, too: an arm whose mean is known well has a small
  M(m) there, and should not spoil what the other arm says.

Which martingale there is depends on what is known of the rewards, and all of them need just the
number of rewards, their mean, the sum of squared distances from it, and their range:

- `Coins`, rewards of 0 and 1: the mixture of likelihood ratios over Jeffreys' prior (Robbins 1970;
  Kaufmann & Koolen 2021). It holds for all rewards between 0 and 1, since among those with the same
  mean coins have the largest exponential moments;
- `Bounded`, rewards between two known numbers: half of it that mixture, half the empirical
  Bernstein process of Howard, Ramdas, McAuliffe & Sekhon (2021, theorem 4), mixed over its λ. The
  latter is far better if the rewards vary little in their range;
- `FiniteVariance`, any other rewards: the mixture for Gaussian rewards of unknown variance, over a
  normal prior for the distance from m in standard deviations. For rewards that are not Gaussian it
  is an approximation, which holds after many rewards: an asymptotic confidence sequence
  (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024). How many that are depends on the tails, and
  rare sales have long ones. So it says nothing before the spread is four times the square of the
  range, and adds three squares of the range to the spread; both matter less and less. Without
  them, intervals for sales in one of a hundred decisions missed the mean in half of our trials.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_RATES = 0.75 * 2.0 ** (-0.5 * np.arange(40))
"""The values of λ in the empirical Bernstein mixture: from 0.75 down to 10⁻⁶."""

_PENALTIES = -np.log1p(-_RATES) - _RATES
"""ψ(λ) = −log(1 − λ) − λ."""

_EFFECT = 0.01
"""The variance of the prior for the distance from m in standard deviations. The intervals are
shortest, for what can be had at any time, around 800 rewards."""

_SQUARES_BEFORE, _SQUARES_ADDED = 4.0, 3.0
"""How many squares of the range the spread must have, and how many are added to it."""

_HALVINGS = 45

_GRID = np.linspace(0.0, 1.0, 33)


class Rewards(NamedTuple):
    """The rewards of several arms, an entry for each."""

    number: Floats
    mean: Floats
    spread: Floats
    """The sum of squared distances from the mean."""
    width: Floats
    """The largest minus the smallest reward."""

    def of(self, arms: npt.NDArray[np.int64]) -> "Rewards":
        """Return the rewards of some of the arms, each as a column of its own."""
        return Rewards(*(column[arms][..., None] for column in self))


LogEvidence: TypeAlias = Callable[[Floats], Floats]
"""A function of one mean for each arm, or of several, with the arms as columns."""


class Model(Protocol):
    """What is known of the rewards, and the test martingale that follows from it."""

    @property
    def low(self) -> float:
        """The least mean that an arm can have."""

    @property
    def high(self) -> float:
        """The largest mean that an arm can have."""

    def log_evidence(self, rewards: Rewards) -> LogEvidence:
        """Return the function log M(m) of each arm; it is smallest at the arm's mean."""


@dataclass(frozen=True)
class Coins:
    """Rewards of 0 and 1."""

    low: float = 0.0
    high: float = 1.0

    def log_evidence(self, rewards: Rewards) -> LogEvidence:
        """Return the logarithm of the mixture of likelihood ratios over Jeffreys' prior."""
        ones = np.clip(rewards.mean, 0.0, 1.0) * rewards.number
        zeros = rewards.number - ones
        gammas = _log_gamma(ones + 0.5) + _log_gamma(zeros + 0.5) - _log_gamma(rewards.number + 1.0)

        def log_evidence(means: Floats) -> Floats:
            likelihood = _times_log(ones, means) + _times_log(zeros, 1.0 - means)
            found: Floats = gammas - math.log(math.pi) - likelihood
            return found

        return log_evidence


@dataclass(frozen=True)
class Bounded:
    """Rewards between `low` and `high`."""

    low: float
    high: float

    def log_evidence(self, rewards: Rewards) -> LogEvidence:
        """Return the logarithm of half the mixture for coins and half the empirical Bernstein one.

        The Bernstein process adds up squared distances from the mean *so far*. Their sum is at most
        the spread, plus 1/4 for the first reward, plus 1/i for reward number i.
        """
        width = self.high - self.low
        scaled = rewards._replace(
            mean=(rewards.mean - self.low) / width, spread=rewards.spread / width / width
        )
        coins = Coins().log_evidence(scaled)
        variance = scaled.spread + 0.25 + np.log(np.maximum(scaled.number, 1.0))
        penalties = _PENALTIES * variance[..., None]

        def log_evidence(means: Floats) -> Floats:
            means = (means - self.low) / width
            distance = _RATES * (scaled.number * np.abs(scaled.mean - means))[..., None]
            both = np.concatenate((distance - penalties, -distance - penalties), axis=-1)
            bernstein = np.logaddexp.reduce(both, axis=-1) - math.log(2 * _RATES.size)
            found: Floats = np.logaddexp(coins(means), bernstein) - math.log(2)
            return found

        return log_evidence


@dataclass(frozen=True)
class FiniteVariance:
    """Rewards of which nothing is known but that their variance is finite."""

    low: float = -math.inf
    high: float = math.inf

    def log_evidence(self, rewards: Rewards) -> LogEvidence:
        """Return the logarithm of the Gaussian mixture with an unknown variance.

        It is 0, which says nothing, for an arm with too few rewards.
        """
        number, spread, factor = rewards.number, _enlarged(rewards), _factor(rewards)

        def log_evidence(means: Floats) -> Floats:
            t_squared = number * (rewards.mean - means) ** 2 / spread  # over its degrees of freedom
            growth = np.log1p(t_squared) - np.log1p(t_squared / factor)
            return np.where(spread < np.inf, 0.5 * (number * growth - np.log(factor)), 0.0)

        return log_evidence

    def half_width(self, rewards: Rewards, threshold: float) -> Floats:
        """Return how far from an arm's mean the logarithm of the evidence reaches a threshold."""
        factor = _factor(rewards)
        growth = np.exp((2.0 * threshold + np.log(factor)) / rewards.number)
        t_squared = np.where(growth < factor, (growth - 1.0) / (1.0 - growth / factor), np.inf)
        found: Floats = np.sqrt(t_squared * _enlarged(rewards) / rewards.number)
        return np.where(np.isnan(found), np.inf, found)


def _enlarged(rewards: Rewards) -> Floats:
    """Return the spread plus some squares of the range; infinite for too few rewards."""
    square = rewards.width**2
    is_enough = (rewards.spread >= _SQUARES_BEFORE * square) & (rewards.spread > 0.0)
    return np.where(is_enough, rewards.spread + _SQUARES_ADDED * square, np.inf)


def _factor(rewards: Rewards) -> Floats:
    return 1.0 + rewards.number * _EFFECT


def intervals(model: Model, rewards: Rewards, confidence: float) -> tuple[Floats, Floats]:
    """Return the ends of a confidence sequence for the mean of each arm.

    Parameters
    ----------
    model
        What is known of the rewards.
    rewards
        The rewards of each arm.
    confidence
        The probability with which an arm's mean lies within its interval at all times at once.

    Returns
    -------
    tuple of numpy.ndarray
        The lower and the upper ends; infinite, or the bounds of the rewards, if nothing is known.
    """
    if rewards.number.size == 0:
        return np.empty(0), np.empty(0)
    threshold = -math.log1p(-confidence)
    with np.errstate(all="ignore"):  # a state may hold any number
        if isinstance(model, FiniteVariance):
            half = model.half_width(rewards, threshold)
            return np.maximum(rewards.mean - half, model.low), rewards.mean + half
        logs = model.log_evidence(rewards)
        low = _end(logs, rewards, threshold, model.low)
        return low, _end(logs, rewards, threshold, model.high)


def _end(logs: LogEvidence, rewards: Rewards, threshold: float, limit: float) -> Floats:
    """Return the last mean, going from each arm's own towards `limit`, that is not ruled out."""
    inside = np.array(rewards.mean)
    outside = np.full_like(inside, limit)
    is_open = ~(logs(outside) >= threshold)  # also where it is NaN
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        is_out = logs(middle) >= threshold
        outside = np.where(is_out, middle, outside)
        inside = np.where(is_out, inside, middle)
    return np.where(is_open, limit, outside)


def log_evidence_between(
    model: Model, rewards: Rewards, better: npt.NDArray[np.int64], worse: npt.NDArray[np.int64]
) -> Floats:
    """Return log E(a, b) for pairs of arms: how much says that the first is better than the second.

    Parameters
    ----------
    model
        What is known of the rewards.
    rewards
        The rewards of each arm.
    better, worse
        The first and the second arm of each pair, as places in `rewards`.

    Returns
    -------
    numpy.ndarray
        One number for each pair; at most 0 if its first arm has not the larger mean.
    """
    if better.size == 0:
        return np.empty(0)
    first, second = rewards.of(better), rewards.of(worse)
    low, high = second.mean, first.mean
    best = np.full(better.shape, np.inf)
    with np.errstate(all="ignore"):
        logs, others = model.log_evidence(first), model.log_evidence(second)
        for _ in range(3):  # each time between the neighbours of the smallest
            means = low + (high - low) * _GRID
            both = _joined(logs(means), others(means))
            place = np.argmin(both, axis=-1)[..., None]
            best = np.minimum(best, np.take_along_axis(both, place, -1)[..., 0])
            near = [np.clip(place + step, 0, _GRID.size - 1) for step in (-1, 1)]
            low, high = (np.take_along_axis(means, each, -1) for each in near)
    has_lead = rewards.mean[better] > rewards.mean[worse]
    return np.where(has_lead & ~np.isnan(best), best, np.minimum(best, 0.0))


def log_evidence_at_most(
    model: Model, rewards: Rewards, better: npt.NDArray[np.int64], worse: npt.NDArray[np.int64]
) -> Floats:
    """Return an upper bound of `log_evidence_between`, which takes a hundredth of its time.

    It is the evidence against one mean that both arms may have: that of their rewards together.
    """
    first, second = rewards.of(better), rewards.of(worse)
    with np.errstate(all="ignore"):
        total = first.number * first.mean + second.number * second.mean
        means = total / (first.number + second.number)
        both = _joined(model.log_evidence(first)(means), model.log_evidence(second)(means))
    found: Floats = both[..., 0]
    return np.where(np.isnan(found), np.inf, found)


def _joined(first: Floats, second: Floats) -> Floats:
    """Return the logarithm of the mean of two factors and their product, from logarithms."""
    found: Floats = np.logaddexp(np.logaddexp(first, second), first + second) - math.log(3.0)
    return found


def _log_gamma(values: Floats) -> Floats:
    flat = [math.lgamma(value) for value in np.maximum(values, 1e-300).ravel().tolist()]
    return np.array(flat).reshape(values.shape)


def _times_log(counts: Floats, chances: Floats) -> Floats:
    """Return counts · log(chances), which is 0 where the count is."""
    return np.where(counts > 0.0, counts * np.log(np.maximum(chances, 1e-300)), 0.0)
