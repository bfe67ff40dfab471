"""Traffic floors that change: in logs, exported, and after a reopening."""

import json
import random

import pyarrow.parquet as pq
import pytest
from lives import new_bandit

import lastblock as lb
from lastblock.cli.program import main

NAME = "button"


def life(bandit):
    rng = random.Random(5)
    floors = {10: 0.1, 20: {"red": 0.3, "blue": 0.1}, 30: None, 40: {"green": 0.2}}
    for step in range(60):
        if step in floors:
            bandit.set_floors(floors[step])
        if step == 25:
            bandit.pause_arm("green")
        if step == 35:
            bandit.resume_arm("green")
        decision = bandit.ask()
        if step % 9 != 4:
            bandit.tell(decision, rng.random())


def test_they_are_replayed(place):
    twin = new_bandit()
    life(twin)
    with lb.Store(place, snapshot_every=50, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        life(bandit)
        assert bandit.to_bytes() == twin.to_bytes()
        assert store.verify(NAME) > 0
    with lb.Store(place) as again:
        bandit = again.bandit(NAME)
        assert bandit.to_bytes() == twin.to_bytes()
        assert bandit.floor == {"green": 0.2}
        life(bandit)
        life(twin)
        assert bandit.to_bytes() == twin.to_bytes()


def test_an_exported_log_says_what_could_be_chosen(place, tmp_path):
    path = tmp_path / "log.parquet"
    with lb.Store(place, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        expected = {}
        for floor, choices in [
            (None, ["red", "green", "blue"]),
            (0.1, ["red", "green", "blue"]),
            ({"red": 0.2, "blue": 0.2}, ["red", "blue"]),
            (None, ["red", "green", "blue"]),
        ]:
            bandit.set_floors(floor)
            for _ in range(5):
                decision = bandit.ask()
                bandit.tell(decision, 0.5)
                expected[decision.id] = decision.probability, choices
        store.export(NAME, path)
        table = pq.read_table(path).to_pydict()
        columns = (table[name] for name in ("decision", "probability", "choices"))
        found = {
            id: (chance, json.loads(choices)) for id, chance, choices in zip(*columns, strict=True)
        }
        assert found == expected
        store.export(NAME, path, "events")
        events = pq.read_table(path).to_pydict()
    extras = [
        extra
        for kind, extra in zip(events["kind"], events["extra"], strict=True)
        if kind == "set_floors"
    ]
    assert [None if extra is None else json.loads(extra) for extra in extras] == [
        None,
        {"every": 0.1},
        {"arms": [[0, 0.2], [2, 0.2]]},
        None,
    ]


def test_wrong_floors_are_not_logged(tmp_path):
    with lb.Store(tmp_path / "shop.db") as store:
        bandit = new_bandit(store.create, name=NAME)
        bandit.set_floors({"red": 0.1})
        before = bandit.to_bytes()
        with pytest.raises(ValueError, match="add up to"):
            bandit.set_floors(0.9)
        assert bandit.to_bytes() == before
        bandit.add_arm("gold")
        assert bandit.floor == {"red": 0.1}


def test_only_decisions_with_a_probability_are_evaluated(tmp_path, capsys):
    """The floors came later: what was decided before is left out."""
    path = tmp_path / "shop.db"
    with lb.Store(path, keep_events=True, durability="never") as store:
        bandit = new_bandit(store.create, name=NAME, policy=lb.LBSDAGM())
        for step in range(300):
            if step == 100:
                bandit.set_floors(0.2)
            decision = bandit.ask()
            bandit.tell(decision, float(decision.arm == "red"))
    assert main(["store", "evaluate", str(path), NAME, "--policy", "UCB1"]) == 0
    assert "200 decisions" in capsys.readouterr().out
