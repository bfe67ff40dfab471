"""Logs are exported as Parquet, CSV and JSON lines, and read again as the same."""

import csv
import json

import numpy as np
import pytest

import lastblock as lb
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


def test_a_format_that_is_not_known(tmp_path):
    with lb.Store(tmp_path / "shop.db", keep_events=True) as store:
        store.create("button", lb.LBSDALM(), arms=3, seed=7)
        told = r"log.xls' does not say in which format to write; end it in .parquet, .pq, .csv"
        with pytest.raises(ValueError, match=told):
            store.export("button", tmp_path / "log.xls")
        with pytest.raises(ValueError, match="format='xls' must be one of parquet, csv, jsonl"):
            store.export("button", tmp_path / "log.csv", format="xls")
        with pytest.raises(ValueError, match="what='all' must be 'decisions' or 'events'"):
            store.export("button", tmp_path / "log.csv", "all")
    assert not list(tmp_path.glob("log*"))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"arm": "a", "reward": 1}\n{"arm": "b"', "line 2: "),
        (b"[1, 2]\n", r"line 1 is not an object; write lines such as"),
        (b"\xff\xfe\n", "line 1: "),
        (b"\n\n", "the log has no events"),
        (b'{"arm": "a", "rewrd": 1}\n', "no column 'reward'; did you mean 'rewrd'"),
        (b'{"arm": "a", "reward": 1}\n{"arm": "b"}\n', "'reward', row 1: None is not a number"),
        (b'{"arm": "a", "reward": 1}\n{"arm": [], "reward": 1}\n', r"row 1: \[\] is not an arm"),
    ],
)
def test_lines_that_are_not_a_log(data, told, tmp_path):
    (tmp_path / "log.jsonl").write_bytes(data)
    with pytest.raises(ValueError, match=told):
        lb.Replay(tmp_path / "log.jsonl")


def test_a_file_of_lines_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        lb.Replay(tmp_path / "log.jsonl")
