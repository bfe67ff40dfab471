"""What the policy has earned beyond the control arm, by the units that were held out."""

import math
from collections.abc import Iterable

from lastblock.core.reward_stats import Told
from lastblock.live.view import desk_of
from lastblock.serve.hosted import Hosted
from lastblock.serve.messages import Group, Uplift
from lastblock.serve.problems import ProblemError

REACH = 1.959963984540054
"""How many standard errors an interval of 95 % reaches to either side."""


def uplift(hosted: Hosted) -> Uplift:
    """Compare the rewards of a bandit and its segments with those of its holdout.

    Raises
    ------
    ProblemError
        If the bandit has no holdout.
    """
    if hosted.holdout is None:
        raise ProblemError(
            "conflict", f"bandit {hosted.name!r} has no holdout; create one with a holdout"
        )
    chosen = _together(
        told for each in (hosted, *hosted.segments.values()) for told in _rewards(each)
    )
    control = _together(_rewards(hosted.holdout))
    one, other = _group(chosen), _group(control)
    if one.standard_error is None or other.standard_error is None:
        return Uplift(policy=one, holdout=other, difference=None, low=None, high=None)
    difference = chosen.mean - control.mean
    reach = REACH * math.hypot(one.standard_error, other.standard_error)
    return Uplift(
        policy=one,
        holdout=other,
        difference=difference,
        low=difference - reach,
        high=difference + reach,
    )


def _rewards(hosted: Hosted) -> list[Told]:
    """Return the statistics of the rewards of each arm, retired ones included."""
    desk = desk_of(hosted.bandit)
    with desk.lock:
        rows = desk.live.told[: len(desk.active)].tolist()
        return [Told(int(row[0]), *row[1:]) for row in rows] + list(desk.retired.values())


def _together(groups: Iterable[Told]) -> Told:
    """Return the statistics of all rewards of some groups."""
    pulls, mean, spread = 0, 0.0, 0.0
    for group in groups:
        if group.pulls:
            both = pulls + group.pulls
            distance = group.mean - mean
            spread += group.spread + distance * distance * pulls * group.pulls / both
            mean += distance * group.pulls / both
            pulls = both
    return Told(pulls, mean, spread)


def _group(told: Told) -> Group:
    if told.pulls < 2:
        mean = told.mean if told.pulls else None
        return Group(rewards=told.pulls, mean=mean, standard_error=None)
    error = math.sqrt(told.spread / (told.pulls - 1) / told.pulls)
    return Group(rewards=told.pulls, mean=told.mean, standard_error=error)
