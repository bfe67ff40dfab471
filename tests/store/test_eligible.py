"""Pauses, decisions among some arms and observations: in logs, exported, and after a reopening."""

import json
import random

import numpy as np
import pyarrow.parquet as pq
import pytest
from lives import ARMS, change, new_bandit

import lastblock as lb
from lastblock.engine.events import KINDS, NOTES

NAME = "button"


def life(bandit):
    """A few events of every new kind."""
    rng = random.Random(5)
    for step in range(60):
        if step == 20:
            bandit.pause_arm("green")
        if step == 40:
            bandit.resume_arm("green")
        if step % 10 == 5:
            bandit.observe(rng.choice(ARMS), rng.random())
        if step % 10 == 7:
            bandit.observe_many(ARMS, [0.0, 0.5, 1.0])
        decision = bandit.ask(without=["red"]) if step % 7 == 3 else bandit.ask()
        if step % 9 != 4:
            bandit.tell(decision, rng.random())
    bandit.ask(2, distinct=True)


@pytest.mark.parametrize("floor", [None, {"red": 0.1, "green": 0.1}])
def test_they_are_replayed(place, floor):
    twin = new_bandit(floor=floor)
    life(twin)
    with lb.Store(place, snapshot_every=50, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME, floor=floor)
        life(bandit)
        assert bandit.to_bytes() == twin.to_bytes()
        assert store.verify(NAME) > 0
    with lb.Store(place) as again:
        bandit = again.bandit(NAME)
        assert bandit.to_bytes() == twin.to_bytes()
        assert bandit.pulls == twin.pulls
        life(bandit)
    life(twin)
    with lb.Store(place) as again:
        assert again.bandit(NAME).to_bytes() == twin.to_bytes()


def test_paused_arms_stay_paused(place):
    with lb.Store(place) as store:
        new_bandit(store.create, name=NAME).pause_arm("green")
        store.snapshot(NAME)
    with lb.Store(place) as again:
        assert again.bandit(NAME).arms["green"] == "paused"
        assert {decision.arm for decision in again.bandit(NAME).ask(20)} == {"red", "blue"}


def test_an_exported_log_says_what_could_be_chosen(place, tmp_path):
    path = tmp_path / "log.parquet"
    with lb.Store(place, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME, floor={"red": 0.1, "green": 0.1})
        expected = {}
        bandit.observe("blue", 1.0)
        for step in range(30):
            if step == 10:
                bandit.pause_arm("green")
            if step == 20:
                bandit.resume_arm("green")
            left_out = ["red"] if step % 3 == 0 else []
            paused = ["green"] if 10 <= step < 20 else []
            decision = bandit.ask(without=left_out)
            bandit.tell(decision, 0.5)
            choices = [arm for arm in ("red", "green") if arm not in left_out + paused]
            expected[decision.id] = (decision.arm, decision.probability, choices)
        assert store.export(NAME, path) == 30
        table = pq.read_table(path).to_pydict()
        columns = [table[name] for name in ("decision", "arm", "probability", "choices")]
        found = {
            id: (arm, chance, json.loads(choices))
            for id, arm, chance, choices in zip(*columns, strict=True)
        }
        assert found == expected
        assert store.export(NAME, path, "events") == 63
        events = pq.read_table(path).to_pydict()
    kinds = events["kind"]
    assert kinds[0] == "observe"
    assert (events["reward"][0], events["arm"][0], events["decision"][0]) == (1.0, "blue", None)
    assert kinds.count("ask_among") == 17
    assert kinds.count("pause_arm") == kinds.count("resume_arm") == 1
    chances = [
        chance
        for kind, chance in zip(kinds, events["probability"], strict=True)
        if kind in ("ask", "ask_among")
    ]
    assert chances == [chance for _, chance, _ in expected.values()]


def test_estimates_from_a_log_with_pauses(tmp_path):
    """Arms are left out of most decisions, and their means are right: 0.2, 0.5 and 0.8."""
    means = dict(zip(ARMS, (0.2, 0.5, 0.8), strict=True))
    rng = np.random.default_rng(1)
    with lb.Store(tmp_path / "shop.db", keep_events=True, durability="never") as store:
        bandit = new_bandit(store.create, name=NAME, policy=lb.LBSDAGM(), floor=0.2)
        for step in range(3000):
            if step == 1000:
                bandit.pause_arm("blue")
            if step == 2500:
                bandit.resume_arm("blue")
            decision = bandit.ask(without=["red"]) if step % 2 else bandit.ask()
            bandit.tell(decision, float(rng.random() < means[decision.arm]))
            bandit.observe("red", 1.0)  # what others decided must not count
        store.export(NAME, tmp_path / "log.parquet")
    replay = lb.Replay(tmp_path / "log.parquet", propensity="probability")
    for arm, mean in means.items():
        found = replay.estimate(arm).ips
        assert abs(found.value - mean) < 4 * found.standard_error
        assert found.standard_error < 0.05


def test_lives_have_all_kinds():
    """Other tests of stores live such lives, with kills in between."""
    bandit, kinds = new_bandit(), []
    bandit.attach(lambda events: kinds.extend(event[0] for event in events))
    for step in range(600):
        change(bandit, step)
    assert set(kinds) == {*KINDS, "observe"} - NOTES - {"skip"}


def test_a_repeated_request_for_different_arms(place):
    """A key and tokens go with decisions among some arms, also after a reopening."""
    with lb.Store(place) as store:
        bandit = new_bandit(store.create, name=NAME)
        page = bandit.ask(2, key="page 1", without=["red"], distinct=True)
        assert {decision.arm for decision in page} == {"green", "blue"}
        assert bandit.ask(2, key="page 1", without=["red"], distinct=True) == page
        assert bandit.asked == 2
        times = [decision.time for decision in page]
    with lb.Store(place) as again:
        bandit = again.bandit(NAME)
        same = bandit.ask(2, key="page 1", without=["red"], distinct=True)
        assert [(d.arm, d.id) for d in same] == [(d.arm, d.id) for d in page]
        assert [decision.time for decision in same] == times
        assert [pending.time for pending in bandit.pending] == times
        bandit.tell(page[0].token, 1.0)
        bandit.tell(page[0].token, 1.0)
        assert bandit.pulls[page[0].arm] == 1
