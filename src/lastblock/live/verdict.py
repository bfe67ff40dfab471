"""The verdict of a bandit: stop, since the best arm is known well enough, or go on.

It is the comparison of arms that `summary` makes, at one confidence: `live.best_arm` has it, and
`theory.confidence_sequences` explains on what it rests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from lastblock.core.protocol import Policy
from lastblock.core.reward_stats import Told
from lastblock.core.support import Support, support_of
from lastblock.live.best_arm import (
    compare_leader,
    evidence_needed,
    surety,
    wrong_pairs,
)
from lastblock.live.changes import Change
from lastblock.live.labels import RETIRED, L
from lastblock.live.mean_rewards import assumed, model_of, rewards_of
from lastblock.live.summary import Gathered
from lastblock.support.json_safe import json_fields
from lastblock.theory.confidence_sequences import Bounded, Coins, FiniteVariance, Model


@dataclass(frozen=True)
class BestArmVerdict(Generic[L]):
    """Whether to stop the search for the best arm. `Bandit.verdict` returns it; `str` says it."""

    stop: bool
    """Whether `best` is the best arm at the confidence that was asked for. If you stop as soon as
    this is true, you are wrong with a probability of at most 1 − `confidence`."""
    best: L | None
    """The arm, retired ones aside, with the largest mean of all its rewards. None if there are no
    rewards, or if the policy has noticed a change of the world."""
    rival: L | None
    """The arm that is hardest to tell from `best`; None if `best` is."""
    confidence: float
    """The confidence that was asked for."""
    sure: float | None
    """The largest confidence at which the verdict would be to stop; None if `best` is."""
    evidence: float | None
    """How much says that `best` is better than `rival`: the logarithm of a likelihood ratio. The
    verdict is to stop if it reaches `threshold`. None if `best` is."""
    threshold: float
    """The evidence that `confidence` needs."""
    pulls: int
    """The number of rewards that the verdict rests on."""
    rewards: str
    """What it assumes of the rewards."""
    change: Change[L] | None = None
    """The last change that the policy has noticed. If there is one, the verdict is to go on: means
    of rewards from before and after it do not say which arm is best."""
    is_mute: bool = False
    """Whether too few rewards of `best` or `rival` are there to say how much they vary."""

    def __str__(self) -> str:
        return _sentence(self)

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as values for JSON, with the sentence as "text"."""
        return {**json_fields(self), "text": str(self)}


def verdict_of(found: Gathered[L], bounds: Support | None) -> BestArmVerdict[L]:
    """Return the verdict of a bandit, from what `gather` has read.

    Raises
    ------
    ValueError
        If a reward lies outside of `bounds`, or if a fleet took the rewards and what it keeps of
        them is not enough.
    """
    rows = [row for row in found.rows if row.state != RETIRED]
    everybody = [_known(row, found.policy, bounds) for row in found.rows]
    told = [each for row, each in zip(found.rows, everybody, strict=True) if row.state != RETIRED]
    model = model_of(everybody, support_of(found.policy), bounds)
    is_noted = all(each is row.told for row, each in zip(found.rows, everybody, strict=True))
    assumption = assumed(model if is_noted else Bounded(model.low, model.high))
    ever, retired = len(found.rows), len(found.rows) - len(rows)
    confidence, pulls = found.confidence, sum(each.pulls for each in told)
    threshold = evidence_needed(wrong_pairs(ever, retired), confidence)
    nothing = BestArmVerdict[L](
        stop=False,
        best=None,
        rival=None,
        confidence=confidence,
        sure=None,
        evidence=None,
        threshold=threshold,
        pulls=pulls,
        rewards=assumption,
        change=found.change,
    )
    compared = compare_leader(model, told, ever=ever, retired=retired)
    if compared is None or found.change is not None:
        return nothing
    place = int(np.argmin(compared.evidence))
    rival = int(compared.others[place])
    evidence = float(compared.evidence[place])
    return BestArmVerdict(
        stop=evidence >= threshold,
        best=rows[compared.leader].arm,
        rival=rows[rival].arm,
        confidence=confidence,
        sure=surety(compared),
        evidence=evidence,
        threshold=threshold,
        pulls=pulls,
        rewards=assumption,
        is_mute=_is_mute(model, [told[compared.leader], told[rival]]),
    )


def _known(row: Any, policy: Policy, bounds: Support | None) -> Told:
    """Return the rewards of an arm; what a fleet did not note, from what the policy keeps.

    The spread is then not known. Between two bounds it is at most that of coins.
    """
    told: Told = row.told
    if told.pulls == 0 or not math.isnan(told.mean):
        return told
    limits = bounds or support_of(policy)
    mean = row.held_mean
    if row.held != told.pulls or mean is None:
        raise ValueError(
            f"verdict: a fleet took these rewards and does not note their means, and {policy} does "
            "not keep the sum of all of them; use a policy that does, such as LBSDAGM() or "
            "Thompson(), or a Bandit of its own"
        )
    if not (math.isfinite(limits.low) and math.isfinite(limits.high)):
        raise ValueError(
            "verdict: a fleet took these rewards and does not note how much they vary; give the "
            "smallest and the largest possible reward, verdict(bounds=(…, …))"
        )
    if not limits.low <= mean <= limits.high:
        raise ValueError(
            f"bounds=({limits.low:g}, {limits.high:g}) do not hold: arm {row.arm!r} has a mean of "
            f"{mean:g}; give the smallest and the largest possible reward"
        )
    return Told(told.pulls, mean, told.pulls * (mean - limits.low) * (limits.high - mean))


def _is_mute(model: Model, both: Sequence[Told]) -> bool:
    """Return whether an arm has rewards, but too few to say how much they vary."""
    if isinstance(model, Coins | Bounded):
        return False
    rewards = rewards_of(both)
    with np.errstate(all="ignore"):
        far = FiniteVariance().half_width(rewards, 1.0)
    return bool(np.any(~np.isfinite(far) & (rewards.number > 0)))


def _sentence(verdict: BestArmVerdict[Any]) -> str:
    level = f"{100 * verdict.confidence:g} %"
    if verdict.change is not None:
        around = f"{verdict.change.decision:,}".replace(",", " ")
        return (
            f"Go on: the world changed around decision {around}, and means from before and after "
            "do not say which arm is best. For a verdict on the world since then, start a new "
            "bandit."
        )
    if verdict.best is None or verdict.evidence is None:
        return "Go on: there are no rewards yet."
    numbers = f"evidence {verdict.evidence:.3g}, needed {verdict.threshold:.3g}"
    basis = f"{verdict.pulls} rewards, taken as {verdict.rewards}, if no arm's mean changes"
    if verdict.stop:
        return (
            f"Stop: {verdict.best!r} is best, at a confidence of {level}. The closest rival is "
            f"{verdict.rival!r} ({numbers}; {basis})."
        )
    first = f"Go on: {verdict.best!r} has the largest mean, but {verdict.rival!r} is not ruled out"
    hint = ""
    if verdict.is_mute:
        hint = (
            " The rewards so far do not tell how much they vary: if you know the smallest and the "
            "largest possible reward, give them as bounds=(…, …)."
        )
    return f"{first} at a confidence of {level} ({numbers}; {basis}).{hint}"
