"""What a summary and a verdict say of all rewards ever told, and which arm they call best."""

import json
import math
import random
import re

import numpy as np
import pytest

import lastblock as lb

ARMS = ["red", "green", "blue"]
RATES = {"red": 0.02, "green": 0.5, "blue": 0.01, "gold": 0.05}
CHANCES = {"red": 0.1, "green": 0.6, "blue": 0.3, 0: 0.1, 1: 0.6, 2: 0.3}


def click(world, arm):
    return float(world.random() < RATES[arm])


def coin(world, arm):
    return float(world.random() < CHANCES[arm])


def play(bandit, steps, reward=coin, log=None, seed=1):
    world = random.Random(seed)
    for _ in range(steps):
        decision = bandit.ask()
        value = reward(world, decision.arm)
        bandit.tell(decision, value)
        if log is not None:
            log.setdefault(decision.arm, []).append(value)
    return bandit


def assert_all_time(bandit, log):
    for row in bandit.summary().arms:
        own = log.get(row.arm, [])
        assert row.pulls == len(own)
        assert row.mean == (pytest.approx(np.mean(own)) if own else None)


@pytest.fixture
def clicked():
    """A bandit with a memory of some fifty rewards an arm, after two thousand."""
    bandit, log = lb.Bandit(lb.LBSDALM(), ARMS, seed=7), {}
    play(bandit, 2000, click, log)
    return bandit, log


def test_clicks(clicked):
    bandit, log = clicked
    summary = bandit.summary()
    assert_all_time(bandit, log)
    for row in summary.arms:
        assert 0.0 <= row.low <= row.mean < row.high <= 1.0
    assert any(row.held < row.pulls for row in summary.arms)
    assert summary.best == "green"
    assert summary.contenders == ("green",)
    assert 0.95 <= summary.sure <= 1.0
    assert sum(row.chance for row in summary.arms) == pytest.approx(1.0)
    text = str(summary)
    sure = re.search(r"'green' is best: ([\d.]+) % sure, at any time\.", text)
    assert 0.0 <= summary.sure - float(sure[1]) / 100 < 0.001
    assert "Held: the rewards that the policy still uses" in text
    assert "with intervals for rewards of 0 and 1, if no arm's mean changes" in text
    for row in text.splitlines()[2:6]:
        assert "-0" not in row


def test_how_sure_depends_on_the_confidence(clicked):
    bandit, _ = clicked
    usual, surer = bandit.summary(), bandit.summary(confidence=0.999)
    for row, wider in zip(usual.arms, surer.arms, strict=True):
        assert wider.low <= row.low
        assert row.high < wider.high
    assert surer.sure == usual.sure
    assert "99.9 % at any time" in str(surer)


def test_nobody_is_called_best_too_soon():
    bandit = lb.Bandit(lb.LBSDALM(), ARMS, seed=7)
    fresh = bandit.summary()
    assert (fresh.best, fresh.sure, fresh.contenders) == (None, None, ())
    assert all((row.mean, row.chance) == (None, None) for row in fresh.arms)
    for decision in bandit.ask(3):
        bandit.tell(decision, float(decision.arm == "blue"))
    summary = bandit.summary()
    assert (summary.best, summary.contenders) == ("blue", tuple(ARMS))
    assert summary.sure == 0.0
    assert "'blue' has the largest mean and is best with a probability of 0." in str(summary)
    assert "Not ruled out at 95 %, at any time: 'red', 'green'." in str(summary)


def test_arms_that_come_and_go(clicked):
    bandit, log = clicked
    bandit.add_arm("gold")
    play(bandit, 400, click, log, seed=2)
    bandit.retire_arm("red")
    play(bandit, 100, click, log, seed=3)
    assert_all_time(bandit, log)
    red = bandit.summary().arms[0]
    assert (red.state, red.chance) == ("retired", None)
    assert 0.0 <= red.low < red.high < 1.0
    assert "red" not in bandit.summary().contenders


def test_late_rewards_and_those_that_never_come(clicked):
    bandit, log = clicked
    late = bandit.ask(50)
    bandit.tell_many(late[:20], [7.5] * 20)
    bandit.forget(late[20])
    bandit.expire(older_than=0, reward=-2.0)
    for decision, value in zip(late[:20] + late[21:49], [7.5] * 20 + [-2.0] * 28, strict=True):
        log[decision.arm].append(value)
    assert_all_time(bandit, log)
    assert bandit.summary().rewards == "rewards of a finite variance, approximately"


def test_bounds():
    bandit, log = lb.Bandit(lb.LBSDALM(), ARMS, seed=7), {}
    play(bandit, 1500, lambda world, arm: 1 + (4 * world.random() + 2 * RATES[arm]) // 1, log)
    about, exact = bandit.summary(), bandit.summary(bounds=(1, 5))
    assert about.rewards == "rewards of a finite variance, approximately"
    assert exact.rewards == "rewards between 1 and 5"
    for row in exact.arms:
        assert 1.0 <= row.low < row.mean < row.high <= 5.0
    assert all(row.low >= 0.0 for row in about.arms)  # no reward was ever negative


def test_blank_intervals_are_explained():
    bandit, rng = lb.Bandit(lb.LBSDAGM(), ARMS, seed=7), np.random.default_rng(7)
    play(bandit, 40, lambda world, arm: float(rng.standard_cauchy()), {})
    note = "the rewards so far do not tell how much they vary. If you know the smallest and the"
    assert f"No interval for 'red', 'green', 'blue': {note}" in str(bandit.summary())
    assert "No interval" not in str(bandit.summary(bounds=(-1e9, 1e9)))
    assert "No interval" not in str(lb.Bandit(lb.LBSDAGM(), ARMS, seed=7).summary())  # no rewards


def test_bounds_of_any_size():
    bandit = lb.Bandit(lb.LBSDAGM(), ["a", "b"], seed=1)
    for step in range(20):
        bandit.tell(bandit.ask(), float(step % 2))
    for size in (1e100, 1e154, 1e155, 1e300):
        arms = bandit.summary(bounds=(-size, size)).arms
        assert [0.5 * size < arm.high < size for arm in arms] == [True, True]


def test_the_policy_may_know_the_bounds():
    bandit = lb.Bandit(lb.Thompson(), ARMS, seed=7)
    play(bandit, 200, lambda world, arm: world.random(), {})
    assert bandit.summary().rewards == "rewards between 0 and 1"


# As JSON.


def test_everything_is_plain_json(clicked):
    bandit, _ = clicked
    fresh = lb.Bandit(lb.UCB1(), ARMS, seed=1)
    fresh.ask()
    found = {
        "decision": bandit.ask(),
        "pending": bandit.pending[0],
        "summary": bandit.summary(),
        "row": fresh.summary().arms[0],
        "explanation": bandit.explain(),
        "index": fresh.explain(),
        "duel": bandit.explain().duels[0],
        "change": lb.Change(3, 5, None, math.nan, 1.0),
    }
    for name, value in found.items():
        text = json.dumps(value.to_dict(), allow_nan=False)
        fields = set(getattr(value, "_fields", ()) or value.__dataclass_fields__)
        assert set(json.loads(text)) == fields, name
    row = found["row"].to_dict()
    assert row["mean"] is row["held_mean"] is None
    assert found["change"].to_dict()["old"] is None
    assert found["decision"].to_dict()["arm"] in ARMS
    assert found["summary"].to_dict()["policy"] == str(bandit.policy)
    assert found["summary"].to_dict()["arms"][1]["arm"] == "green"


def test_it_is_never_wholly_sure():
    """How sure it is rounds to 1.0 after many pulls of arms far apart."""
    bandit = lb.Bandit(lb.UCB1(), arms=["red", "green"], seed=1, floor=0.2)
    for _ in range(1000):
        decisions = bandit.ask(10)
        bandit.tell_many(decisions, [float(d.arm == "green") for d in decisions])
    summary = bandit.summary()
    assert summary.sure == 1.0
    assert "'green' is best: 99.9 % sure, at any time." in str(summary)


# Verdicts: stop or go on.


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
    def ratings(world, arm):
        return float(1 + sum(coin(world, arm) for _ in range(4)))

    bandit = lb.Bandit(lb.LUCB(sigma=2.0), ARMS, seed=7)
    play(bandit, 12, reward=ratings)
    assert "give them as bounds=" in str(bandit.verdict())
    play(bandit, 400, reward=ratings)
    assert bandit.verdict().rewards == "rewards of a finite variance, approximately"
    exact = bandit.verdict(bounds=(1, 5))
    assert exact.stop
    assert exact.rewards == "rewards between 1 and 5"


def test_a_verdict_on_arms_that_come_and_go():
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
            reward = float(world.random() < CHANCES[arm])
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
