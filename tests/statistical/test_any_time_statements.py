"""What a summary says holds at any time, while a policy that looks at the rewards chooses the arms.

Each trial is a whole life, looked at after every reward; it fails if a statement is wrong once. The
share of failures may exceed what is promised by three standard errors of that share.
"""

import math

import numpy as np
import pytest

from lastblock.theory.confidence_sequences import (
    Bounded,
    Coins,
    FiniteVariance,
    Rewards,
    intervals,
    log_evidence_between,
)
from trials import trial

TRIALS = 600


def tolerated(promise):
    return promise + 3.0 * math.sqrt(promise * (1.0 - promise) / TRIALS)


class Lives:
    """Many bandits at once, an arm a column; half of them greedy, half leave an arm that loses."""

    def __init__(self, draw, arms, seed):
        self.draw, self.rng = draw, np.random.default_rng(seed)
        self.number, self.mean, self.spread = (np.zeros((TRIALS, arms)) for _ in range(3))
        self.low, self.high = np.full((TRIALS, arms), np.inf), np.full((TRIALS, arms), -np.inf)
        self.last = np.zeros(TRIALS, int)

    def step(self):
        arms = self.mean.shape[1]
        arm = np.argmax(np.where(self.number > 0, self.mean, np.inf), axis=1)
        moves = self.rng.random(TRIALS) < 0.2
        arm = np.where(moves, self.rng.integers(arms, size=TRIALS), arm)
        half = TRIALS // 2
        stays = self.mean[np.arange(TRIALS), self.last] >= self.mean.mean(axis=1)
        arm[half:] = np.where(stays, self.last, self.rng.integers(arms, size=TRIALS))[half:]
        self.last = arm
        at = np.arange(TRIALS), arm
        x = self.draw(self.rng, arm)
        self.number[at] += 1.0
        distance = x - self.mean[at]
        self.mean[at] += distance / self.number[at]
        self.spread[at] += distance * (x - self.mean[at])
        self.low[at] = np.minimum(self.low[at], x)
        self.high[at] = np.maximum(self.high[at], x)

    @property
    def rewards(self):
        width = np.where(self.number > 0, self.high - self.low, 0.0)
        return Rewards(self.number, self.mean, self.spread, width)


def gaussian(rng, arm):
    return rng.normal(np.array([0.0, 0.1])[arm], 1.0)


def skewed(rng, arm):
    return rng.exponential(np.array([1.0, 1.1])[arm])


def sales(rng, arm):
    """Something is sold to one visitor in twenty, for very different prices."""
    chance = np.array([0.05, 0.06])[arm]
    return np.where(rng.random(arm.size) < chance, rng.exponential(30.0, arm.size), 0.0)


def pareto(rng, arm):
    """Nine in ten rewards lie below 2.2, and the third moment is infinite."""
    return np.array([1.0, 1.1])[arm] * (1.0 + rng.pareto(3.0, arm.size))


def lognormal(rng, arm):
    return np.array([1.0, 1.1])[arm] * rng.lognormal(0.0, 1.5, arm.size)


def clicks(rng, arm):
    return (rng.random(arm.size) < np.array([0.02, 0.3])[arm]).astype(float)


def ratings(rng, arm):
    return rng.binomial(4, np.array([0.4, 0.45])[arm]) + 1.0


@pytest.mark.parametrize(
    ("model", "draw", "means", "steps"),
    [
        (Coins(), clicks, [0.02, 0.3], 1500),
        (Bounded(1.0, 5.0), ratings, [2.6, 2.8], 60),
        pytest.param(Bounded(1.0, 5.0), ratings, [2.6, 2.8], 200, marks=trial),
        (FiniteVariance(), gaussian, [0.0, 0.1], 1500),
        pytest.param(FiniteVariance(), skewed, [1.0, 1.1], 1500, marks=trial),
        pytest.param(FiniteVariance(), sales, [1.5, 1.8], 3000, marks=trial),
    ],
    ids=["clicks", "few ratings", "ratings", "gaussian", "skewed", "sales"],
)
def test_means_lie_in_their_intervals_at_all_times(model, draw, means, steps):
    lives = Lives(draw, len(means), seed=1)
    true = np.array(means)
    missed = np.zeros(lives.mean.shape, bool)
    for _ in range(steps):
        lives.step()
        missed |= model.log_evidence(lives.rewards)(true) >= -math.log(0.05)
    assert missed.mean(axis=0).max() < tolerated(0.05)
    low, high = intervals(model, lives.rewards, 0.95)
    assert (np.isfinite(high - low) & (high - low < model.high - model.low)).mean() > 0.5


@pytest.mark.parametrize(
    ("draw", "means"),
    [(pareto, [1.5, 1.65]), (lognormal, [math.exp(1.125), 1.1 * math.exp(1.125)])],
    ids=["pareto", "lognormal"],
)
def test_intervals_of_rewards_with_very_long_tails_miss_twice_as_often_at_most(draw, means):
    """What the page on `summary` says of them: the statement is an approximation there."""
    model, lives = FiniteVariance(), Lives(draw, len(means), seed=1)
    missed = np.zeros(lives.mean.shape, bool)
    for _ in range(1500):
        lives.step()
        missed |= model.log_evidence(lives.rewards)(np.array(means)) >= -math.log(0.05)
    assert missed.mean(axis=0).max() < tolerated(0.1)


@pytest.mark.parametrize(
    ("model", "draw"),
    [
        pytest.param(
            Coins(), lambda rng, arm: (rng.random(arm.size) < 0.1).astype(float), marks=trial
        ),
        (FiniteVariance(), lambda rng, arm: rng.normal(5.0, 1.0, arm.size)),
    ],
    ids=["coins", "gaussian"],
)
def test_an_arm_as_good_as_the_others_is_rarely_ruled_out(model, draw):
    """All arms are alike, which is the hardest case: whoever rules the first one out is wrong."""
    arms, steps = 3, 800
    lives = Lives(draw, arms, seed=2)
    wrong = np.zeros(TRIALS, bool)
    threshold = math.log((arms - 1) / 0.1)
    for step in range(steps):
        lives.step()
        for other in range(1, arms):
            if step % 4 == 0:  # looking more often changes little, and takes long
                wrong |= evidence(model, lives, other, 0) >= threshold
    assert wrong.mean() < tolerated(0.1)


def test_the_best_arm_is_found():
    lives = Lives(lambda rng, arm: (rng.random(arm.size) < 0.1 + 0.15 * arm) * 1.0, 2, 3)
    for _ in range(1500):
        lives.step()
    greedy = evidence(Coins(), lives, 1, 0)[: TRIALS // 2]  # the others may leave the best arm
    assert (greedy >= math.log(20.0)).mean() > 0.7


def evidence(model, lives, arm, other):
    """How much says that `arm` is better than `other`, in each trial."""
    pairs = Rewards(*(column[:, [arm, other]].ravel() for column in lives.rewards))
    first = np.arange(TRIALS) * 2
    found = log_evidence_between(model, pairs, first, first + 1)
    return np.where(pairs.number[first + 1] * pairs.number[first] > 0, found, 0.0)
