"""Traffic floors that change: in logs, exported, and after a reopening."""

import json

import pyarrow.parquet as pq
from lives import new_bandit

import lastblock as lb
from lastblock.cli.program import main

NAME = "button"


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
