"""The test by ranks: its error rate is kept, and heavy tails do not blind it."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import lastblock as lb
from lastblock.lab.entries import needed
from lastblock.lab.intervals import paired_difference
from lastblock.lab.ranks import placements, win_probability
from made_results import made_result


def test_the_probability_counts_all_pairs_and_ties_by_half():
    a, b = np.array([1.0, 2.0, 2.0, 5.0]), np.array([2.0, 3.0, 0.0])
    plain = np.mean([(x < y) + (x == y) / 2 for x, y in itertools.product(a, b)])
    assert win_probability(a, b, 0.95, paired=False).value == pytest.approx(plain)
    assert placements(a, b).tolist() == [0.5, 0.75, 0.0]


def test_independent_samples_agree_with_brunner_and_munzel():
    rng = np.random.default_rng(3)
    a, b = rng.gamma(3.0, 1.0, 40), rng.gamma(3.0, 1.4, 60)
    ours, theirs = win_probability(a, b, 0.95, paired=False), stats.brunnermunzel(a, b)
    assert ours.p == pytest.approx(theirs.pvalue)
    assert (ours.value - 0.5) / ours.se == pytest.approx(theirs.statistic)


def heavy(rng, n, shift=0.0):
    """Two lognormal samples on common draws; the second is larger by `shift`, in logarithms."""
    common = rng.normal(size=n)
    one, other = (np.exp(2.5 * (0.6 * common + 0.8 * rng.normal(size=n))) for _ in range(2))
    return one, other * math.exp(shift)


@pytest.mark.parametrize("paired", [True, False])
def test_the_error_rate_is_kept_under_heavy_tails_and_unlike_variances(paired):
    """Of 3000 tests without a difference 5 % may err, within four standard errors."""
    rng = np.random.default_rng(5)
    errors = covered = 0
    for _ in range(3000):
        if paired:
            a, b = heavy(rng, 40)
        else:
            a, b = rng.standard_cauchy(40), 5.0 * rng.standard_cauchy(25)
        found = win_probability(a, b, 0.95, paired=paired)
        errors += found.p < 0.05
        covered += found.low <= 0.5 <= found.high
    tolerance = 4.0 * math.sqrt(0.05 * 0.95 / 3000)
    assert errors / 3000 == pytest.approx(0.05, abs=tolerance)
    assert covered / 3000 > 0.95 - tolerance


def test_few_replications_are_never_sure():
    for paired in (True, False):
        apart = win_probability(np.array([1.0, 2.0]), np.array([3.0, 4.0]), 0.95, paired=paired)
        assert apart.value == 1.0
        assert apart.p > 0.05
        assert apart.low < 0.5
        equal = win_probability(np.ones(5), np.ones(5), 0.95, paired=paired)
        assert equal[:4] == (0.5, 0.0, 0.5, 0.5)
        assert equal.p == 1.0
        one = win_probability(np.ones(1), np.zeros(1), 0.95, paired=paired)
        assert math.isnan(one.p)


def test_tables_of_wins():
    rng = np.random.default_rng(11)
    a, b = heavy(rng, 100, 1.5)
    result = made_result({"a": a, "b": b, "c": a + 1e-9})
    frame = result.wins("a").set_index("policy")
    assert frame.loc["b", "wins"] == win_probability(b, a, 0.95, paired=True).value
    assert frame.loc["b", "significant"]
    assert math.isnan(frame.loc["b", "needed"])
    assert (frame["adjusted"] == "these rows").all()
    everything = lb.lab.wins([result])
    assert (everything["adjusted"] == "all pairs").all()
    assert everything["baseline"].iloc[0] == min("abc", key=lambda k: result.final_regret(k).mean())
    assert lb.lab.wins(made_result({"a": a})).empty
    with pytest.raises(ValueError, match="baseline='d' is not a policy"):
        result.wins("d")
    with pytest.raises(ValueError, match=r"confidence=1\.0 must lie"):
        result.wins(confidence=1.0)


def test_the_needed_replications_show_the_difference_four_times_of_five():
    rng = np.random.default_rng(13)
    pilot = rng.normal(0.1, 1.0, 50)
    pilot += 0.1 - pilot.mean()
    pilot *= 1.0 / pilot.std(ddof=1)
    pilot += 0.1 - pilot.mean()
    estimate = paired_difference(pilot, np.zeros(50), 0.95)
    enough = needed(estimate, (pilot, pilot), 0.95, 1)
    assert enough == math.ceil((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * 100)
    more = needed(estimate, (pilot, pilot), 0.95, 6)
    assert more > enough  # p is adjusted for six comparisons
    assert math.isnan(needed(estimate._replace(p=0.01), (pilot, pilot), 0.95, 1))
    assert needed(estimate._replace(value=0.0, p=1.0), (pilot, pilot), 0.95, 1) == math.inf


def test_differences_say_what_they_need():
    rng = np.random.default_rng(17)
    frame = made_result({"a": rng.gamma(9, 1, 60), "b": rng.gamma(9, 1, 60)}).differences()
    assert frame["needed"].iloc[0] > 60
    same = made_result({"a": [1.0, 2.0], "b": [1.0, 2.0]}).differences()
    assert same["needed"].iloc[0] == math.inf
    assert math.isnan(made_result({"a": [1.0], "b": [2.0]}).differences()["needed"].iloc[0])
