"""ADWIN, the Page–Hinkley test and R-BOCPD: against slow twins, and against river."""

from math import fsum, log, sqrt
from random import Random

import pytest

import lastblock as lb
from detectors.watching import noticed_by
from lastblock.testing.worlds import ARMS
from oracle.glrklucb import on_grid


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
            return []
        mean = fsum(rewards) / n
        variance = fsum((reward - mean) ** 2 for reward in rewards) / n
        for i in range(1, len(self.groups)):
            at = sum(len(group) for group in self.groups[:i])
            if at >= 5 and n - at >= 5:
                old, new = fsum(rewards[:at]) / at, fsum(rewards[at:]) / (n - at)
                inverse = 1 / (at - 4) + 1 / (n - at - 4)
                level = log(2 * log(n) / self.delta)
                if abs(old - new) > sqrt(2 * inverse * variance * level) + 2 / 3 * level * inverse:
                    return [(n - at, old, new)]
        return []


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
            return []
        walk = self.walks[0 if heights[0] > heights[1] else 1]
        at = max(i for i in range(n + 1) if walk[i] == min(walk))
        return [(n - at, fsum(self.rewards[:at]) / at, fsum(self.rewards[at:]) / (n - at))]


class Forecasters:
    """One for each reward to begin with; each predicts every later coin by Laplace's rule."""

    def __init__(self, delta):
        self.delta = delta
        self.coins = []
        self.losses = []  # of the forecaster that begins with coin 0, 1, …
        self.before = []  # the first one's loss when another one begins

    def notice(self, coin):
        """Each split after which a forecaster weighs more than the first one."""
        self.before.append(self.losses[0] if self.losses else 0.0)
        self.losses.append(0.0)
        heads, n = 0.0, 0
        for start in reversed(range(len(self.losses))):
            chance = (heads + 1) / (n + 2)
            self.losses[start] -= log(chance if coin == 1 else 1 - chance)
            if start > 0:
                heads += self.coins[start - 1]
                n += 1
        self.coins.append(coin)
        prior = log(self.delta / len(self.coins))
        return [
            self.alarm(start)
            for start in range(1, len(self.coins))
            if on_grid(start, len(self.coins))
            and prior - self.before[start] - self.losses[start] > -self.losses[0]
        ]

    def alarm(self, start):
        n = len(self.coins)
        return n - start, sum(self.coins[:start]) / start, sum(self.coins[start:]) / (n - start)


def fifths(rng, t):
    return rng.randint(0, 4) / 8 + t // 225 % 2 / 2


def coin(rng, t):
    return float(rng.random() < (0.2, 0.8)[t // 225 % 2])


@pytest.mark.parametrize(
    ("detector", "twin", "kind"),
    [
        (lb.ADWIN(), ADWINTwin, fifths),
        (lb.ADWIN(delta=0.3, clock=7), ADWINTwin, fifths),
        (lb.PageHinkley(), PageHinkleyTwin, fifths),
        (lb.PageHinkley(drift=0.015625, threshold=3.0, least=5), PageHinkleyTwin, fifths),
        (lb.RBOCPD(0.01), Forecasters, coin),
        (lb.RBOCPD(1.0), Forecasters, coin),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_they_notice_what_their_twins_do(detector, twin, kind):
    """There is a twin for each arm; all are made anew after an alarm."""
    rng = Random(5)
    arms = [rng.randrange(ARMS) for _ in range(900)]
    rewards = [kind(rng, t) for t in range(900)]
    found = {time: seen for time, *seen in noticed_by(detector, arms, rewards)}
    twins = [twin(*detector) for _ in range(ARMS)]
    for time, (arm, reward) in enumerate(zip(arms, rewards, strict=True), start=1):
        alarms = twins[arm].notice(reward)
        assert (time in found) == bool(alarms)
        if alarms:
            assert any(found[time] == pytest.approx(alarm) for alarm in alarms)
            twins = [twin(*detector) for _ in range(ARMS)]
    assert len(found) > 0


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
