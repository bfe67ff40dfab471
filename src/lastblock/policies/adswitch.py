"""AdSwitch: adaptive tracking of the best arm (Auer, Gajane & Ortner, 2019)."""

import math
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kernels.streams import uniform
from lastblock.kit import COUNT, FLAG, Layout, Positive, Range, Record, kernel, plain, policy

LEVELS = 48
"""The number of block sizes, 1, 2, 4 … 2⁴⁷ steps; no episode is longer."""

FINEST_CHECK = 24
"""Checks look for gaps of 2⁻¹ to 2⁻²⁴; the last one would take 10¹⁵ pulls."""


@kernel
def check_rate(episode: int, arms: int, horizon: int) -> float:
    """Return √(ℓ / (K T log T)), the rate of checks of a bad arm in episode ℓ."""
    return math.sqrt(episode / (arms * horizon * math.log(horizon)))


@kernel
def new_episode(s: Record, horizon: int) -> None:
    """Begin an episode: forget everything, and take every arm for good."""
    s.episode += 1
    s.clock = 0
    s.rate = check_rate(s.episode, s.arms, horizon)
    for k in range(s.good.shape[0]):
        s.good[k] = 1
        s.pulls[k] = 0
        s.owed[k] = 0
        s.highest[k] = -math.inf
        s.lowest[k] = math.inf


@kernel
def close_blocks(s: Record, arm: int, reward: float, width: float) -> None:
    """Count a step, and close the blocks of 1, 2, 4 … steps that end with it, for every arm.

    Blocks of 2ʲ steps start at multiples of 2ʲ, so a step closes two of them on average.
    """
    for k in range(s.arms):
        count = 0
        total = 0.0
        if k == arm:
            count = 1
            total = reward
        for level in range(LEVELS):
            if count > 0:
                radius = width / math.sqrt(count)
                s.highest[k] = max(s.highest[k], total / count - radius)
                s.lowest[k] = min(s.lowest[k], total / count + radius)
            left_count = s.count[k, level]
            left_total = s.total[k, level]
            s.count[k, level] = count
            s.total[k, level] = total
            if (s.clock >> level) & 1 == 0:  # it has no left sibling
                break
            count += left_count
            total += left_total
    s.clock += 1


@kernel
def find_change(s: Record, width: float, eviction: float) -> bool:
    """Test the arms on the intervals that end now.

    Note which good arms stay, and return whether some arm has changed.
    """
    for k in range(s.arms):
        s.recent_count[k] = 0
        s.recent_total[k] = 0.0
        s.staying[k] = s.good[k]
    for level in range(LEVELS):
        if s.clock >> level == 0:
            break
        # The interval: the newest block of 2ʲ steps, and the steps after it.
        best = -math.inf
        for k in range(s.arms):
            n = s.recent_count[k] + s.count[k, level]
            s.n[k] = n
            if n > 0:
                mean = (s.recent_total[k] + s.total[k, level]) / n
                s.mean[k] = mean
                radius = width / math.sqrt(n)
                if s.good[k]:
                    # Condition (3), against all blocks of the episode at once.
                    if s.highest[k] - mean > radius or mean - s.lowest[k] > radius:
                        return True
                    if s.staying[k]:
                        best = max(best, mean)
                elif abs(mean - s.level[k]) > s.gap[k] / 4.0 + radius:  # condition (4)
                    return True
            if (s.clock >> level) & 1 == 1:
                s.recent_count[k] += s.count[k, level]
                s.recent_total[k] += s.total[k, level]
        for k in range(s.arms):
            if s.staying[k] and s.n[k] > 1:
                gap = best - s.mean[k]
                if gap > eviction / math.sqrt(s.n[k] - 1):  # condition (1)
                    s.staying[k] = 0
                    s.level[k] = s.mean[k]
                    s.gap[k] = gap
                    s.owed[k] = 0
    for k in range(s.arms):
        s.good[k] = s.staying[k]
    return False


@policy(shift_invariant=True, examples=[{"horizon": 1000}, {"horizon": 50, "eviction": 0.5}])
class AdSwitch(NamedTuple):
    """Let good arms take turns, check bad arms now and then, and start anew after a change.

    The policy need not be told the number of changes. An arm is evicted when it is clearly worse
    than a good one, and later checked at random, more often for changes that would matter more. The
    constants are those of a proof: at horizons such as 10 000 it explores for most of the time.
    Its radii assume that rewards lie in [0, 1]; others must be scaled.

    Parameters
    ----------
    horizon
        T, which sets the confidence level and the frequency of the checks.
    eviction
        C₁, in the gap √(C₁ log T / (n − 1)) that evicts an arm.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.1), lb.Bernoulli(0.5), lb.Bernoulli(0.9)])
    >>> run = lb.simulate(lb.AdSwitch(horizon=5000), arms, horizon=5000, replications=20, seed=1)
    >>> bool(run.mean()[-1] < 0.4 * 5000)  # the regret of taking turns
    True

    References
    ----------
    Auer, Gajane & Ortner. Adaptively Tracking the Best Bandit Arm with an Unknown Number of
    Distribution Changes. COLT 2019.
    """

    horizon: Annotated[int, Range(2, 1 << 47, unit="steps")]
    eviction: Positive = 16.0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("episode", COUNT),
            ("clock", COUNT),  # steps of the episode
            ("rate", np.float64),  # of checks, √(ℓ / (K T log T))
            ("chosen", COUNT, (arms,)),  # when the arm was last chosen
            ("good", FLAG, (arms,)),
            ("pulls", COUNT, (arms,)),  # in the episode
            ("owed", COUNT, (arms,)),  # a bad arm is checked until it has so many
            ("level", np.float64, (arms,)),  # of a bad arm when it was evicted …
            ("gap", np.float64, (arms,)),  # … and its distance to the best
            ("highest", np.float64, (arms,)),  # over all closed blocks: mean − radius …
            ("lowest", np.float64, (arms,)),  # … and mean + radius
            ("count", COUNT, (arms, LEVELS)),  # the newest closed block of 2ʲ steps
            ("total", np.float64, (arms, LEVELS)),
            ("recent_count", COUNT, (arms,)),  # scratch for the tests
            ("recent_total", np.float64, (arms,)),
            ("n", COUNT, (arms,)),
            ("mean", np.float64, (arms,)),
            ("staying", FLAG, (arms,)),
        ]

    def start(self, s: Record) -> None:
        new_episode(s, self.horizon)
        for k in range(s.good.shape[0]):
            s.staying[k] = 1
        enqueue_all(s)
        shuffle(s)
        for i in range(s.arms):
            s.chosen[s.queue[i]] = i

    def plan(self, s: Record) -> None:
        # Checks for bad arms: only the longest one that is still open matters.
        for k in range(s.arms):
            if not s.good[k]:
                size = 0.5
                for _ in range(FINEST_CHECK):
                    if size < s.gap[k] / 16.0:
                        break
                    if uniform(s.stream) < size * s.rate:
                        length = math.floor(2.0 * math.log(self.horizon) / (size * size))
                        # An arm that has lost more than that is tried once more.
                        length = max(length, s.lost[k] + 1)
                        s.owed[k] = max(s.owed[k], s.pulls[k] + s.out[k] + length)
                    size *= 0.5

        # Among the good arms and those being checked: the one not chosen for longest.
        arm = 0
        oldest = s.arms + s.round
        for k in range(s.arms):
            if s.good[k] or s.pulls[k] + s.out[k] + s.lost[k] < s.owed[k]:
                if s.chosen[k] < oldest:
                    oldest = s.chosen[k]
                    arm = k
        s.chosen[arm] = s.arms + s.round - 1
        enqueue(s, arm)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        log_t = math.log(self.horizon)
        width = math.sqrt(2.0 * log_t)
        s.pulls[arm] += 1
        close_blocks(s, arm, reward, width)
        if find_change(s, width, math.sqrt(self.eviction * log_t)):
            new_episode(s, self.horizon)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        s.rate = plain(check_rate)(int(s.episode), int(s.arms), self.horizon)
        if s.arms > before.arms:
            s.chosen[arm] = s.arms + s.round - 1
        else:
            s.chosen[: s.arms] -= 1  # the number of arms is part of what time it is

    def replanned(self, s: Record, planned: Record, kept: npt.NDArray[np.int64]) -> None:
        s.rate = plain(check_rate)(int(s.episode), int(s.arms), self.horizon)
        now = planned.arms + planned.round - 1
        just_chosen = planned.chosen[: planned.arms] == now
        s.chosen[kept[just_chosen]] = s.arms + s.round - 1
