"""Logs that cannot be: errors that say what to do."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lastblock as lb

GOOD = {"arm": ["a", "b", "a"], "reward": [1.0, 0.0, 1.0]}


@pytest.mark.parametrize(
    ("log", "arguments", "message"),
    [
        (
            GOOD,
            {"reward": "rewards"},
            "no column 'rewards'; did you mean 'reward'. It has: arm, rew",
        ),
        (GOOD, {"arm": "item"}, "no column 'item'; it has: arm, reward"),
        (GOOD, {"time": "when"}, "no column 'when'"),
        (GOOD, {"arm": 3}, "3 is not the name of a column; give a string"),
        ({"arm": [], "reward": []}, {}, "the log has no events"),
        ({**GOOD, "reward": [1.0]}, {}, "3 rows of 'arm' and 1 of 'reward'; give columns of one"),
        ({**GOOD, "reward": [1, math.nan, 1]}, {}, "'reward', row 1: nan must be finite and below"),
        ({**GOOD, "reward": [1, 2, -math.inf]}, {}, "'reward', row 2: -inf must be finite"),
        (
            {**GOOD, "reward": np.array([1, 2, 1e300])},
            {},
            r"'reward', row 2: 1e\+300 must be finite",
        ),
        ({**GOOD, "reward": [1, "yes", 1]}, {}, "'reward', row 1: 'yes' is not a number"),
        ({**GOOD, "reward": [1, None, 1]}, {}, "'reward', row 1: None is not a number"),
        ({**GOOD, "reward": np.ones((3, 1))}, {}, "'reward' has 2 dimensions; give one value per"),
        ({**GOOD, "arm": ["a", "b", None]}, {}, "'arm', row 2: None is not an arm; give a string"),
        ({**GOOD, "arm": ["a", "b", 1.5]}, {}, "'arm', row 2: 1.5 is not an arm"),
        ({**GOOD, "arm": np.array([0, 1, math.nan])}, {}, "'arm', row 2: nan is not an arm"),
        ({**GOOD, "arm": pd.array([1, 2, None], "Int64")}, {}, "'arm', row 2: .* is not an arm"),
        (
            {**GOOD, "arm": ["a", "a", "a"]},
            {},
            "'arm' holds only arm 'a'; a bandit needs at least 2",
        ),
        (
            GOOD,
            {"arms": ["a", "bb"]},
            "'arm', row 1: arm 'b' is not one of `arms`; did you mean 'bb'",
        ),
        (GOOD, {"arms": 2}, "'arm', row 0: arm 'a' is not one of `arms`$"),
        (GOOD, {"arms": ["a", "b", "a"]}, r"arms=\['a', 'b', 'a'\] repeats a label"),
        (GOOD, {"arms": "ab"}, "arms='ab' is a str; give a list of labels"),
        (GOOD, {"arms": ["a", None]}, "arms: label None must be a string or a whole number"),
        (GOOD, {"arms": []}, "a bandit needs at least 2 arms"),
        (
            {**GOOD, "p": [0.5, 0.0, 0.5]},
            {"propensity": "p"},
            r"'p', row 1: 0.0 must lie in \(0, 1\]",
        ),
        (
            {**GOOD, "p": [0.5, 0.5, 1.1]},
            {"propensity": "p"},
            r"'p', row 2: 1.1 must lie in \(0, 1\]",
        ),
        ({**GOOD, "p": [0.5, math.nan, 1]}, {"propensity": "p"}, "'p', row 1: nan must lie in"),
        (GOOD, {"propensity": 0.0}, r"propensity=0.0 must lie in \(0, 1\]"),
        (GOOD, {"propensity": 1.5}, r"propensity=1.5 must lie in \(0, 1\]"),
        ({**GOOD, "t": [1.0, math.nan, 2.0]}, {"time": "t"}, "'t', row 1: nan is not a time"),
        (
            {**GOOD, "t": ["2021-01-01", "soon", ""]},
            {"time": "t"},
            "'t', row 1: 'soon' is not a time",
        ),
        (
            {**GOOD, "t": [1, None, 2]},
            {"time": "t"},
            "'t', row 1: None is not a time; give numbers",
        ),
        (
            {**GOOD, "t": ["2021-01-01", 5, 6]},
            {"time": "t"},
            "'t' mixes times that cannot be compared",
        ),
        ({**GOOD, "t": np.ones(3, complex)}, {"time": "t"}, "'t' holds complex128, not times"),
        (np.ones((3, 2)), {}, "log is a ndarray; give a CSV, JSON lines or Parquet file"),
        (5, {}, "log is a int; give a CSV, JSON lines or Parquet file"),
        (([0, 1],), {}, r"log is a tuple of 1; give \(arms, rewards\) or"),
        (([0, 1], [1, 1], [1, 1]), {"propensity": 0.5}, "log is a tuple of 3"),
        ("log.txt", {}, "log='log.txt' is neither .csv nor .jsonl nor .parquet"),
    ],
)
def test_impossible_logs(log, arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        lb.Replay(log, **arguments)
    assert "\n" not in str(caught.value)


def test_long_lists_of_columns_are_cut_short():
    with pytest.raises(
        ValueError, match=r"it has: c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, …$"
    ):
        lb.Replay({f"c{i}": [1] for i in range(20)})


def test_files_that_cannot_be_read(tmp_path):
    for name in ("log.csv", "log.parquet"):
        with pytest.raises(
            FileNotFoundError, match=r"^there is no file .*; give the path of a log$"
        ):
            lb.Replay(tmp_path / name)
    for name, data, message in [
        ("empty.csv", b"", "empty.csv' cannot be read as CSV: Empty CSV file"),
        ("torn.csv", b"arm,reward\na,1\nb\n", "torn.csv' cannot be read as CSV: .*Expected 2 col"),
        ("bare.csv", b"arm,reward\n", "the log has no events"),
        ("twice.csv", b"arm,reward,arm\na,1,b\n", "the log has 2 columns 'arm'; rename one"),
        ("other.csv", b"arm,reward\n\xff\xfe,1\n", "cannot be read as CSV: .*invalid UTF8"),
        ("torn.parquet", b"PAR1", "torn.parquet' cannot be read as Parquet: "),
        ("gap.csv", b"arm,reward\na,1\nb,\n", "'reward', row 1: nan must be finite"),
        ("gone.csv", b"arm,reward\na,1\n,1\n", "'arm', row 1: None is not an arm"),
        ("dates.csv", b"arm,reward\n2021-01-01,1\n", "holds only arm '2021-01-01'"),
        ("named.csv", b"arms,reward\na,1\n", "no column 'arm'; did you mean 'arms'"),
    ]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=message) as caught:
            lb.Replay(tmp_path / name)
        assert "\n" not in str(caught.value)
    pq.write_table(pa.table({"arms": ["a"], "reward": [1.0]}), tmp_path / "named.parquet")
    with pytest.raises(ValueError, match="no column 'arm'; did you mean 'arms'"):
        lb.Replay(tmp_path / "named.parquet")
    pq.write_table(pa.table({"arm": ["a", None], "reward": [1.0, 2.0]}), tmp_path / "gap.parquet")
    with pytest.raises(ValueError, match="'arm', row 1: None is not an arm"):
        lb.Replay(tmp_path / "gap.parquet")
