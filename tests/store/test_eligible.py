"""Pauses, decisions among some arms and observations: in logs, exported, and after a reopening."""

import json

import numpy as np
import pyarrow.parquet as pq
from lives import ARMS, change, new_bandit

import lastblock as lb
from lastblock.engine.events import KINDS, NOTES

NAME = "button"


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
