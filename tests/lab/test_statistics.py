"""Intervals, differences and delays, against scipy.stats and by hand."""

import numpy as np
import pytest
from scipy import stats

from lastblock.lab import intervals
from lastblock.lab.statistics import differences, summary
from made_results import made_result


@pytest.fixture(scope="module")
def regrets():
    """Three policies on common draws: correlated, skewed, of different variances."""
    rng = np.random.default_rng(0)
    luck = rng.gamma(2.0, 5.0, size=200)
    return {
        "a": 50 + luck + rng.normal(0, 1, 200),
        "b": 53 + luck + rng.normal(0, 2, 200),
        "c": 50.2 + luck + rng.gamma(1.0, 4.0, 200) - 4.0,
    }


@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_summary_has_students_interval(regrets, confidence):
    frame = made_result(regrets).summary(confidence)
    assert list(frame.columns) == ["policy", "mean", "se", "low", "high", "q25", "q75"]
    assert list(frame["policy"]) == ["a", "b", "c"]
    for row in frame.itertuples():
        x = regrets[row.policy]
        low, high = stats.t.interval(confidence, x.size - 1, x.mean(), stats.sem(x))
        expected = x.mean(), stats.sem(x), low, high, *np.quantile(x, [0.25, 0.75])
        assert row[2:] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_paired_differences_are_the_paired_t_test(regrets, confidence):
    frame = made_result(regrets).differences("a", confidence).set_index("policy")
    assert list(frame.index) == ["b", "c"]
    raw = {label: stats.ttest_rel(regrets[label], regrets["a"]) for label in "bc"}
    for label, row in frame.iterrows():
        a, b = regrets[label], regrets["a"]
        assert row["difference"] == pytest.approx(a.mean() - b.mean())
        bounds = raw[label].confidence_interval(confidence)
        assert (row["low"], row["high"]) == pytest.approx((bounds.low, bounds.high))
        assert row["se"] == pytest.approx(stats.sem(a - b))
        reduction = 1 - np.var(a - b, ddof=1) / (np.var(a, ddof=1) + np.var(b, ddof=1))
        assert row["variance_reduction"] == pytest.approx(reduction)
        assert reduction > 0.5
    assert frame["paired"].all()
    p = [raw["b"].pvalue, raw["c"].pvalue]  # the one of b is tiny, c's is not doubled
    assert list(frame["p"]) == pytest.approx([2 * p[0], p[1]])
    assert list(frame["significant"]) == [True, p[1] < 1 - confidence]


def test_holm_by_hand():
    assert intervals.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert intervals.holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    adjusted = intervals.holm([np.nan, 0.02, 0.03])
    assert np.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([0.04, 0.04])
    assert intervals.holm([]).size == 0


def test_results_of_one_seed_are_paired(regrets):
    """Policies from two runs; the replications that both have are compared."""
    one = made_result({"a": regrets["a"]}, name="one")
    two = made_result({"b": regrets["b"][:50]}, name="two")
    (row,) = differences([one, two], baseline="a").to_dict("records")
    test = stats.ttest_rel(regrets["b"][:50], regrets["a"][:50])
    assert row["paired"]
    assert row["p"] == pytest.approx(test.pvalue)
    assert row["difference"] == pytest.approx((regrets["b"][:50] - regrets["a"][:50]).mean())


def test_results_of_two_seeds_are_compared_by_welch(regrets):
    one = made_result({"a": regrets["a"]}, seed=1)
    two = made_result({"b": regrets["b"][:50]}, seed=2)
    (row,) = differences([one, two], baseline="a").to_dict("records")
    test = stats.ttest_ind(regrets["b"][:50], regrets["a"], equal_var=False)
    bounds = test.confidence_interval(0.95)
    assert row["paired"] is False
    assert row["p"] == pytest.approx(test.pvalue)
    assert (row["low"], row["high"]) == pytest.approx((bounds.low, bounds.high))
    assert np.isnan(row["variance_reduction"])


def test_policies_of_two_results_are_told_apart(regrets):
    one, two = made_result(regrets, name="one"), made_result(regrets, name="two")
    frame = differences([one, two], baseline="a (one)")
    assert list(frame["policy"]) == ["b (one)", "c (one)", "a (two)", "b (two)", "c (two)"]
    same = frame.set_index("policy").loc["a (two)"]
    assert (same["difference"], same["se"], same["p"]) == (0.0, 0.0, 1.0)
    assert not same["significant"]
    numbered = differences([one, one])
    assert "a (one 1)" in {*numbered["policy"], *numbered["baseline"]}


def test_a_constant_difference_is_significant():
    x = np.array([1.0, 5.0, 2.0])
    made = made_result({"a": x, "b": x + 1, "c": [9.0, 9.0, 4.0]})
    (row, _) = differences(made).to_dict("records")
    assert (row["difference"], row["low"], row["high"], row["p"]) == (1.0, 1.0, 1.0, 0.0)
    assert row["significant"]
    level = made_result({"a": [3.0, 3.0], "b": [3.0, 3.0]})  # and no warning
    (row,) = differences(level).to_dict("records")
    assert (row["low"], row["high"], row["p"]) == (0.0, 0.0, 1.0)
    assert np.isnan(row["variance_reduction"])
    assert list(summary(level)["low"]) == [3.0, 3.0]


def test_one_replication_shows_nothing():
    result = made_result({"a": [3.0], "b": [90.0]})
    frame = summary(result)
    (row,) = differences(result).to_dict("records")  # from the smallest mean
    assert (row["policy"], row["baseline"]) == ("b", "a")
    assert list(frame["mean"]) == [3.0, 90.0]
    assert frame[["se", "low", "high"]].isna().all(axis=None)
    assert row["difference"] == 87.0
    assert np.isnan([row["se"], row["low"], row["high"], row["p"]]).all()
    assert row["significant"] is False


def test_one_policy_has_nothing_to_differ_from():
    frame = differences(made_result({"a": [1.0, 2.0]}))
    assert len(frame) == 0
    assert "variance_reduction" in frame.columns


def test_ratio_by_the_delta_method():
    """Against the bootstrap of the ratio, on correlated samples."""
    rng = np.random.default_rng(3)
    luck = rng.normal(10, 1, 4000)
    a, b = 2 * luck + rng.normal(0, 1, 4000), luck + rng.normal(0, 1, 4000)
    ratio = intervals.paired_ratio(a, b, 0.95)
    draws = (rng.integers(4000, size=4000) for _ in range(1000))
    drawn = np.array([a[rows].mean() / b[rows].mean() for rows in draws])
    assert ratio.value == a.mean() / b.mean()
    assert ratio.se == pytest.approx(drawn.std(), rel=0.05)
    assert (ratio.low, ratio.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=2e-3)


def test_ratio_to_nothing_is_none():
    assert np.isnan(intervals.paired_ratio(np.ones(3), np.zeros(3), 0.95)).all()


def test_delays():
    """A delay that never ended is longer than any other."""
    delays = {"a": [[5, 1, 2, 4], [7, None, None, None]], "b": [[1] * 4, [3, None, 4, None]]}
    result = made_result({"a": [1.0] * 4, "b": [1.0] * 4}, changes=[60], delays=delays)
    frame = result.delay_summary()
    assert list(frame.columns) == ["policy", "phase", "start", "found", "median", "q25", "q75"]
    rows = [tuple(row) for row in frame.itertuples(index=False)]
    assert rows == [
        ("a", 0, 0, 1.0, 2.0, 1.0, 4.0),
        ("a", 1, 60, 0.25, np.inf, 7.0, np.inf),
        ("b", 0, 0, 1.0, 1.0, 1.0, 1.0),
        ("b", 1, 60, 0.5, 4.0, 3.0, np.inf),
    ]


def other(**more):
    return made_result({"a": [1.0]}, name="other", **more)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: summary(r, confidence=1.5), r"confidence=1.5 must lie between"),
        (lambda r: differences(r, "zzz"), r"baseline='zzz' .* choose from a, b, c"),
        (lambda r: differences(r, "A"), "did you mean 'a'"),
        (lambda r: differences([]), "nothing to compare"),
        (lambda r: differences([r, other(horizon=50)]), "made has the horizon 100, other 50; comp"),
        (lambda r: differences([r, other(environment="o")]), "made and other have different arms"),
    ],
)
def test_mistakes_are_told(regrets, call, message):
    with pytest.raises(ValueError, match=message):
        call(made_result(regrets))
