"""Where logs come from: files, frames and arrays, their labels and times."""

import builtins
import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from colour_logs import COLUMNS, LABELS, POLICY, new_replay

import lastblock as lb


def assert_same(replay, expected):
    assert replay.arms == expected.arms
    assert replay.counts == expected.counts
    assert replay.means == expected.means
    same = [one.matches(POLICY, seed=3).tolist() for one in (replay, expected)]
    assert same[0] == same[1]
    assert repr(replay.estimate("red")) == repr(expected.estimate("red"))


def test_sources(tmp_path):
    expected = new_replay()
    assert expected.arms == LABELS
    assert len(expected) == 600
    assert repr(expected).startswith("<Replay of 600 events: 3 arms, mean reward 0.")
    frame = pd.DataFrame(COLUMNS)
    frame.to_csv(tmp_path / "log.csv")
    frame.to_csv(tmp_path / "log.csv.gz", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    coded = pa.table(COLUMNS)
    coded = coded.set_column(0, "colour", coded["colour"].dictionary_encode())
    pq.write_table(coded, tmp_path / "coded.parquet")
    for source in (
        frame,
        frame.astype({"colour": "category", "click": "Int64"}),
        {name: values.tolist() for name, values in COLUMNS.items()},
        frame.astype({"colour": "U5"}).to_records(index=False),
        tmp_path / "log.csv",
        str(tmp_path / "log.csv.gz"),
        tmp_path / "log.parquet",
        tmp_path / "coded.parquet",
    ):
        assert_same(new_replay(source), expected)
    columns = COLUMNS["colour"], COLUMNS["click"], COLUMNS["chance"]
    assert_same(lb.Replay(columns), expected)
    assert_same(lb.Replay(columns[:2], propensity=1 / 3), expected)


def test_numbers_in_files_are_read_to_the_last_digit(tmp_path):
    rng = np.random.default_rng(5)
    rewards = rng.normal(size=200)
    log = pd.DataFrame({"arm": rng.integers(2, size=200), "reward": rewards})
    log.to_csv(tmp_path / "log.csv", index=False)
    read = lb.Replay(tmp_path / "log.csv").estimate()
    assert read.ips.value == rewards.mean()


def test_labels():
    rewards = [1.0, 0.0, 1.0]
    assert lb.Replay(([3, 1, 3], rewards)).arms == (1, 3)
    assert lb.Replay((np.array([3.0, 1.0, 3.0]), rewards)).arms == (1, 3)
    assert lb.Replay((["b", 2, "NA"], rewards)).arms == (2, "NA", "b")
    assert lb.Replay((np.array([True, False, True]), rewards)).arms == (0, 1)
    assert lb.Replay((["b", "a", "b"], rewards), arms=["b", "c", "a"]).arms == ("b", "c", "a")
    assert lb.Replay(([2, 0, 2], rewards), arms=4).arms == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("written", "arms"),
    [
        (("7", "8", "10"), (7, 8, 10)),
        (("7.0", "8.0", "10.0"), (7, 8, 10)),  # as a data frame with gaps writes them
        (("007", "7", "8"), ("007", "7", "8")),
        (("7", "7.0", "8"), ("7", "7.0", "8")),
        (("1e3", "1000", "8"), ("1000", "1e3", "8")),
        (("-1", "0", "1"), (-1, 0, 1)),
        (("true", "false", "1"), ("1", "false", "true")),
        (("NA", "null"), ("NA", "null")),  # it only looks missing
    ],
)
def test_labels_of_files_are_as_they_are_written(tmp_path, written, arms):
    (tmp_path / "log.csv").write_text("arm,reward\n" + "".join(f"{arm},1\n" for arm in written))
    assert lb.Replay(tmp_path / "log.csv").arms == arms


@pytest.mark.parametrize(
    "times",
    [
        [5, 3, 4],
        [0.5, 0.25, 0.375],
        ["2019-11-24 10:00:00.5+00:00", "2019-11-24 10:00+01:00", "2019-11-24T10:00:00Z"],
        np.array(["2021-03-01", "2021-01-01", "2021-02-01"], "datetime64[D]"),
        [datetime.date(2021, 3, 1), datetime.date(2021, 1, 1), datetime.date(2021, 2, 1)],
        pd.to_datetime(["2021-03-01", "2021-01-01", "2021-02-01"], utc=True),
    ],
    ids=["numbers", "floats", "iso", "numpy", "dates", "pandas"],
)
def test_events_are_read_in_the_order_of_time(tmp_path, times):
    log = {"arm": ["a", "b", "c"], "reward": [1.0, 2.0, 3.0], "when": times}
    replay = lb.Replay(log, time="when")
    found = {tuple(replay.matches(POLICY, seed=seed).tolist()) for seed in range(60)}
    assert (1, 2, 0) in found  # the only order in which all three can match
    # What is given for each row follows its row.
    chances = [0.5, 0.25, 0.125]
    weighted = lb.Replay(log, time="when", propensity=1.0).estimate(logged=chances)
    assert weighted.ips.value == pytest.approx((0.5 + 0.5 + 0.375) / 3)
    pd.DataFrame(log).to_csv(tmp_path / "log.csv")
    read = lb.Replay(tmp_path / "log.csv", time="when")
    assert {tuple(read.matches(POLICY, seed=seed).tolist()) for seed in range(60)} == found


def test_events_of_one_time_keep_their_order():
    log = {"arm": [0, 1, 2] * 40, "reward": [1.0] * 120, "when": [2] * 60 + [1] * 60}
    rows = lb.Replay(log, time="when").matches(POLICY, seed=1).tolist()
    early, late = [row for row in rows if row >= 60], [row for row in rows if row < 60]
    assert early
    assert late
    assert rows == sorted(early) + sorted(late)


def test_arrays_need_no_other_library(monkeypatch, tmp_path):
    def without(name, *args, **kwargs):
        if name.partition(".")[0] in ("pandas", "pyarrow"):
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    imported = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without)
    assert len(new_replay()) == 600
    for name in ("log.csv", "log.parquet"):
        with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'lastblock\[lab\]'"):
            lb.Replay(tmp_path / name)
