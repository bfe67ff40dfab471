"""Logs from files and arrays, replay on them, weighted estimates, errors that say what to do."""

import builtins
import datetime
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lastblock as lb
from lastblock.support.intervals import normal_interval

POLICY = lb.LBSDALM()
FIRST_ARM = lb.BestArm((0,), (0,))
LABELS = ("blue", "green", "red")
MEANS = np.array([0.2, 0.5, 0.8])


def make_columns(events=600, seed=1):
    """A uniform log."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(3, size=events)
    return {
        "colour": np.array(LABELS)[arms],
        "click": (rng.random(events) < MEANS[arms]).astype(np.int64),
        "chance": np.full(events, 1 / 3),
        "when": np.arange(events) + 10,
    }


COLUMNS = make_columns()
NAMES = {"arm": "colour", "reward": "click", "propensity": "chance", "time": "when"}


def new_replay(columns=COLUMNS, **changes):
    return lb.Replay(columns, **{**NAMES, **changes})


def assert_same(replay, expected):
    assert replay.arms == expected.arms
    assert replay.counts == expected.counts
    assert replay.means == expected.means
    same = [one.matches(POLICY, seed=3).tolist() for one in (replay, expected)]
    assert same[0] == same[1]
    assert repr(replay.estimate("red")) == repr(expected.estimate("red"))


# Where logs come from.


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
    ],
)
def test_labels_of_files_are_as_they_are_written(tmp_path, written, arms):
    (tmp_path / "log.csv").write_text("arm,reward\n" + "".join(f"{arm},1\n" for arm in written))
    assert lb.Replay(tmp_path / "log.csv").arms == arms


def test_text_that_looks_missing_is_a_label(tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward\nNA,1\nnull,0\n")
    assert lb.Replay(tmp_path / "log.csv").arms == ("NA", "null")


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
def test_events_are_read_in_the_order_of_time(times):
    log = {"arm": ["a", "b", "c"], "reward": [1.0, 2.0, 3.0], "when": times}
    replay = lb.Replay(log, time="when")
    found = {tuple(replay.matches(POLICY, seed=seed).tolist()) for seed in range(60)}
    assert (1, 2, 0) in found  # the only order in which all three can match
    # What is given for each row follows its row.
    chances = [0.5, 0.25, 0.125]
    weighted = lb.Replay(log, time="when", propensity=1.0).estimate(logged=chances)
    assert weighted.ips.value == pytest.approx((0.5 + 0.5 + 0.375) / 3)


def test_times_of_files(tmp_path):
    text = "arm,reward,when\na,1,2021-03-01 10:00:00+00:00\nb,2,2021-01-01 09:00:00.5+00:00\n"
    (tmp_path / "log.csv").write_text(text + "c,3,2021-02-01 08:00:00+00:00\n")
    replay = lb.Replay(tmp_path / "log.csv", time="when")
    assert any(replay.matches(POLICY, seed=seed).tolist() == [1, 2, 0] for seed in range(60))


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


# Replaying.


def test_same_seed_same_bits():
    replay = new_replay()
    runs = [
        replay.evaluate(POLICY, seed=5, replications=7, bootstrap=9, threads=threads)
        for threads in (1, 2, 3)
    ]
    for run in runs[1:]:
        for name in ("matched", "reward", "pulls", "errors", "resampled"):
            np.testing.assert_array_equal(getattr(run, name), getattr(runs[0], name))
    first = replay.evaluate(POLICY, seed=5)
    np.testing.assert_array_equal(first.reward, runs[0].reward[:1])
    assert first.resampled.size == 0
    assert len({tuple(row) for row in runs[0].pulls.tolist()}) > 1


def test_evaluation():
    replay = new_replay()
    done = replay.evaluate(POLICY, seed=5, replications=4, times=[100, 200])
    assert done.policy == POLICY
    assert done.arms == LABELS
    assert done.events == 600
    assert done.replications == 4
    assert done.times.tolist() == [100, 200, 600]
    assert done.matched[:, -1].tolist() == done.pulls.sum(axis=1).tolist()
    assert done.estimate == done.estimates.mean()
    assert done.standard_error == pytest.approx(math.sqrt((done.errors**2).mean()))
    assert done.seed_error == pytest.approx(done.estimates.std(ddof=1) / 2)
    low, high = done.interval()
    assert low == pytest.approx(done.estimate - 1.959964 * done.standard_error)
    assert high == pytest.approx(done.estimate + 1.959964 * done.standard_error)
    assert done.interval(0.5)[1] < high
    assert done.curve()[-1] == pytest.approx(done.reward[:, -1].sum() / done.matched[:, -1].sum())
    assert done.best_mean == max(replay.means.values())
    expected = (done.best_mean * done.matched - done.reward).mean(axis=0)
    np.testing.assert_allclose(done.regret(), expected)
    assert "given the arms that were pulled" in done.covers
    assert repr(done).startswith(f"<Evaluation of {POLICY}: 0.")
    assert "of 600 events matched, 4 × replayed>" in repr(done)
    assert math.isnan(replay.evaluate(POLICY, seed=5).seed_error)

    sure = replay.evaluate(POLICY, seed=5, replications=4, bootstrap=50)
    assert sure.estimate == done.estimate
    assert sure.standard_error == pytest.approx(sure.resampled.std(ddof=1))
    assert sure.interval(0.9) == tuple(np.quantile(sure.resampled, [0.05, 0.95]))
    assert "another log like this one" in sure.covers


def test_policies_meet_the_same_resampled_logs():
    """Rewards that tell which events were drawn, arms that do not."""
    rewards = np.arange(600.0)
    replay = lb.Replay((COLUMNS["colour"], np.round(rewards / 600)))  # 0 in the first half, then 1
    one, other = (
        replay.evaluate(policy, seed=5, bootstrap=200) for policy in (POLICY, lb.Thompson())
    )
    assert not np.array_equal(one.resampled, other.resampled)
    assert np.corrcoef(one.resampled, other.resampled)[0, 1] > 4 / math.sqrt(200)
    apart = replay.evaluate(lb.Thompson(), seed=6, bootstrap=200)
    assert abs(np.corrcoef(one.resampled, apart.resampled)[0, 1]) < 4 / math.sqrt(200)


def test_horizon_ends_a_pass():
    replay = new_replay()
    done = replay.evaluate(POLICY, seed=5, horizon=50, replications=3)
    assert done.matched[:, -1].tolist() == [50] * 3
    rows = replay.matches(POLICY, seed=5)
    assert replay.matches(POLICY, seed=5, horizon=50).tolist() == rows[:50].tolist()
    assert done.reward[0, -1] == COLUMNS["click"][rows[:50]].sum()
    before = done.times <= rows[49]
    assert (done.matched[0, before] < 50).all()
    assert (done.matched[0, ~before] == 50).all()


def test_a_curve_before_the_first_match():
    log = {"arm": [1, 2] * 5 + [0, 1, 2] * 5, "reward": [2.0] * 25}
    done = lb.Replay(log).evaluate(FIRST_ARM, seed=1, times=[10, 11])
    assert np.isnan(done.curve()[0])
    assert done.curve()[1:].tolist() == [2.0, 2.0]
    assert done.matched.tolist() == [[0, 1, 5]]


def test_a_policy_that_keeps_every_reward_grows():
    """A resampled log may have more events of an arm than the log, and the record room for."""
    arms = [0] * 63 + [1] * 63 + [2] * 63  # a history of 64 slots holds 63 rewards
    rewards = [1.0] * 63 + [0.0] * 126
    done = lb.Replay((arms, rewards)).evaluate(lb.LBSDA(), seed=1, bootstrap=40)
    assert done.resampled.size == 40
    assert done.pulls.max() <= 63
    alone = [lb.Replay((arms, rewards)).evaluate(lb.LBSDA(), seed=1, bootstrap=n) for n in (2, 12)]
    for short in alone:
        assert short.resampled.tolist() == done.resampled[: short.resampled.size].tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replications": 0}, "replications=0 must be at least 1"),
        ({"bootstrap": 1}, "bootstrap=1 must be 0 or at least 2"),
        ({"bootstrap": -2}, "bootstrap=-2 must be 0 or at least 2"),
        ({"threads": 0}, "threads=0 must be at least 1"),
        ({"horizon": 0}, "horizon=0 must be at least 1"),
        ({"horizon": 599}, r"only \d+ matches, horizon=599 asks for more"),
        ({"horizon": 601}, r"only \d+ matches, horizon=601 asks for more"),
        ({"times": [3, 2]}, "times must increase"),
        ({"seed": -1}, "seed=-1 cannot seed"),
        ({"replications": 1.5}, "replications=1.5 must be a whole number"),
    ],
)
def test_impossible_evaluations(arguments, message):
    with pytest.raises(ValueError, match=message):
        new_replay().evaluate(POLICY, **{"seed": 1, **arguments})


def test_other_impossible_evaluations():
    replay = new_replay()
    for call in (replay.evaluate, replay.matches):
        with pytest.raises(ValueError, match="is not a policy"):
            call("red")
    with pytest.raises(ValueError, match="window=2 is too small for 3 arms"):
        replay.evaluate(lb.SWLBSDA(window=2))
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="confidence="):
            replay.evaluate(POLICY, seed=1).interval(confidence)


def test_no_match():
    short = lb.Replay((["c", "b", "a"], [1.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match=r"resampled log matched .*: 3 events are too few for 3"):
        short.evaluate(FIRST_ARM, seed=1, bootstrap=100)
    assert short.matches(FIRST_ARM, seed=1).tolist() == [2]
    single = short.evaluate(FIRST_ARM, seed=1)
    assert single.estimate == 1.0
    assert math.isnan(single.standard_error)


# Logs that are not uniform.


def test_propensities_must_be_uniform():
    skewed = {**COLUMNS, "chance": np.where(COLUMNS["colour"] == "red", 0.5, 0.25)}
    message = (
        r"propensities go from 0\.25 to 0\.5, not 1/3 = 0\.3333; replay needs uniform logging; "
    )
    with pytest.raises(ValueError, match=message + r"use estimate\(\)"):
        new_replay(skewed).evaluate(POLICY)
    with pytest.raises(ValueError, match="the log is not uniform"):
        new_replay(skewed).matches(POLICY)
    with pytest.raises(ValueError, match=r"from 0\.25 to 0\.25, not 1/3 .* name all 4 arms with"):
        new_replay(propensity=0.25).evaluate(POLICY)
    rounded = new_replay({**COLUMNS, "chance": np.full(600, 0.3333)})
    assert (
        rounded.evaluate(POLICY, seed=1).estimate == new_replay().evaluate(POLICY, seed=1).estimate
    )


def test_counts_that_chance_does_not_give():
    arms = [0] * 500 + [1] * 250 + [2] * 250
    with pytest.raises(ValueError, match=r"arm 0 has 500 of 1000 events, where 333\.3 would be"):
        lb.Replay((arms, [1.0] * 1000)).evaluate(POLICY)
    slightly = [0] * 345 + [1] * 328 + [2] * 327
    assert lb.Replay((slightly, [1.0] * 1000)).evaluate(POLICY, seed=1).estimate == 1.0


def test_an_arm_that_is_never_logged():
    replay = lb.Replay(([0, 1, 0, 1], [1.0] * 4), arms=3, propensity=1 / 3)
    with pytest.raises(
        ValueError, match="arm 2 is never logged, so a policy that asks for it would"
    ):
        replay.evaluate(POLICY)
    with pytest.raises(ValueError, match="takes arm 2, which is never logged, so nothing is known"):
        replay.estimate([0.5, 0.25, 0.25])
    assert replay.counts == {0: 2, 1: 2, 2: 0}
    assert math.isnan(replay.means[2])


def skewed_log(events, seed):
    """A logging policy that changes its mind, with a floor of 0.1."""
    rng = np.random.default_rng(seed)
    chances = np.array([[0.1, 0.3, 0.6], [0.4, 0.5, 0.1]])[np.arange(events) // 100 % 2]
    arms = (rng.random(events)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    rewards = (rng.random(events) < MEANS[arms]).astype(float)
    return lb.Replay((arms, rewards, chances[np.arange(events), arms]))


def test_rejection_makes_a_log_uniform():
    replay = skewed_log(30_000, seed=7)
    with pytest.raises(ValueError, match="the log is not uniform"):
        replay.evaluate(POLICY)
    kept = replay.uniform(seed=1)
    assert len(kept) == pytest.approx(9000, abs=4 * math.sqrt(30_000 * 0.3 * 0.7))
    for count in kept.counts.values():
        assert count == pytest.approx(3000, abs=4 * math.sqrt(30_000 * 0.1 * 0.9))
    assert kept.evaluate(POLICY, seed=1).estimate > 0.75
    assert replay.uniform(seed=1).counts == kept.counts
    assert replay.uniform(seed=2).counts != kept.counts
    assert len(replay.uniform(floor=0.05, seed=1)) < 0.6 * len(kept)
    rows = kept.matches(POLICY, seed=1)
    assert rows.max() > len(kept)  # rows of the log that was given
    uniform = new_replay()
    assert uniform.uniform(seed=1).counts == uniform.counts


def test_impossible_rejections():
    with pytest.raises(ValueError, match="no propensities to reject by"):
        new_replay(propensity=None).uniform()
    with pytest.raises(ValueError, match=r"floor=0\.2 must be positive, and at most .* 0\.1"):
        skewed_log(100, seed=1).uniform(floor=0.2)
    with pytest.raises(ValueError, match=r"floor=0\.0 must be positive"):
        skewed_log(100, seed=1).uniform(floor=0.0)
    with pytest.raises(ValueError, match=r"floor=0\.5 for each of 3 arms adds up to more than 1"):
        new_replay(propensity=0.5).uniform()
    with pytest.raises(ValueError, match="no event of 100 is left with floor=1e-09; use estimate"):
        skewed_log(100, seed=1).uniform(floor=1e-9, seed=1)


# Weighted estimates.


def test_weighted_estimates_by_hand():
    replay = lb.Replay((["a", "b", "b", "a"], [1.0, 0.0, 2.0, 3.0], [0.5, 0.25, 0.75, 0.8]))
    found = replay.estimate({"a": 0.4, "b": 0.6})
    weights = [0.8, 2.4, 0.8, 0.5]
    worth = [0.8, 0.0, 1.6, 1.5]
    assert found.ips.value == pytest.approx(3.9 / 4)
    assert found.ips.standard_error == pytest.approx(
        math.sqrt(sum((w - 0.975) ** 2 for w in worth) / 3 / 4)
    )
    mean = 3.9 / 4.5
    residuals = [0.8 * (1 - mean), 2.4 * (0 - mean), 0.8 * (2 - mean), 0.5 * (3 - mean)]
    assert found.snips.value == pytest.approx(mean)
    assert found.snips.standard_error == pytest.approx(
        math.sqrt(sum(r * r for r in residuals)) / 4.5
    )
    assert found.effective == pytest.approx(4.5**2 / sum(w * w for w in weights))
    assert found.largest_weight == pytest.approx(2.4)
    assert found.events == 4
    low, high = found.ips.interval(0.5)
    assert 0.0 < low < found.ips.value < high < 1.6
    low, high = found.snips.interval(0.5)
    assert 0.0 < low < found.snips.value < high < 3.0
    assert repr(found).startswith("<Estimate: IPS 0.975 ± 0.37, SNIPS 0.8667 ± ")
    assert repr(found).endswith("4 events worth 2.8>")


def coverage(seed, draw, truth, logs=400):
    """How often IPS, SNIPS and the normal interval of IPS hold the truth."""
    rng, held = np.random.default_rng(seed), np.zeros(3)
    for _ in range(logs):
        arms, rewards, chances = draw(rng)
        found = lb.Replay((arms, rewards, chances), arms=["a", "b"]).estimate("a")
        normal = normal_interval(found.ips.value, found.ips.standard_error, 0.95)
        for i, (low, high) in enumerate((found.ips.interval(), found.snips.interval(), normal)):
            held[i] += low <= truth <= high
    return held / logs


def rare_clicks(rng):
    """500 events of which some 50 count, with 10 % clicks."""
    arms = np.where(rng.random(500) < 0.1, "a", "b")
    return arms, rng.random(500) < 0.1, np.where(arms == "a", 0.1, 0.9)


def heavy_tails(rng):
    """Lognormal rewards, some 40 events that count."""
    arms = np.where(rng.random(400) < 0.1, "a", "b")
    return arms, np.exp(rng.normal(-0.5, 1.0, 400)), np.where(arms == "a", 0.1, 0.9)


def unlike_weights(rng):
    """300 events, weights from 2 to 50, worth some 18 events."""
    chance = rng.choice([0.02, 0.1, 0.5], 300, p=[0.3, 0.4, 0.3])
    shown = rng.random(300) < chance
    return np.where(shown, "a", "b"), rng.random(300) < 0.3, np.where(shown, chance, 1.0 - chance)


@pytest.mark.slow  # many logs
@pytest.mark.parametrize(
    ("draw", "truth", "ips", "snips", "normal"),
    [
        (rare_clicks, 0.1, 0.943, 0.946, 0.861),
        (heavy_tails, 1.0, 0.929, 0.911, 0.905),
        (unlike_weights, 0.3, 0.892, 0.918, 0.801),
    ],
)
def test_intervals_hold_the_truth_as_often_as_the_page_says(draw, truth, ips, snips, normal):
    """docs/how-to/replay-a-log.md has these shares of 95 % intervals, from 4000 logs each."""
    found = coverage(1, draw, truth)
    for share, said in zip(found, (ips, snips, normal), strict=True):
        error = math.sqrt(said * (1.0 - said) * (1 / 400 + 1 / 4000))
        assert abs(share - said) < 3 * error
    assert found[0] > found[2]


def test_no_reward_at_all_and_very_many_events():
    replay = lb.Replay((["a", "b"] * 20, np.zeros(40)), propensity=0.5)
    assert replay.estimate("a").ips.interval() == (0.0, 0.0)
    rng = np.random.default_rng(1)
    replay = lb.Replay((rng.choice(["a", "b"], 40_000), rng.random(40_000)), propensity=0.5)
    found = replay.estimate("a").ips
    assert found.interval() == normal_interval(found.value, found.standard_error, 0.95)
    assert found.events is None


def test_ways_to_name_a_target():
    replay = lb.Replay((["a", "b", "b", "a"], [1.0, 0.0, 2.0, 3.0], [0.5, 0.25, 0.75, 0.8]))
    always = repr(replay.estimate("b"))
    assert replay.estimate("b").ips.value == pytest.approx(2 / 0.75 / 4)
    assert replay.estimate("b").snips.value == pytest.approx((2 / 0.75) / (4 + 1 / 0.75))
    for target in ({"b": 1.0}, [0.0, 1.0], np.array([[0, 1]] * 4)):
        assert repr(replay.estimate(target)) == always
    assert repr(replay.estimate(logged=[0, 1, 1, 0])) == always
    own = replay.estimate()
    assert own.ips.value == own.snips.value == 1.5
    assert own.effective == 4.0
    assert lb.Replay((["a", "b"], [1.0, 0.0])).estimate().ips.value == 0.5  # no weights needed
    assert lb.Replay(([7, 8], [1.0, 0.0], [0.5, 0.5])).estimate(np.int64(7)).snips.value == 1.0
    one = lb.Replay((["a"], [1.0], [0.5]), arms=["a", "b"]).estimate("a")
    assert one.ips.value == 2.0
    assert math.isnan(one.ips.standard_error)
    assert math.isnan(one.snips.standard_error)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("pink", r"target: 'pink' is not one of the arms \['blue', 'green', 'red'\]"),
        ({"pink": 1.0}, "target: 'pink' is not one of the arms"),
        ({"red": 0.5}, "target: the probabilities add up to 0.5; make them add up to 1"),
        ({"red": 1.5, "blue": -0.5}, r"target: probabilities must lie in \[0, 1\]"),
        ({"red": math.nan}, "target: 'red'=nan must be finite"),
        ({"red": "all"}, "target: 'red'='all' must be a number"),
        ([1.0, 0.0], r"target has the shape \(2,\); give \(3,\) or \(600, 3\)"),
        ([0.5, math.nan, 0.5], r"target: probabilities must lie in \[0, 1\]"),
        (0.5, r"target has the shape \(\)"),
        (object(), "target must be probabilities, not object"),
        ([[0.5, 0.5, 0.0]] * 599 + [[0.5, 0.5, 0.5]], "probabilities in row 599 add up to 1.5;"),
    ],
)
def test_impossible_targets(target, message):
    with pytest.raises(ValueError, match=message):
        new_replay().estimate(target)


def test_other_impossible_targets():
    replay = new_replay()
    with pytest.raises(ValueError, match="give target or logged, not both"):
        replay.estimate("red", logged=[1.0] * 600)
    with pytest.raises(ValueError, match=r"logged has the shape \(2,\); give \(600,\)"):
        replay.estimate(logged=[1.0, 1.0])
    with pytest.raises(ValueError, match="the target takes none of the logged arms"):
        replay.estimate(logged=[0.0] * 600)
    with pytest.raises(ValueError, match=r"no propensities to weight by; .* give propensity=1/3"):
        new_replay(propensity=None).estimate("red")


# Logs that cannot be.

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
