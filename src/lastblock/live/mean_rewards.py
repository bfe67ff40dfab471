"""The mean reward of an arm, or of several arms together, and its interval.

Every report of a bandit has its means from here: the summary, the uplift over a holdout, the pages,
and what was earned in an evaluation. It is the plain mean of all rewards that have been told, and
the interval holds at any time, whatever chose the arms: `theory.confidence_sequences` explains it.
A decision that waits for its reward does not count; one that was closed with a default reward does.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.reward_stats import Told
from lastblock.core.support import Support
from lastblock.support.checks import number
from lastblock.theory.confidence_sequences import (
    Bounded,
    Coins,
    FiniteVariance,
    Model,
    Rewards,
    intervals,
)

CONFIDENCE = 0.95
"""The confidence of intervals unless another one is asked for."""

_USUAL_WIDTH = 6.0
"""The range of rewards in standard deviations that we take if it is not known."""


class MeanAndInterval(NamedTuple):
    """A mean reward and its interval."""

    rewards: int
    """How many rewards it is the mean of."""
    mean: float | None
    """None if there are none, or if a fleet took them, which does not note means."""
    low: float
    """The lower end of an interval for the mean, which holds at any time; infinite, or the smallest
    possible reward, if nothing is known yet."""
    high: float
    """The upper end."""


def mean_rewards(
    model: Model, told: Sequence[Told], confidence: float = CONFIDENCE
) -> list[MeanAndInterval]:
    """Return the mean reward of each arm.

    Parameters
    ----------
    model
        What is known of the rewards: see `model_of`.
    told
        The rewards of each arm.
    confidence
        The probability with which an arm's mean lies in its interval at all times at once.
    """
    lows, highs = intervals(model, rewards_of(told), confidence)
    return [
        MeanAndInterval(each.pulls, None, -math.inf, math.inf)
        if math.isnan(each.mean)
        else MeanAndInterval(each.pulls, each.mean if each.pulls else None, low, high)
        for each, low, high in zip(told, lows.tolist(), highs.tolist(), strict=True)
    ]


def together(told: Iterable[Told]) -> Told:
    """Return the statistics of all rewards of several arms."""
    pulls, mean, spread, low, high = 0, 0.0, 0.0, math.inf, -math.inf
    for each in told:
        if each.pulls:
            both = pulls + each.pulls
            distance = each.mean - mean
            spread += each.spread + distance * distance * pulls * each.pulls / both
            mean += distance * each.pulls / both
            pulls = both
            low = each.low if math.isnan(each.low) else min(low, each.low)
            high = each.high if math.isnan(each.high) else max(high, each.high)
    return Told(pulls, mean, spread, low, high) if pulls else Told(0, 0.0, 0.0)


def statistics_of(rewards: npt.NDArray[np.float64]) -> Told:
    """Return the statistics of rewards."""
    if not rewards.size:
        return Told(0, 0.0, 0.0)
    mean = float(rewards.mean())
    spread = float(np.square(rewards - mean).sum())
    return Told(rewards.size, mean, spread, float(rewards.min()), float(rewards.max()))


def are_coins(told: Told) -> bool:
    """Return whether all rewards are 0 or 1.

    For rewards between 0 and 1, the sum of x(1 − x) is zero if and only if they are.
    """
    if not (math.isnan(told.low) or 0.0 <= told.low <= told.high <= 1.0):
        return False
    products = told.pulls * told.mean * (1.0 - told.mean) - told.spread
    return abs(products) <= 1e-9 * max(1, told.pulls)  # false if it is NaN


def check_bounds(bounds: Sequence[float] | None) -> Support | None:
    """Return bounds of the rewards that a user has given, or raise a ValueError."""
    if bounds is None:
        return None
    low, high = (number(value, "bounds") for value in bounds)
    if not -math.inf < low < high < math.inf:
        raise ValueError(
            f"bounds={tuple(bounds)} must be two finite numbers, the smaller one first"
        )
    if not high - low < math.inf:
        raise ValueError(f"bounds={tuple(bounds)} are too far apart; give smaller numbers")
    return Support(low, high)


def model_of(told: Sequence[Told], support: Support, bounds: Support | None) -> Model:
    """Return what is known of the rewards: from `bounds`, from the policy, or from the rewards.

    Parameters
    ----------
    told
        The rewards of every arm.
    support
        The rewards that the policy takes.
    bounds
        What the user says.

    Raises
    ------
    ValueError
        If a reward does not lie within `bounds`.
    """
    found = [each for each in told if each.pulls > 0]
    for each in found:
        if bounds is not None and not (math.isnan(each.low) or bounds.covers(_extremes(each))):
            wrong = each.low if each.low < bounds.low else each.high
            raise ValueError(
                f"bounds=({bounds.low:g}, {bounds.high:g}) do not hold: there was a reward of "
                f"{wrong:g}; give the smallest and the largest possible reward"
            )
    given = bounds or support
    if all(are_coins(each) for each in found) and (bounds is None or bounds == Support(0.0, 1.0)):
        return Coins()
    if math.isfinite(given.low) and math.isfinite(given.high):
        return Bounded(given.low, given.high)
    if all(each.low >= 0.0 for each in found):
        return FiniteVariance(low=0.0)
    return FiniteVariance()


def rewards_of(told: Sequence[Told]) -> Rewards:
    """Return statistics of arms as the columns that confidence sequences need."""
    columns = np.array([tuple(each) for each in told], np.float64).reshape(-1, 5).T
    pulls, mean, spread, low, high = columns
    mean, spread = np.where(pulls > 0, mean, 0.0), np.where(pulls > 0, spread, 0.0)
    usual = _USUAL_WIDTH * np.sqrt(np.maximum(spread, 0.0) / np.maximum(pulls, 1.0))
    return Rewards(pulls, mean, spread, np.where(np.isnan(high), usual, high - low))


def assumed(model: Model) -> str:
    """Return what a model assumes of the rewards, in words."""
    if isinstance(model, Coins):
        return "rewards of 0 and 1"
    if isinstance(model, Bounded):
        return f"rewards between {model.low:g} and {model.high:g}"
    return "rewards of a finite variance, approximately"


def _extremes(told: Told) -> Support:
    return Support(told.low, told.high)
