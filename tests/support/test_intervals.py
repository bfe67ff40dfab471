"""Intervals by empirical likelihood, against a slow twin, and their coverage."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from lastblock.support.intervals import (
    check_confidence,
    log_likelihood_ratio,
    normal_interval,
    ratio_interval,
    student_reach,
)


def slow_log_likelihood_ratio(values):
    """−2 log of the largest Π n p_i with Σ p_i = 1 and Σ p_i v_i = 0, by the dual problem."""
    if values.min() >= 0 or values.max() <= 0:
        return math.inf
    edges = -1 / values.max(), -1 / values.min()
    inside = [edge * (1 - 1e-12) for edge in edges]
    tilt = optimize.brentq(lambda a: (values / (1 + a * values)).sum(), *inside, xtol=1e-15)
    return 2 * np.log1p(tilt * values).sum()


SAMPLES = {
    "skewed": np.random.default_rng(1).exponential(1.0, 30),
    "clicks": (np.random.default_rng(2).random(400) < 0.02) * 10.0,
    "few": np.array([-3.0, 0.5, 1.0]),
    "far": np.array([1e-9, 1.0, 2.0, 1e6]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_likelihood_ratios_are_those_of_the_slow_twin(name):
    sample = SAMPLES[name]
    values, counts = np.unique(sample, return_counts=True)
    for share in (0.05, 0.3, 0.6, 0.95):
        mean = sample.min() + share * (sample.mean() - sample.min())
        for centre in (mean, 2 * sample.mean() - mean):
            expected = slow_log_likelihood_ratio(sample - centre)
            found = log_likelihood_ratio(values - centre, counts.astype(float))
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert log_likelihood_ratio(np.array([0.0, 1.0]), np.ones(2)) == math.inf
    assert log_likelihood_ratio(np.zeros(3), np.ones(3)) == 0.0


@pytest.mark.parametrize("name", SAMPLES)
def test_bounds_have_the_likelihood_that_is_asked_for(name):
    sample = SAMPLES[name]
    ones = np.ones(sample.size)
    low, high = ratio_interval(sample, ones, ones, 0.95, 1e9)
    assert sample.min() < low < sample.mean() < high < sample.max()
    goal = stats.chi2.ppf(0.95, 1)
    for bound in (low, high):
        assert slow_log_likelihood_ratio(sample - bound) == pytest.approx(goal, rel=1e-5)


def test_counts_are_repetitions_and_a_ratio_is_one_of_means():
    rng = np.random.default_rng(3)
    above, below = rng.exponential(1.0, 40), rng.exponential(1.0, 40)
    twice = ratio_interval(above, below, np.full(40, 2.0), 0.9, 50.0)
    written = ratio_interval(np.tile(above, 2), np.tile(below, 2), np.ones(80), 0.9, 50.0)
    assert twice == pytest.approx(written, rel=1e-6)
    assert twice[0] < above.mean() / below.mean() < twice[1]
    scaled = ratio_interval(5.0 * above, below, np.full(40, 2.0), 0.9, 50.0)
    assert scaled == pytest.approx([5.0 * bound for bound in twice], rel=1e-6)
    padded = ratio_interval(
        np.append(above, 0.0), np.append(below, 0.0), np.append(np.full(40, 2.0), 99.0), 0.9, 50.0
    )
    assert padded == pytest.approx(twice, rel=1e-6)


def test_many_observations_give_the_normal_interval():
    sample = np.random.default_rng(4).exponential(1.0, 200_000)
    ones = np.ones(sample.size)
    found = ratio_interval(sample, ones, ones, 0.95, 1e9)
    expected = normal_interval(sample.mean(), stats.sem(sample), 0.95)
    assert found == pytest.approx(expected, abs=0.01 * stats.sem(sample))


def test_no_spread_no_width():
    ones = np.ones(3)
    assert ratio_interval(2.0 * ones, ones, ones, 0.95, 2.0) == (2.0, 2.0)


@pytest.mark.parametrize("freedom", [5, 8.5, 30, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_students_quantile(freedom, confidence):
    expected = stats.t.ppf(0.5 + confidence / 2, freedom)
    assert student_reach(confidence, freedom) == pytest.approx(expected, rel=0.01)
    assert student_reach(confidence, 0.5) == student_reach(confidence, 3.0)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, math.nan, "much"])
def test_confidence_is_a_share(confidence):
    with pytest.raises(ValueError, match="confidence="):
        check_confidence(confidence)
