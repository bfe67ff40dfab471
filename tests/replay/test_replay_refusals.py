"""What a replay refuses: logs, targets and calls, with errors that say what to do."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from colour_logs import CHANGING, COLUMNS, FIRST_ARM, POLICY, new_replay, skewed_log

import lastblock as lb

GOOD = {"arm": ["a", "b", "a"], "reward": [1.0, 0.0, 1.0]}


def good(**changes):
    return {**GOOD, **changes}


def changing(choices):
    return {**CHANGING, "choices": choices}


TWO, THREE = ["a", "b"], ["b", "d"]
LOGS = [
    (GOOD, {"reward": "rewards"}, "no column 'rewards'; did you mean 'reward'. It has: arm, rew"),
    (GOOD, {"arm": "item"}, "no column 'item'; it has: arm, reward"),
    (GOOD, {"time": "when"}, "no column 'when'"),
    (GOOD, {"arm": 3}, "3 is not the name of a column; give a string"),
    ({f"c{i}": [1] for i in range(20)}, {}, "it has: c0, c1, .* c10, c11, …$"),
    ({"arm": [], "reward": []}, {}, "the log has no events"),
    (good(reward=[1.0]), {}, "3 rows of 'arm' and 1 of 'reward'; give columns of one"),
    (good(reward=[1, math.nan, 1]), {}, "'reward', row 1: nan must be finite and below"),
    (good(reward=np.array([1, 2, 1e300])), {}, r"'reward', row 2: 1e\+300 must be finite"),
    (good(reward=[1, "yes", 1]), {}, "'reward', row 1: 'yes' is not a number"),
    (good(reward=np.ones((3, 1))), {}, "'reward' has 2 dimensions; give one value per"),
    (good(arm=["a", "b", None]), {}, "'arm', row 2: None is not an arm; give a string"),
    (good(arm=["a", "b", 1.5]), {}, "'arm', row 2: 1.5 is not an arm"),
    (good(arm=np.array([0, 1, math.nan])), {}, "'arm', row 2: nan is not an arm"),
    (good(arm=pd.array([1, 2, None], "Int64")), {}, "'arm', row 2: .* is not an arm"),
    (good(arm=["a"] * 3), {}, "'arm' holds only arm 'a'; a bandit needs at least 2"),
    (GOOD, {"arms": ["a", "bb"]}, "'arm', row 1: arm 'b' is not one of `arms`; did you mean 'bb'"),
    (GOOD, {"arms": 2}, "'arm', row 0: arm 'a' is not one of `arms`$"),
    (GOOD, {"arms": ["a", "b", "a"]}, r"arms=\['a', 'b', 'a'\] repeats a label"),
    (GOOD, {"arms": "ab"}, "arms='ab' is a str; give a list of labels"),
    (GOOD, {"arms": []}, "a bandit needs at least 2 arms"),
    (good(p=[0.5, 0.0, 0.5]), {"propensity": "p"}, r"'p', row 1: 0.0 must lie in \(0, 1\]"),
    (good(p=[0.5, math.nan, 1]), {"propensity": "p"}, "'p', row 1: nan must lie in"),
    (GOOD, {"propensity": 1.5}, r"propensity=1.5 must lie in \(0, 1\]"),
    (good(t=[1.0, math.nan, 2.0]), {"time": "t"}, "'t', row 1: nan is not a time"),
    (good(t=["2021-01-01", "soon", ""]), {"time": "t"}, "'t', row 1: 'soon' is not a time"),
    (good(t=["2021-01-01", 5, 6]), {"time": "t"}, "'t' mixes times that cannot be compared"),
    (good(t=np.ones(3, complex)), {"time": "t"}, "'t' holds complex128, not times"),
    (np.ones((3, 2)), {}, "log is a ndarray; give a CSV, JSON lines or Parquet file"),
    (5, {}, "log is a int; give a CSV, JSON lines or Parquet file"),
    (([0, 1],), {}, r"log is a tuple of 1; give \(arms, rewards\) or"),
    (([0, 1], [1, 1], [1, 1]), {"propensity": 0.5}, "log is a tuple of 3"),
    ("log.txt", {}, "log='log.txt' is neither .csv nor .jsonl nor .parquet"),
    (CHANGING, {"choices": "choice"}, "has no column 'choice'; did you mean 'choices'"),
    (CHANGING, {"arms": TWO}, "'arm', row 4: arm 'd' is not one of `arms`"),
    ({**CHANGING, "arm": [*"abababab"]}, {"arms": TWO}, "'choices', row 4: arm 'd' is not one of"),
    (changing([["b"]] * 4 + [[*"abd"]] * 4), {}, "row 0: arm 'a' was chosen, but is not among"),
    (changing([TWO] * 3 + ["a"] + [THREE] * 4), {}, "row 3: 'a' is not a list of arms"),
    (changing([TWO] * 4 + [["b", "d", "b"]] * 4), {}, r"row 4: .* names an arm twice"),
    (changing([TWO] * 4 + [["b", "d", 1.5]] * 4), {}, "row 4: 1.5 is not an arm; give strings"),
    (changing(["{}"] * 8), {}, r"row 0: '\{\}' is not a list of arms; give lists of labels, or"),
    (changing([[["a"]]] * 8), {}, r"row 0: \[\['a'\]\] is not a list of arms"),
    (changing([TWO] * 7), {}, "the log has 8 rows of 'arm' and 7 of 'choices'"),
    (changing([None] * 8), {}, "'choices' is empty in all rows"),
]


@pytest.mark.parametrize(("log", "options", "message"), LOGS)
def test_logs(log, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        lb.Replay(log, **options)
    assert "\n" not in str(caught.value)


def parquet(**columns):
    pq.write_table(pa.table(columns), sink := pa.BufferOutputStream())
    return sink.getvalue().to_pybytes()


LINE = b'{"arm": "a", "reward": 1}\n'
FILES = [
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
    ("named.parquet", parquet(arms=["a"], reward=[1.0]), "no column 'arm'; did you mean 'arms'"),
    ("gap.parquet", parquet(arm=["a", None], reward=[1.0, 2.0]), "'arm', row 1: None is not an"),
    ("torn.jsonl", LINE + b'{"arm": "b"', "line 2: "),
    ("list.jsonl", b"[1, 2]\n", "line 1 is not an object; write lines such as"),
    ("gap.jsonl", LINE + b'{"arm": "b"}\n', "'reward', row 1: None is not a number"),
    ("gone.jsonl", LINE + b'{"arm": [], "reward": 1}\n', r"row 1: \[\] is not an arm"),
    ("log.jsonl", None, "^there is no file"),
    ("log.csv", None, r"^there is no file .*; give the path of a log$"),
]


@pytest.mark.parametrize(("name", "data", "message"), FILES)
def test_files(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(FileNotFoundError if data is None else ValueError, match=message) as caught:
        lb.Replay(tmp_path / name)
    assert "\n" not in str(caught.value)


def colours(**changes):
    return new_replay({**COLUMNS, **changes})


def coming():
    return lb.Replay(CHANGING, propensity="p")


def never():
    return lb.Replay(([0, 1, 0, 1], [1.0] * 4), arms=3, propensity=1 / 3)


def uncertain():
    """In a store's log, arms without a floor are logged and among the choices of no event."""
    return lb.Replay({**CHANGING, "arm": [*"abababab"], "choices": [["a"]] * 8}, propensity="p")


def dropping():
    return np.array([[0.5, 0.5, 0.0]] * 5 + [[0.0, 0.5, 0.5]] * 3)


def halves():
    return np.where(COLUMNS["colour"] == "red", 0.5, 0.25)


def both(**options):
    return new_replay().evaluate([POLICY, lb.Thompson()], seed=1, **options)


BADLY = [{"red": 0.5, "blue": 0.4}, {"red": 1.5, "blue": -0.5}]
CALLS = [
    ("replications=0 must be at least 1", lambda: new_replay().evaluate(POLICY, replications=0)),
    ("bootstrap=1 must be 0 or at least 2", lambda: new_replay().evaluate(POLICY, bootstrap=1)),
    ("threads=0 must be at least 1", lambda: new_replay().evaluate(POLICY, threads=0)),
    ("horizon=0 must be at least 1", lambda: new_replay().evaluate(POLICY, horizon=0)),
    (r"only \d+ matches, horizon=599", lambda: new_replay().evaluate(POLICY, horizon=599)),
    ("times must increase", lambda: new_replay().evaluate(POLICY, times=[3, 2])),
    ("is not a policy", lambda: new_replay().evaluate("red")),
    ("is not a policy", lambda: new_replay().evaluate([POLICY, "red"])),
    ("window=2 is too small for 3 arms", lambda: new_replay().evaluate(lb.SWLBSDA(window=2))),
    *(("at least one policy", lambda none=none: new_replay().evaluate(none)) for none in ([], {})),
    ("policy: label='' must be a string", lambda: new_replay().evaluate({"": POLICY})),
    ("baseline='Thomson' is unknown; did", lambda: both(bootstrap=2).differences("Thomson")),
    ("confidence=", lambda: both(bootstrap=2).differences(confidence=1.0)),
    ("evaluate with bootstrap=200, say", lambda: both().differences()),
    *(("confidence=", lambda c=c: both()["LBSDALM"].interval(c)) for c in (0.0, 1.0, math.nan)),
    (
        r"resampled log matched .*: 3 events are too few for 3",
        lambda: lb.Replay(([*"cba"], [1.0, 0, 1])).evaluate(FIRST_ARM, seed=1, bootstrap=100),
    ),
    (
        r"from 0\.25 to 0\.5, not 1/3 = 0\.3333; replay needs uniform logging; use estimate\(\)",
        lambda: colours(chance=halves()).evaluate(POLICY),
    ),
    ("the log is not uniform", lambda: skewed_log(3000).evaluate(POLICY)),
    (r"not 1/3 .* name all 4 arms with", lambda: new_replay(propensity=0.25).evaluate(POLICY)),
    (
        r"arm 0 has 500 of 1000 events, where 333\.3 would be",
        lambda: lb.Replay(([0] * 500 + [1, 2] * 250, [1.0] * 1000)).evaluate(POLICY),
    ),
    ("arm 2 is never logged, so a policy that asks for it", lambda: never().evaluate(POLICY)),
    ("arm 2, which is never logged, so", lambda: never().estimate([0.5, 0.25, 0.25])),
    ("no propensities to reject by", lambda: new_replay(propensity=None).uniform()),
    (
        r"floor=0\.2 must be positive, and at most .* 0\.1",
        lambda: skewed_log(100).uniform(floor=0.2),
    ),
    (r"floor=0\.5 for each of 3 arms adds up to", lambda: new_replay(propensity=0.5).uniform()),
    (
        "no event of 100 is left with floor=1e-09",
        lambda: skewed_log(100).uniform(floor=1e-9, seed=1),
    ),
    (r"'pink' is not one of the arms \['blue', 'green'", lambda: new_replay().estimate("pink")),
    ("probabilities add up to 0.9; make them", lambda: new_replay().estimate(BADLY[0])),
    (r"probabilities must lie in \[0, 1\]", lambda: new_replay().estimate(BADLY[1])),
    ("'red'=nan must be finite", lambda: new_replay().estimate({"red": math.nan})),
    ("'red'='all' must be a number", lambda: new_replay().estimate({"red": "all"})),
    (r"shape \(2,\); give \(3,\) or \(600, 3\)", lambda: new_replay().estimate([1.0, 0.0])),
    (r"target has the shape \(\)", lambda: new_replay().estimate(0.5)),
    ("must be probabilities, not object", lambda: new_replay().estimate(object())),
    ("in row 599 add up to 1.5", lambda: new_replay().estimate([[1, 0, 0]] * 599 + [[0.5] * 3])),
    ("is a policy that learns; use eval", lambda: new_replay().estimate(lb.Thompson())),
    ("give target or logged, not both", lambda: new_replay().estimate("red", logged=[1.0] * 600)),
    (r"logged has the shape \(2,\); give \(600,", lambda: new_replay().estimate(logged=[1.0, 1])),
    ("takes none of the logged arms", lambda: new_replay().estimate(logged=[0.0] * 600)),
    (
        r"no propensities to weight by; .* give propensity=1/3",
        lambda: new_replay(propensity=None).estimate("red"),
    ),
    (r"no event in which all of \['a', 'd'\]", lambda: coming().estimate({"a": 0.5, "d": 0.5})),
    ("row 4 takes arm 'a', which could not be", lambda: coming().estimate(dropping())),
    ("absent='drop' must be 'skip' or", lambda: coming().estimate(dropping(), absent="drop")),
    (r"could be chosen in 4 of 8 .*take one of by_choices\(\)", lambda: coming().uniform()),
    (r"could be chosen in 4 of 8 .* by_choices\(\)", lambda: coming().evaluate(POLICY)),
    ("arm 'b', which is among the choices of no event", lambda: uncertain().estimate("b")),
    (r"arm 'd' has no event from event 0 to 3.*by_choices", lambda: coming().environment(2)),
    ("periods=0 must be at least 1", lambda: new_replay().environment(0)),
    ("periods=601 is more than the 600 events", lambda: new_replay().environment(601)),
    ("must be the first event of each period", lambda: new_replay().environment([1, 5])),
    ("periods: 600 is beyond the 600 events", lambda: new_replay().environment([0, 600])),
]


@pytest.mark.parametrize(("message", "call"), CALLS)
def test_calls(message, call):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
