"""What the policy has earned beyond the control arm, by the units that were held out."""

import math
from collections.abc import Iterable, Sequence

from lastblock.core.reward_stats import Told
from lastblock.core.support import support_of
from lastblock.live.bandit import desk_of
from lastblock.live.best_arm import best_arm, check_bounds, mean_intervals, model_of
from lastblock.serve.groups import Hosted
from lastblock.serve.messages import Group, Uplift
from lastblock.serve.problems import ProblemError
from lastblock.support.intervals import check_confidence
from lastblock.theory.confidence_sequences import Model

POLICY, HOLDOUT = "policy", "holdout"


def uplift(
    hosted: Hosted, confidence: float = 0.95, bounds: Sequence[float] | None = None
) -> Uplift:
    """Compare the rewards of a bandit and its segments with those of its holdout.

    Parameters
    ----------
    hosted
        The bandit.
    confidence
        The probability with which each of the three intervals holds, at all times at once. That of
        the difference has the ends of two intervals with half the error each.
    bounds
        The smallest and the largest possible reward, if they are known.

    Raises
    ------
    ProblemError
        If the bandit has no holdout.
    ValueError
        If `confidence` or `bounds` cannot be.
    """
    if hosted.holdout is None:
        raise ProblemError(
            "conflict", f"bandit {hosted.name!r} has no holdout; create one with a holdout"
        )
    check_confidence(confidence)
    chosen = together(
        told for each in (hosted, *hosted.segments.values()) for told in _rewards(each)
    )
    told = [chosen, together(_rewards(hosted.holdout))]
    model = model_of(told, support_of(hosted.bandit.policy), check_bounds(bounds))
    ends = mean_intervals(model, told, confidence)
    groups = [_group(each, *both) for each, both in zip(told, ends, strict=True)]
    found = Uplift(policy=groups[0], holdout=groups[1])
    stated = best_arm(
        model, (POLICY, HOLDOUT), told, [low for low, _ in ends], confidence, ever=2, retired=0
    )
    if stated is not None and all(each.pulls > 1 for each in told):
        ((low, high),) = difference_intervals(model, told, confidence)
        found.difference = told[0].mean - told[1].mean
        found.relative = found.difference / told[1].mean if told[1].mean > 0.0 else None
        found.low, found.high = _finite(low), _finite(high)
        found.better, found.sure = stated.best, stated.sure
    found.text = _words(found, hosted.notes["holdout"]["control"], confidence)
    return found


def difference_intervals(
    model: Model, told: Sequence[Told], confidence: float
) -> list[tuple[float, float]]:
    """Return intervals that hold the differences of means at any time.

    Parameters
    ----------
    model
        What is known of the rewards.
    told
        The rewards of both sides, one pair after the other.
    confidence
        The probability with which each interval holds at all times at once.
    """
    ends = mean_intervals(model, told, (1.0 + confidence) / 2.0)
    return [
        (low - other_high, high - other_low)
        for (low, high), (other_low, other_high) in zip(ends[::2], ends[1::2], strict=True)
    ]


def _words(found: Uplift, control: object, confidence: float) -> str:
    if found.difference is None:
        return "There are too few rewards yet to say anything of the uplift."
    low = "−∞" if found.low is None else f"{found.low:+.4g}"
    high = "∞" if found.high is None else f"{found.high:+.4g}"
    share = "" if found.relative is None else f", {100 * found.relative:+.1f} %"
    return (
        f"The policy earns {found.policy.mean:.4g} a decision, the holdout with {control!r} "
        f"{found.holdout.mean:.4g}: a difference of {found.difference:+.4g}{share} "
        f"({100 * confidence:g} % interval {low} to {high}, at any time)."
    )


def _rewards(hosted: Hosted) -> list[Told]:
    """Return the statistics of the rewards of each arm, retired ones included."""
    desk = desk_of(hosted.bandit)
    with desk.lock:
        rows = desk.live.told[: len(desk.active)].tolist()
        return [Told(int(row[0]), *row[1:]) for row in rows] + list(desk.retired.values())


def together(groups: Iterable[Told]) -> Told:
    """Return the statistics of all rewards of some groups."""
    pulls, mean, spread, low, high = 0, 0.0, 0.0, math.inf, -math.inf
    for group in groups:
        if group.pulls:
            both = pulls + group.pulls
            distance = group.mean - mean
            spread += group.spread + distance * distance * pulls * group.pulls / both
            mean += distance * group.pulls / both
            pulls = both
            low = group.low if math.isnan(group.low) else min(low, group.low)
            high = group.high if math.isnan(group.high) else max(high, group.high)
    return Told(pulls, mean, spread, low, high) if pulls else Told(0, 0.0, 0.0)


def _group(told: Told, low: float, high: float) -> Group:
    found = Group(rewards=told.pulls, low=_finite(low), high=_finite(high))
    if told.pulls:
        found.mean = told.mean
    if told.pulls > 1:
        found.standard_error = math.sqrt(told.spread / (told.pulls - 1) / told.pulls)
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
