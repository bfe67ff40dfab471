"""Test martingales, the intervals that follow from them, and the probability to be best."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from lastblock.theory.confidence_sequences import (
    Bounded,
    Coins,
    FiniteVariance,
    Rewards,
    intervals,
    log_evidence_between,
)
from lastblock.theory.probability_best import probability_best

MODELS = [Coins(), Bounded(-1.0, 3.0), FiniteVariance()]


def rewards_of(*samples):
    return Rewards(
        *np.array(
            [
                (len(x), np.mean(x), np.sum((x - np.mean(x)) ** 2), np.max(x) - np.min(x))
                for x in map(np.asarray, samples)
            ],
            float,
        ).T
    )


def coins(*pairs):
    return rewards_of(*([1.0] * ones + [0.0] * (n - ones) for n, ones in pairs))


def test_the_evidence_of_coins_is_the_mixture_of_likelihood_ratios():
    n, ones, mean = 30, 7, 0.4

    def ratio(p):
        return (
            (p / mean) ** ones * ((1 - p) / (1 - mean)) ** (n - ones) * stats.beta.pdf(p, 0.5, 0.5)
        )

    mixed, _ = integrate.quad(ratio, 0.0, 1.0)
    found = Coins().log_evidence(coins((n, ones)))(np.array([mean]))
    assert math.exp(found[0]) == pytest.approx(mixed, rel=1e-6)


def test_the_gaussian_evidence_is_that_of_students_law():
    """The ratio of t's density, with a normal prior for the effect, to its density without one."""
    x = np.random.default_rng(1).normal(0.3, 1.0, 400)
    given = rewards_of(x)
    wide = given._replace(spread=given.spread - 3.0 * given.width**2)  # what the model adds
    found = FiniteVariance().log_evidence(wide)(np.array([0.1]))[0]
    t = (x.mean() - 0.1) / (x.std(ddof=1) / 20.0)
    factor = 1.0 + 400 * 0.01
    alone = stats.t.logpdf(t, 399)
    mixed = stats.t.logpdf(t, 399, scale=math.sqrt(factor))
    assert found == pytest.approx(mixed - alone, rel=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_ends_of_an_interval_are_where_the_evidence_reaches_the_threshold(model):
    rng = np.random.default_rng(2)
    samples = [(rng.random(n) < p).astype(float) for n, p in [(200, 0.5), (5000, 0.02)]]
    given = rewards_of(*samples)
    low, high = intervals(model, given, 0.9)
    logs = model.log_evidence(given)
    for ends in (low, high):
        np.testing.assert_allclose(logs(ends), math.log(10.0), rtol=1e-6)
    assert (low < given.mean).all()
    assert (given.mean < high).all()
    wider = intervals(model, given, 0.99)
    assert (wider[0] < low).all()
    assert (high < wider[1]).all()


def test_intervals_of_coins_lie_between_0_and_1():
    low, high = intervals(Coins(), coins((1, 0), (106, 1), (106, 106), (10**6, 20_000)), 0.95)
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()
    assert low[1] > 0.0  # one click is not none
    assert high[3] - low[3] < 0.0015


def test_bounds_that_the_rewards_hardly_use_cost_little():
    """The empirical Bernstein half knows how little the rewards vary."""
    x = np.random.default_rng(3).normal(50.0, 0.1, 2000)
    low, high = intervals(Bounded(0.0, 100.0), rewards_of(x), 0.95)
    assert high[0] - low[0] < 2.0
    halved = math.sqrt(0.5 * math.log(2 / 0.05) / 2000) * 200  # Hoeffding, for one look
    assert halved > 4.0


def test_few_sales_say_nothing_yet():
    """Two sales among fifty: their spread says little about the next one."""
    low, high = intervals(
        FiniteVariance(), rewards_of([0.0] * 48 + [3.0, 5.0], [1.0], [2.0] * 9), 0.95
    )
    assert (low == -np.inf).all()
    assert (high == np.inf).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_evidence_between_arms(model):
    """It is the smallest product over a common mean, of which a fine grid finds no smaller one."""
    rng = np.random.default_rng(4)
    given = rewards_of(*((rng.random(n) < p).astype(float) for n, p in [(9000, 0.4), (4000, 0.25)]))
    first, second = np.array([0, 1]), np.array([1, 0])
    found = log_evidence_between(model, given, first, second)
    assert found[1] <= 0.0 < found[0]
    means = np.linspace(given.mean[1], given.mean[0], 100_001)
    logs = model.log_evidence(Rewards(*(column[:, None] for column in given)))(means)
    one, other = np.exp(logs)
    smallest = ((one + other + one * other) / 3.0).min()
    assert found[0] == pytest.approx(math.log(smallest), abs=1e-4)


def test_numbers_without_sense_give_no_statement():
    wrong = Rewards(*(np.array([value] * 2) for value in (3.0, np.nan, np.inf, np.nan)))
    for model in MODELS:
        low, high = intervals(model, wrong, 0.95)
        assert not (low > model.low).any()
        assert not (high < model.high).any()


@pytest.mark.parametrize(
    "pairs", [[(1, 1), (10**6, 20_000), (10, 0)], [(5, 0), (5, 0)], [(3, 0), (100, 5), (1, 0)]]
)
def test_probability_best_of_coins(pairs):
    """Against a million draws from the posterior laws: within five standard errors."""
    rng = np.random.default_rng(5)
    drawn = rng.beta(*np.array([(s + 0.5, n - s + 0.5) for n, s in pairs]).T, (10**6, len(pairs)))
    share = np.bincount(drawn.argmax(axis=1), minlength=len(pairs)) / 10**6
    found = probability_best(coins(*pairs), are_coins=True)
    assert found.sum() == pytest.approx(1.0)
    error = np.sqrt(share * (1 - share) / 10**6)
    assert (np.abs(found - share) < 5 * error + 3e-4).all()  # and the grid's own error


def test_probability_best_of_other_rewards():
    rng = np.random.default_rng(6)
    given = Rewards(
        np.array([14.0, 4980.0, 1.0]),
        np.array([0.3, 0.5, 1e6]),
        np.array([1.2, 448.0, 0.0]),
        np.ones(3),
    )
    common = given.spread.sum() / (13 + 4979)
    scale = np.sqrt((given.spread + common) / given.number / given.number)
    drawn = given.mean + scale * rng.standard_t(given.number, (10**6, 3))
    share = np.bincount(drawn.argmax(axis=1), minlength=3) / 10**6
    found = probability_best(given, are_coins=False)
    assert np.abs(found - share).max() < 3e-3
    assert np.isnan(probability_best(rewards_of([1.0], [2.0]), are_coins=False)).all()
