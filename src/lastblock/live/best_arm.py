"""Which arm is best, and how sure that is: a statement that holds at any time.

`theory.confidence_sequences` explains on what it rests.
"""

import math
from collections.abc import Sequence
from typing import Generic, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.reward_stats import Told
from lastblock.live.labels import L
from lastblock.live.mean_rewards import rewards_of
from lastblock.theory.confidence_sequences import Coins, Model, Rewards, log_evidence_between
from lastblock.theory.probability_best import probability_best


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
