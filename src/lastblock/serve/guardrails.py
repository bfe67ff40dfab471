"""A guardrail: a second number that comes with rewards, and pauses arms that are surely worse.

Each bandit that decides keeps its values' moments beside its record, by events of its own log; so
each segment is compared with itself.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from lastblock.core.reward_stats import Told
from lastblock.core.support import Support
from lastblock.live.bandit import desk_of
from lastblock.live.labels import Label
from lastblock.live.ledger import NOTHING
from lastblock.live.mean_rewards import model_of, rewards_of, together
from lastblock.serve.groups import Hosted
from lastblock.serve.messages import Guarded, GuardedArm
from lastblock.serve.problems import ProblemError
from lastblock.theory.confidence_sequences import log_evidence_between

EACH: Final = 100
"""Up to so many values of an arm each one is tested, later each hundredth part more."""


def check_value(hosted: Hosted, value: float | None) -> None:
    """Raise a `ProblemError` if a guardrail's value may not come with a reward."""
    if value is not None and hosted.family.notes.get("guardrail") is None:
        raise ProblemError(
            "invalid", f"bandit {hosted.family.name!r} has no guardrail; leave the value out"
        )


def guard(hosted: Hosted, arms: Iterable[Label]) -> None:
    """Pause arms that are surely worse than the control by the values that have just come.

    Parameters
    ----------
    hosted
        The bandit whose decisions they are about.
    arms
        The arm of each value.
    """
    new = Counter(arms)
    guardrail = hosted.family.notes.get("guardrail")
    if hosted.is_holdout:
        hosted = hosted.family
    if not new or guardrail is None:
        return
    told = _values(hosted)
    if not any(_is_due(told[arm].pulls, n) for arm, n in new.items() if arm in told):
        return
    free = set(hosted.family.notes.get("unguarded", ()))
    found = compare(hosted)
    for each in [] if found is None else found.arms:
        is_active = hosted.bandit.arms.get(each.arm) == "active"
        if each.sure >= guardrail["confidence"] and is_active and json.dumps(each.arm) not in free:
            hosted.pauses[json.dumps(each.arm)] = (
                f"{guardrail['metric']} is worse than that of {guardrail['control']!r}, with a "
                f"mean of {each.mean:.4g} of {each.values} values ({100 * each.sure:.4g} % sure)"
            )
            hosted.bandit.pause_arm(each.arm)
            hosted.stamp += 1


def _is_due(after: int, new: int) -> bool:
    step = max(1, after // EACH)
    return (after - new) // step < after // step


def _values(hosted: Hosted) -> dict[Label, Told]:
    """Return the values of the active arms; those of a holdout are the control's.

    A bandit with segments is compared without its holdout, which decides for all of them.
    """
    desk = desk_of(hosted.bandit)
    with desk.lock:
        guarded = desk.ledger.guarded
        pairs = zip(desk.active, desk.numbers, strict=True)
        found: dict[Label, Told] = {label: guarded.get(n, NOTHING) for label, n in pairs}
    if hosted.holdout is not None and not hosted.segments:
        for label, told in _values(hosted.holdout).items():
            found[label] = together([found[label], told])
    return found


def compare(hosted: Hosted) -> Guarded | None:
    """Return how sure it is that each arm is worse than the control, whenever one looks.

    It is None for a bandit without a guardrail, a holdout, or where no value has come yet.
    """
    guardrail, found = hosted.family.notes.get("guardrail"), _values(hosted)
    labels, told = list(found), list(found.values())
    if guardrail is None or hosted.is_holdout or not any(each.pulls for each in told):
        return None
    others = max(1, len(hosted.bandit.arms) - 1)
    sure = [0.0] * len(labels)
    control = labels.index(guardrail["control"])
    rivals = [k for k in range(len(labels)) if k != control and told[k].pulls]
    if rivals and told[control].pulls:
        pairs = [(k, control) for k in rivals]
        surety = how_sure(told, pairs, others, is_high_worse=guardrail["worse"] == "higher")
        for k, each_sure in zip(rivals, surety, strict=True):
            sure[k] = each_sure
    return Guarded(
        metric=guardrail["metric"],
        control=guardrail["control"],
        arms=[
            GuardedArm(
                arm=label, values=each.pulls, mean=each.mean if each.pulls else None, sure=each_sure
            )
            for label, each, each_sure in zip(labels, told, sure, strict=True)
        ],
    )


def how_sure(
    told: Sequence[Told], pairs: Sequence[tuple[int, int]], others: int, *, is_high_worse: bool
) -> list[float]:
    """Return how sure it is that one arm is worse than another, for some pairs of arms.

    The probability that it is ever 1 − α or more for an arm that is not worse is at most α, for all
    arms together, whenever one looks.

    Parameters
    ----------
    told
        The values of the arms.
    pairs
        Places in `told` of an arm and of the control; both have values.
    others
        How many arms were ever compared with the control.
    is_high_worse
        Whether high values are the worse ones.
    """
    arms, controls = np.array(pairs, np.int64).T
    first, second = (arms, controls) if is_high_worse else (controls, arms)
    found = log_evidence_between(model_of(told, Support(), None), rewards_of(told), first, second)
    logs = np.minimum(0.0, math.log(others) - found)
    return [1.0 - each for each in np.exp(logs).tolist()]
