"""Stop or go on: what a verdict says, of which rewards, and when it refuses."""

import json
import math
import random

import pytest

import lastblock as lb

ARMS = ["red", "green", "blue"]
RATES = {"red": 0.1, "green": 0.6, "blue": 0.3, 0: 0.1, 1: 0.6, 2: 0.3}

pytestmark = pytest.mark.usefixtures("plain")


def play(bandit, steps, seed=1, reward=None):
    world = random.Random(seed)
    for _ in range(steps):
        decision = bandit.ask()
        rate = RATES[decision.arm]
        bandit.tell(
            decision, float(world.random() < rate) if reward is None else reward(world, rate)
        )
    return bandit


def test_before_any_reward():
    verdict = lb.Bandit(lb.UCB1(), ARMS, seed=1).verdict()
    assert not verdict.stop
    assert (verdict.best, verdict.rival, verdict.sure, verdict.evidence) == (None,) * 4
    assert str(verdict) == "Go on: there are no rewards yet."


@pytest.mark.parametrize(
    "policy",
    [lb.TopTwoThompson(redraws=1), lb.TrackAndStop(), lb.LUCB(), lb.SWLBSDA(window=50)],
    ids=repr,
)
def test_it_is_the_comparison_of_the_summary(policy):
    bandit = lb.Bandit(policy, ARMS, seed=7)
    stopped = False
    for begin in range(12):
        play(bandit, 50, seed=begin)
        for confidence in (0.5, 0.95, 0.999):
            verdict, summary = bandit.verdict(confidence), bandit.summary(confidence=confidence)
            assert verdict.best == summary.best
            assert verdict.sure == summary.sure
            assert verdict.rewards == summary.rewards == "rewards of 0 and 1"
            assert verdict.stop == (verdict.sure >= confidence)
            assert verdict.stop == (verdict.evidence >= verdict.threshold)
            assert verdict.threshold == pytest.approx(math.log(2 / (1 - confidence)))
            assert verdict.pulls == 50 * (begin + 1)
            if verdict.stop:
                assert summary.contenders == (verdict.best,)
                stopped = True
    assert stopped
    assert verdict == bandit.verdict(0.999)  # nothing of it is random
    assert (verdict.best, verdict.rival) == ("green", "blue")


def test_words_and_data():
    bandit = play(lb.Bandit(lb.LUCB(), ARMS, seed=7), 400)
    assert str(bandit.verdict(0.95)).startswith(
        "Stop: 'green' is best, at a confidence of 95 %. The closest rival is 'blue' (evidence "
    )
    later = bandit.verdict(1 - 1e-12)
    assert str(later).startswith("Go on: 'green' has the largest mean, but 'blue' is not ruled out")
    found = json.loads(json.dumps(later.to_dict(), allow_nan=False))
    assert found["stop"] is False
    assert found["text"] == str(later)


def test_rewards_that_are_not_coins():
    def ratings(world, rate):
        return float(1 + sum(world.random() < rate for _ in range(4)))

    bandit = lb.Bandit(lb.LUCB(sigma=2.0), ARMS, seed=7)
    play(bandit, 12, reward=ratings)
    assert "give them as bounds=" in str(bandit.verdict())
    play(bandit, 400, reward=ratings)
    assert bandit.verdict().rewards == "rewards of a finite variance, approximately"
    exact = bandit.verdict(bounds=(1, 5))
    assert exact.stop
    assert exact.rewards == "rewards between 1 and 5"


def test_arms_that_come_and_go():
    bandit = play(lb.Bandit(lb.LUCB(), ARMS, seed=7), 400)
    assert bandit.verdict().stop
    bandit.add_arm("gold")
    verdict = bandit.verdict()
    assert not verdict.stop
    assert (verdict.rival, verdict.evidence) == ("gold", 0.0)
    bandit.retire_arm("gold")
    verdict = bandit.verdict()
    assert verdict.threshold == pytest.approx(math.log(6 / 0.05))  # any pair of four arms
    bandit.retire_arm("green")
    assert bandit.verdict().best == "blue"


def test_a_changed_world_gets_no_verdict():
    bandit = lb.Bandit(lb.Restarting(lb.UCB1(), lb.MeanShift()), ARMS, seed=7)
    world = random.Random(1)
    for t in range(330):
        decision = bandit.ask()
        rate = 0.9 if (decision.arm == "green") == (t < 300) else 0.05
        bandit.tell(decision, float(world.random() < rate))
    assert bandit.changes
    verdict = bandit.verdict(0.5)
    assert not verdict.stop
    assert verdict.best is None
    assert verdict.change == bandit.changes[-1]
    assert str(verdict).startswith("Go on: the world changed around decision ")


def test_a_fleet():
    """Its bandits do not know the means of the rewards."""
    seen, gaussian = lb.Bandit(lb.Thompson(), 3, seed=1), lb.Thompson(family="gaussian")

    def told(policy, steps=250):
        fleet, world = lb.Fleet(policy, arms=3, size=2, seed=7), random.Random(1)
        assert fleet.bandit(0).verdict().best is None
        for _ in range(steps):
            (arm,) = fleet.ask([1])
            reward = float(world.random() < RATES[arm])
            fleet.tell([1], [arm], [reward])
            if policy == lb.Thompson():
                seen.observe(int(arm), reward)
        return fleet.bandit(1)

    verdict = told(lb.Thompson()).verdict(0.9)
    assert (verdict.best, verdict.rewards) == (1, "rewards between 0 and 1")
    assert verdict.evidence == pytest.approx(seen.verdict(0.9).evidence)
    assert told(gaussian).verdict(bounds=(0, 1)).best == 1
    for made, options, message in (
        (told(gaussian), {}, r"largest possible reward, verdict\(bounds="),  # it takes any number
        (told(gaussian), {"bounds": (2, 3)}, r"=\(2, 3\) do not hold: arm \d has a mean of"),
        (told(lb.LBSDALM(minimum=4, scale=0.5), 1000), {"bounds": (0, 1)}, "keep the sum of all"),
    ):
        with pytest.raises(ValueError, match=message):
            made.verdict(**options)
