"""Exported logs: in all formats the same, with what could be chosen at each decision."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from databases import fetch
from lives import NAME, new_bandit

import lastblock as lb
from lastblock.cli.program import main
from lastblock.store.export_formats import iso

FILES = ["log.parquet", "log.csv", "log.jsonl"]


def live(store, arms, name="button", **options):
    """A bandit with floors, an arm that comes and one that goes."""
    bandit = store.create(name, lb.LBSDALM(), arms=arms, seed=7, floor=0.2, **options)
    rng = np.random.default_rng(1)
    for _ in range(40):
        bandit.tell(bandit.ask(), float(rng.random() < 0.3))
    bandit.retire_arm(arms[0])
    for _ in range(40):
        bandit.tell(bandit.ask(), rng.normal())
    bandit.ask(2)
    return bandit


@pytest.mark.parametrize("arms", [["red", "green", "blue"], [1, 2, 3], ["1", "2", "3"]])
def test_all_formats_hold_the_same_log(place, arms, tmp_path):
    with lb.Store(place, keep_events=True) as store:
        live(store, arms)
        for file in FILES:
            assert store.export("button", tmp_path / file) == 80
    one, *others = (lb.Replay(tmp_path / file, propensity="probability") for file in FILES)
    for other in others:
        assert other.arms == one.arms == tuple(sorted(arms))
        for name in ("arms", "rewards", "propensities"):
            np.testing.assert_array_equal(getattr(other._log, name), getattr(one._log, name))
        assert str(other.estimate(arms[1])) == str(one.estimate(arms[1]))
        sets = [set(part.arms) for part in other.by_choices()]
        assert sets == [set(arms), set(arms[1:])]


def test_events_as_lines(place, tmp_path):
    with lb.Store(place, keep_events=True) as store:
        live(store, ["a,b", 'a"b', "ä\nö"])
        assert store.export("button", tmp_path / "log.txt", "events", format="jsonl") == 163
        assert store.export("button", tmp_path / "events.csv", "events") == 163
        store.export("button", tmp_path / "told.ndjson")
    lines = [
        json.loads(line) for line in (tmp_path / "log.txt").read_text("utf-8").split("\n")[:-1]
    ]
    assert [line["event"] for line in lines] == list(range(1, 164))
    assert lines[80]["kind"] == "retire_arm"
    assert lines[80]["arm"] == "a,b"
    assert lines[0]["reward"] is None
    with open(tmp_path / "events.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["arm"] for row in rows] == [line["arm"] for line in lines]
    assert [float(row["reward"]) for row in rows if row["reward"]] == [
        line["reward"] for line in lines if line["reward"] is not None
    ]
    assert all(row["time"].endswith("+00:00") for row in rows)
    first = json.loads((tmp_path / "told.ndjson").read_text("utf-8").split("\n")[0])
    assert first["asked"] == lines[0]["time"] < first["told"]


def test_times_are_exact():
    assert iso(1_600_000_000_000_001) == "2020-09-13T12:26:40.000001+00:00"


def test_an_exported_log_says_what_could_be_chosen(place, tmp_path):
    """Also while floors change, arms are paused, and decisions get no reward."""
    path, everyone = tmp_path / "log.parquet", ["red", "green", "blue"]
    with lb.Store(place, keep_events=True) as store:
        bandit, expected, chances = new_bandit(store.create, name=NAME), {}, []
        bandit.observe("blue", 1.0)
        for floor, choices in (
            (None, everyone),
            (0.1, everyone),
            ({"red": 0.2, "green": 0.2}, ["red", "green"]),
        ):
            bandit.set_floors(floor)
            for step in range(12):
                if step == 4:
                    bandit.pause_arm("green")
                if step == 8:
                    bandit.resume_arm("green")
                left_out = ["red"] if step % 3 == 0 else []
                paused = ["green"] if 4 <= step < 8 else []
                decision = bandit.ask(without=left_out)
                bandit.tell(decision, step / 8)
                could_be = [arm for arm in choices if arm not in left_out + paused]
                expected[decision.id] = decision.arm, decision.probability, step / 8, could_be
                chances.append(decision.probability)
            forgotten, late = bandit.ask(2)
            bandit.forget(forgotten)
            chances += [forgotten.probability, late.probability]
        bandit.set_floors(None)
        bandit.retire_arm("red")
        bandit.add_arm("gold")
        decision = bandit.ask()
        bandit.tell(decision, 0.5)
        expected[decision.id] = decision.arm, None, 0.5, ["green", "blue", "gold"]
        assert store.export(NAME, path) == 37
        table = pq.read_table(path).to_pydict()
        columns = [table[name] for name in ("decision", "arm", "probability", "reward", "choices")]
        assert expected == {
            id: (*facts, json.loads(choices)) for id, *facts, choices in zip(*columns, strict=True)
        }
        assert all(a <= b for a, b in zip(table["asked"], table["told"], strict=True))
        store.export(NAME, path, "events")
    events = pq.read_table(path).to_pylist()
    assert (events[0]["kind"], events[0]["arm"], events[0]["decision"]) == ("observe", "blue", None)
    asked = [each["probability"] for each in events if each["kind"] in ("ask", "ask_among")]
    assert asked == [*chances, None]
    assert [row["event"] for row in events] == list(range(1, len(events) + 1))
    added = "SELECT bandit, arm FROM log WHERE kind = 'add_arm'"
    assert fetch(place, added) == [(NAME, "gold")]
    floors = [each["extra"] for each in events if each["kind"] == "set_floors"]
    assert [extra and json.loads(extra) for extra in floors] == [
        None,
        {"every": 0.1},
        {"arms": [[0, 0.2], [1, 0.2]]},
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
