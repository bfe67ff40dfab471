"""A guardrail: a second number that comes with rewards, and pauses arms that are surely worse.

The values of each bandit that decides are kept by a bandit of their own, which observes them and
never decides. So they are in a log, and each segment is compared with itself.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lastblock.core.reward_stats import Told
from lastblock.core.support import Support
from lastblock.live.best_arm import model_of, rewards_of
from lastblock.live.labels import Label
from lastblock.live.view import desk_of
from lastblock.policies.ucb1 import UCB1
from lastblock.serve.hosted import Hosted
from lastblock.serve.problems import ProblemError
from lastblock.serve.safety_messages import Guarded, GuardedArm
from lastblock.theory.confidence_sequences import log_evidence_between

EACH: Final = 100
"""Up to so many values of an arm each one is tested, later each hundredth part more."""


def keeper() -> UCB1:
    """Return the policy of a bandit that only keeps values: a small one, which takes anything."""
    return UCB1()


def check_values(hosted: Hosted, values: Sequence[float | None]) -> bool:
    """Return whether a guardrail's values came with rewards, or raise an error if they may not."""
    given = [value for value in values if value is not None]
    if given and hosted.family.notes.get("guardrail") is None:
        raise ProblemError(
            "invalid", f"bandit {hosted.family.name!r} has no guardrail; leave the value out"
        )
    for value in given:
        if not abs(value) < 1e100:  # its square must be finite; NaN fails as well
            raise ProblemError("invalid", f"guardrail={value} must lie between ±1e100")
    return bool(given)


def guard(hosted: Hosted, arms: Sequence[Label | None], values: Sequence[float | None]) -> None:
    """Keep values that came with rewards, and pause arms that are surely worse than the control.

    Parameters
    ----------
    hosted
        The bandit whose decisions they are about; it has a keeper of values.
    arms
        The arms of the decisions; None for what has come before.
    values
        The values; None where there is none.
    """
    keeper, guardrail = hosted.keeper, hosted.family.notes.get("guardrail")
    assert keeper is not None, "it was made when the values came"
    pairs = [
        (arm, value)
        for arm, value in zip(arms, values, strict=True)
        if arm is not None and value is not None and keeper.bandit.arms.get(arm) != "retired"
    ]
    if not pairs or guardrail is None:
        return
    before = keeper.bandit.pulls
    keeper.observe([arm for arm, _ in pairs], [value for _, value in pairs])
    after = keeper.bandit.pulls
    if not any(_is_due(before[arm], after[arm]) for arm, _ in pairs):
        return
    free = set(hosted.family.notes.get("unguarded", ()))
    for each in compare(keeper, guardrail).arms:
        is_active = hosted.bandit.arms.get(each.arm) == "active"
        if each.sure >= guardrail["confidence"] and is_active and json.dumps(each.arm) not in free:
            hosted.pauses[json.dumps(each.arm)] = (
                f"{guardrail['metric']} is worse than that of {guardrail['control']!r}, with a "
                f"mean of {each.mean:.4g} of {each.values} values ({100 * each.sure:.4g} % sure)"
            )
            hosted.bandit.pause_arm(each.arm)
            hosted.stamp += 1


def _is_due(before: int, after: int) -> bool:
    step = max(1, after // EACH)
    return before // step < after // step


def compare(keeper: Hosted, guardrail: dict[str, Any]) -> Guarded:
    """Return how sure it is that each arm is worse than the control, whenever one looks."""
    desk = desk_of(keeper.bandit)
    with desk.lock:
        labels = list(desk.active)
        told = [desk.live.notes.told_of(place) for place in range(len(labels))]
        others = max(1, len(labels) + len(desk.retired) - 1)
    sure = [0.0] * len(labels)
    control = labels.index(guardrail["control"])
    rivals = [k for k in range(len(labels)) if k != control and told[k].pulls]
    if rivals and told[control].pulls:
        pairs = [(k, control) for k in rivals]
        found = how_sure(told, pairs, others, is_high_worse=guardrail["worse"] == "higher")
        for k, each in zip(rivals, found, strict=True):
            sure[k] = each
    return Guarded(
        metric=guardrail["metric"],
        control=guardrail["control"],
        arms=[
            GuardedArm(arm=label, values=each.pulls, mean=_mean(each), sure=each_sure)
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


def _mean(told: Told) -> float | None:
    return told.mean if told.pulls else None
