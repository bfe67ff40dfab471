"""What the policy has earned beyond the control arm, by the units that were held out."""

import math
from collections.abc import Sequence

from lastblock.core.reward_stats import Told
from lastblock.core.support import support_of
from lastblock.live.bandit import desk_of
from lastblock.live.best_arm import best_arm
from lastblock.live.mean_rewards import (
    CONFIDENCE,
    MeanAndInterval,
    check_bounds,
    mean_rewards,
    model_of,
    together,
)
from lastblock.serve import messages
from lastblock.serve.groups import Hosted
from lastblock.serve.messages import Uplift
from lastblock.serve.problems import ProblemError
from lastblock.support.intervals import check_confidence
from lastblock.theory.confidence_sequences import Model

POLICY, HOLDOUT = "policy", "holdout"


def uplift(
    hosted: Hosted, confidence: float = CONFIDENCE, bounds: Sequence[float] | None = None
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
    told = [earned_in(hosted), together(rewards_of_arms(hosted.holdout))]
    model = model_of(told, support_of(hosted.bandit.policy), check_bounds(bounds))
    means = mean_rewards(model, told, confidence)
    found = Uplift(policy=shown(means[0]), holdout=shown(means[1]))
    lows = [each.low for each in means]
    stated = best_arm(model, (POLICY, HOLDOUT), told, lows, confidence, ever=2, retired=0)
    if stated is not None and all(each.pulls > 1 for each in told):
        ((low, high),) = difference_intervals(model, told, confidence)
        found.difference = told[0].mean - told[1].mean
        found.relative = found.difference / told[1].mean if told[1].mean > 0.0 else None
        found.low, found.high = _finite(low), _finite(high)
        found.better, found.sure = stated.best, stated.sure
    found.text = _words(found, hosted.notes["holdout"]["control"], confidence)
    return found


def mean_reward(
    hosted: Hosted, confidence: float = CONFIDENCE, bounds: Sequence[float] | None = None
) -> MeanAndInterval:
    """Return the mean reward of a bandit: of all arms and segments, without its holdout."""
    told = earned_in(hosted)
    model = model_of([told], support_of(hosted.bandit.policy), check_bounds(bounds))
    return mean_rewards(model, [told], check_confidence(confidence))[0]


def earned_in(hosted: Hosted) -> Told:
    """Return the statistics of all rewards that a bandit and its segments have earned."""
    members = (hosted, *hosted.segments.values())
    return together(told for each in members for told in rewards_of_arms(each))


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
    means = mean_rewards(model, told, (1.0 + confidence) / 2.0)
    return [
        (one.low - other.high, one.high - other.low)
        for one, other in zip(means[::2], means[1::2], strict=True)
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


def rewards_of_arms(hosted: Hosted) -> list[Told]:
    """Return the statistics of the rewards of each arm, retired ones included."""
    desk = desk_of(hosted.bandit)
    with desk.lock:
        rows = desk.live.told[: len(desk.active)].tolist()
        return [Told(int(row[0]), *row[1:]) for row in rows] + list(desk.retired.values())


def shown(found: MeanAndInterval) -> messages.MeanReward:
    """Return a mean reward as it is sent."""
    return messages.MeanReward(found.rewards, found.mean, _finite(found.low), _finite(found.high))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
