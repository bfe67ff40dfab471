"""Learning from decisions that others took: one by one, many, or a whole log."""

import random

import numpy as np
import pandas as pd
import pytest
from colours import ARMS, new_bandit

import lastblock as lb
from lastblock.live import event_replay


def some_log(size=100):
    rng = random.Random(size)
    arms = [rng.choice(ARMS) for _ in range(size)]
    return arms, [float(rng.random() < 0.5) for _ in arms]


def test_an_apprentice_learns():
    """It has never decided anything, and knows the best arm."""
    bandit = new_bandit()
    for t in range(300):
        arm = ARMS[t % 3]
        bandit.observe(arm, float(arm == "blue"))
    assert bandit.pulls == dict.fromkeys(ARMS, 100)
    assert bandit.asked == 0
    assert bandit.pending == ()
    summary = bandit.summary()
    assert [row.mean for row in summary.arms] == [0.0, 0.0, 1.0]
    assert summary.best == "blue"
    bandit.ask(3)  # the first round pulls every arm once
    assert [bandit.ask().arm for _ in range(20)].count("blue") > 15


def test_the_round_goes_on_as_it_was():
    bandit, twin = new_bandit(), new_bandit()
    assert bandit.ask() == twin.ask()
    bandit.observe("green", 1.0)
    assert [d.arm for d in bandit.ask(2)] == [d.arm for d in twin.ask(2)]


def test_changes_are_counted_by_decisions_and_observations():
    """A policy that restarts says after how many decisions it noticed a change."""
    bandit = new_bandit(lb.Restarting(lb.Thompson(), lb.MeanShift()))
    for t in range(2000):
        bandit.observe(ARMS[t % 3], float(t >= 1000))
    assert bandit.changes
    assert 1000 < bandit.changes[-1].noticed <= 2000


def logs(folder):
    arms, rewards = some_log()
    frame = pd.DataFrame({"arm": arms, "reward": rewards, "note": "x"})
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_parquet(folder / "log.parquet")
    mixed = frame.assign(at=np.arange(100)).sample(frac=1.0, random_state=1)
    return {
        "pairs": list(zip(arms, rewards, strict=True)),
        "generator": zip(arms, rewards, strict=True),
        "frame": frame,
        "mapping": {"arm": arms, "reward": rewards},
        "csv": folder / "log.csv",
        "parquet": str(folder / "log.parquet"),
        "replay": lb.Replay(mixed, time="at"),
    }


def test_every_kind_of_log(tmp_path):
    twin, many = new_bandit(), new_bandit()
    for arm, reward in zip(*some_log(), strict=True):
        twin.observe(arm, reward)
    many.observe_many(iter(some_log()[0]), np.array(some_log()[1]))
    many.observe_many([], [])
    assert many.to_bytes() == twin.to_bytes()
    for name, log in logs(tmp_path).items():
        bandit = new_bandit()
        assert bandit.learn(log) == 100
        assert bandit.to_bytes() == twin.to_bytes(), name


def test_other_columns_and_labels():
    bandit = lb.Bandit(lb.LBSDAGM(), 3, seed=7)
    frame = pd.DataFrame({"slot": [0, 1, 2, 1], "click": [True, False, True, True]})
    assert bandit.learn(frame, arm="slot", reward="click") == 4
    assert bandit.pulls == {0: 1, 1: 2, 2: 1}
    bandit.observe(np.int64(2), 1)
    assert bandit.pulls[2] == 2


@pytest.mark.parametrize("policy", [lb.LBSDAGM(), lb.LBSDA()], ids=repr)
def test_a_long_log(policy, monkeypatch, capsys):
    """In parts, by the loop that repeats events: the same bytes; a growing record has room."""
    arms, rewards = some_log(4000)
    one, other = new_bandit(policy), new_bandit(policy)
    one.observe_many(arms, rewards)
    monkeypatch.setattr("lastblock.live.bandit.PART", 450)
    monkeypatch.setattr(event_replay, "MANY", 100)
    assert other.learn(zip(arms, rewards, strict=True), progress=True) == 4000
    assert one.to_bytes() == other.to_bytes()
    assert "event" in capsys.readouterr().err


def test_decisions_that_are_out_stay_out():
    """An observation answers no decision, also when decisions have become stale."""
    bandit = new_bandit(lb.SWLBSDA(window=60))
    for _ in range(50):
        bandit.ask()
    for label in ARMS:
        bandit.observe(label, 1.0)
    assert len(bandit.pending) == 50


PAIRS = ["red", "blue", "red"], [1.0, 0.0, 0.5]


def test_keys_of_observations_outside_a_store():
    bandit = lb.Bandit(lb.LBSDAGM(), ["red", "green", "blue"], seed=7, remember=2)
    for _ in range(2):
        bandit.observe_many(*PAIRS, key="a")
    assert sum(bandit.pulls.values()) == 3
    with pytest.raises(lb.KeyReusedError, match="came with other observations before"):
        bandit.observe_many(["red"], [1.0], key="a")
    again = lb.Bandit.from_bytes(bandit.to_bytes())
    again.observe_many(*PAIRS, key="a")
    assert again.pulls == bandit.pulls
    for number in range(6):  # what is remembered has a bound
        bandit.observe_many(["red"], [1.0], key=f"key {number}")
    bandit.observe_many(*PAIRS, key="a")
    assert sum(bandit.pulls.values()) == 3 + 6 + 3
