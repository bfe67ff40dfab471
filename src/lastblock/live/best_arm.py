"""Which arm is best, and how sure that is: a statement that holds at any time.

`theory.confidence_sequences` explains on what it rests.
"""

import math
from collections.abc import Sequence
from typing import Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.reward_stats import Told
from lastblock.core.support import Support
from lastblock.live.labels import L
from lastblock.support.checks import number
from lastblock.theory.confidence_sequences import (
    Bounded,
    Coins,
    FiniteVariance,
    Model,
    Rewards,
    intervals,
    log_evidence_between,
)
from lastblock.theory.probability_best import probability_best

_USUAL_WIDTH = 6.0
"""The range of rewards in standard deviations that we take if it is not known."""


class Compared(NamedTuple):
    """The arm with the largest mean beside all others."""

    leader: int
    """Its place among the arms."""
    others: npt.NDArray[np.int64]
    """The places of the others."""
    evidence: npt.NDArray[np.float64]
    """How much says that the leader is better than each of them, as logarithms."""
    pairs: float
    """The number of pairs of arms by which the statement may be wrong: see `wrong_pairs`."""


class BestStated(NamedTuple, Generic[L]):
    """What can be said of the best arm; `Summary` and `ArmSummary` explain it."""

    best: L
    sure: float
    contenders: tuple[L, ...]
    chances: dict[L, float | None]


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


def mean_intervals(
    model: Model, told: Sequence[Told], confidence: float
) -> list[tuple[float, float]]:
    """Return, for each arm, an interval that holds its mean at any time."""
    low, high = intervals(model, rewards_of(told), confidence)
    return [
        (-math.inf, math.inf) if math.isnan(each.mean) else ends
        for each, ends in zip(told, zip(low.tolist(), high.tolist(), strict=True), strict=True)
    ]


def best_arm(
    model: Model,
    labels: Sequence[L],
    told: Sequence[Told],
    lows: Sequence[float],
    confidence: float,
    *,
    ever: int,
    retired: int,
) -> BestStated[L] | None:
    """Return the best of some arms, or None if there is nothing to compare.

    Parameters
    ----------
    model
        What is known of the rewards.
    labels, told, lows
        The arms, their rewards, and the lower ends of the intervals of their means.
    confidence
        The probability with which the best arm is among the contenders, at all times at once.
    ever
        How many arms there were ever, including retired ones.
    retired
        How many arms have been retired.
    """
    found = compare_leader(model, told, ever=ever, retired=retired)
    if found is None:
        return None
    rewards = rewards_of(told)
    threshold = evidence_needed(found.pairs, confidence)
    out = set(found.others[found.evidence >= threshold].tolist())
    surest = int(np.argmax(lows))
    if surest != found.leader:
        rest = np.delete(np.arange(len(labels)), surest)
        out |= set(rest[_log_evidence(model, rewards, surest, rest) >= threshold].tolist())
    contenders = tuple(label for k, label in enumerate(labels) if k not in out)
    best, chances = labels[found.leader], _chances(model, labels, rewards)
    return BestStated(best, surety(found), contenders, chances)


def compare_leader(
    model: Model, told: Sequence[Told], *, ever: int, retired: int
) -> Compared | None:
    """Compare the arm with the largest mean with all others, or return None as `best_arm` does."""
    if len(told) < 2 or not any(each.pulls for each in told):
        return None
    rewards = rewards_of(told)
    leader = int(np.argmax(np.where(rewards.number > 0, rewards.mean, -np.inf)))
    pairs = wrong_pairs(ever, retired)
    others = np.delete(np.arange(len(told)), leader)
    return Compared(leader, others, _log_evidence(model, rewards, leader, others), pairs)


def wrong_pairs(ever: int, retired: int) -> float:
    """Return the number of pairs of arms by which a statement on the best arm may be wrong.

    A wrong statement prefers some arm to the best one. So it fails for one of `ever` − 1 pairs; or,
    if arms were retired after a look at their rewards, for any pair.
    """
    return (ever - 1) * (ever / 2 if retired else 1.0)


def evidence_needed(pairs: float, confidence: float) -> float:
    """Return the evidence against each rival of the best arm that a confidence needs."""
    return math.log(pairs) - math.log1p(-confidence)


def surety(found: Compared) -> float:
    """Return the largest confidence at which the evidence says that the leader is best."""
    return 1.0 - math.exp(min(0.0, math.log(found.pairs) - float(np.min(found.evidence))))


def _chances(model: Model, labels: Sequence[L], rewards: Rewards) -> dict[L, float | None]:
    """Return the probability of each arm to be best; None for all if one has had no reward."""
    if not rewards.number.all():
        return dict.fromkeys(labels)
    found = probability_best(rewards, are_coins=isinstance(model, Coins)).tolist()
    return {
        label: None if math.isnan(chance) else chance
        for label, chance in zip(labels, found, strict=True)
    }


def _log_evidence(
    model: Model, rewards: Rewards, arm: int, others: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return how much says that an arm is better than each of the others; 0 for no rewards."""
    found = log_evidence_between(model, rewards, np.full(others.shape, arm), others)
    return np.where(rewards.number[others] > 0, found, 0.0)


def _extremes(told: Told) -> Support:
    return Support(told.low, told.high)
