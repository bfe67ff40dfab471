"""ADWIN and the Page–Hinkley test: against slow twins, and against river."""

from math import fsum, log, sqrt
from random import Random

import numpy as np
import pytest

import lastblock as lb
from detectors.watching import noticed_by
from lastblock.testing.worlds import ARMS


class ADWINTwin:
    """Every reward, in groups whose lengths are powers of two."""

    def __init__(self, delta, clock):
        self.delta, self.clock = delta, clock
        self.groups = []  # the oldest first

    def notice(self, reward):
        self.groups.append([reward])
        length = 1
        while len(same := [i for i, g in enumerate(self.groups) if len(g) == length]) > 5:
            first, second = same[:2]
            self.groups[first] += self.groups.pop(second)
            length *= 2
        rewards = [reward for group in self.groups for reward in group]
        n = len(rewards)
        if n <= 10 or n % self.clock != 0:
            return None
        mean = fsum(rewards) / n
        variance = fsum((reward - mean) ** 2 for reward in rewards) / n
        for i in range(1, len(self.groups)):
            at = sum(len(group) for group in self.groups[:i])
            if at >= 5 and n - at >= 5:
                old, new = fsum(rewards[:at]) / at, fsum(rewards[at:]) / (n - at)
                inverse = 1 / (at - 4) + 1 / (n - at - 4)
                level = log(2 * log(n) / self.delta)
                if abs(old - new) > sqrt(2 * inverse * variance * level) + 2 / 3 * level * inverse:
                    return n - at, old, new
        return None


class PageHinkleyTwin:
    """The walks from the first reward on, and their smallest values."""

    def __init__(self, drift, threshold, least):
        self.drift, self.threshold, self.least = drift, threshold, least
        self.rewards = []
        self.walks = ([0.0], [0.0])

    def notice(self, reward):
        self.rewards.append(reward)
        n = len(self.rewards)
        away = reward - fsum(self.rewards) / n
        for walk, step in zip(self.walks, (away, -away), strict=True):
            walk.append(walk[-1] + step - self.drift)
        heights = [walk[-1] - min(walk) for walk in self.walks]
        if n < self.least or max(heights) <= self.threshold:
            return None
        walk = self.walks[0 if heights[0] > heights[1] else 1]
        at = max(i for i in range(n + 1) if walk[i] == min(walk))
        return n - at, fsum(self.rewards[:at]) / at, fsum(self.rewards[at:]) / (n - at)


def seen_by_twins(make, arms, rewards):
    """What a twin for each arm notices, all made anew after an alarm."""
    twins = [make() for _ in range(ARMS)]
    alarms = []
    for i, (arm, reward) in enumerate(zip(arms, rewards, strict=True)):
        found = twins[arm].notice(reward)
        if found is not None:
            alarms.append((i + 1, *found))
            twins = [make() for _ in range(ARMS)]
    return alarms


@pytest.mark.parametrize(
    ("detector", "twin"),
    [
        (lb.ADWIN(), ADWINTwin),
        (lb.ADWIN(delta=0.3, clock=7), ADWINTwin),
        (lb.PageHinkley(), PageHinkleyTwin),
        (lb.PageHinkley(drift=0.015625, threshold=3.0, least=5), PageHinkleyTwin),
    ],
    ids=repr,
)
def test_they_notice_what_their_twins_do(detector, twin):
    rng = Random(5)
    arms = [rng.randrange(ARMS) for _ in range(900)]
    rewards = [rng.randint(0, 4) / 8 + i // 225 % 2 / 2 for i in range(900)]
    found = noticed_by(detector, arms, rewards)
    expected = seen_by_twins(lambda: twin(*detector), arms, rewards)
    assert len(found) > 0
    assert [alarm[:2] for alarm in found] == [alarm[:2] for alarm in expected]
    assert np.allclose(found, expected)


# The first alarms of river 0.26.1 on `coins(seed)` for the seeds 0 to 7, 0 for none: ADWIN(),
# ADWIN(delta=0.05, clock=1), PageHinkley(delta=0.05, threshold=10.0, alpha=1.0) and
# PageHinkley(delta=0.01, threshold=5.0, min_instances=10, alpha=1.0).
RIVER = [
    (lb.ADWIN(clock=32), [448, 480, 512, 0, 0, 672, 448, 448]),
    (lb.ADWIN(delta=0.05), [416, 434, 470, 1171, 0, 503, 430, 416]),
    (lb.PageHinkley(), [415, 428, 425, 598, 192, 448, 422, 417]),
    (
        lb.PageHinkley(drift=0.01, threshold=5.0, least=10),
        [113, 55, 58, 61, 25, 30, 185, 196],
    ),
]


def coins(seed):
    rng = Random(seed)
    before, after = 0.2 + 0.1 * seed, 0.9 - 0.1 * seed
    return [float(rng.random() < (before if t < 400 else after)) for t in range(1200)]


@pytest.mark.parametrize(("detector", "times"), RIVER, ids=repr)
def test_first_alarms_are_those_of_river(detector, times):
    for seed, time in enumerate(times):
        alarms = noticed_by(detector, [0] * 1200, coins(seed))
        assert (alarms[0][0] if alarms else 0) == time
