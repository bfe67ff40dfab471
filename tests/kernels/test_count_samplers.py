"""Binomial variates and the hypergeometric coin, against scipy and whole-number arithmetic."""

import random
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from lastblock.kernels.count_samplers import (
    _below_hypergeometric,
    _hypergeometric,
    binomial,
    hypergeometric_at_most,
)
from lastblock.kernels.jit import DISABLED, entry
from lastblock.kernels.streams import POLICY, key_of, seed_stream

DRAWS = 5_000 if DISABLED else 200_000


@entry
def binomials(stream, n, p, values):
    for i in range(values.size):
        values[i] = binomial(stream, n, p)


@entry
def coins(stream, x, n, good, total, flips):
    count = 0
    for _ in range(flips):
        count += hypergeometric_at_most(stream, x, n, good, total)
    return count


@pytest.fixture
def stream():
    words = np.zeros(4, np.uint64)
    seed_stream(words, key_of(8), 0, POLICY)
    return words


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.5), (5, 0.3), (21, 0.5), (30, 0.6), (50, 0.9), (300, 0.03), (1000, 0.5), (40_000, 0.4)],
)
def test_binomial(stream, n, p):
    values = np.zeros(DRAWS, np.int64)
    binomials(stream, n, p, values)
    seen = np.bincount(values, minlength=n + 1)
    expected = stats.binom.pmf(np.arange(n + 1), n, p) * DRAWS
    likely = expected > 10.0
    statistic = ((seen - expected)[likely] ** 2 / expected[likely]).sum()
    statistic += (seen - expected)[~likely].sum() ** 2 / max(expected[~likely].sum(), 1.0)
    assert stats.chi2.sf(statistic, likely.sum()) > 1e-4


@pytest.mark.parametrize(("n", "p", "value"), [(0, 0.5, 0), (7, 0.0, 0), (7, -0.1, 0), (7, 1.2, 7)])
def test_a_sure_binomial_costs_no_draw(stream, n, p, value):
    before = stream.copy()
    assert binomial(stream, n, p) == value
    assert (stream == before).all()


def hypergeometrics(count):
    """(x, n, good, total) with x inside the support, of all sizes and shapes."""
    rng = random.Random(3)
    found = []
    while len(found) < count:
        total = int(2 ** rng.uniform(1, 11))
        n, good = rng.randint(1, total), rng.randint(0, total)
        low, high = max(0, n - (total - good)), min(n, good)
        spread = (n * good * (total - good)) ** 0.5 / total + 1.0
        x = round(n * good / total + rng.gauss(0.0, 2.0) * spread)
        if low <= x < high:
            found.append((x, n, good, total))
    return found


def ways(i, n, good, total):
    return comb(good, i) * comb(total - good, n - i)


def test_hypergeometric_probabilities():
    for x, n, good, total in hypergeometrics(500):
        exact = float(Fraction(ways(x, n, good, total), comb(total, n)))
        ours = _hypergeometric(float(x), float(n), float(good), float(total - good))
        assert ours == pytest.approx(exact, rel=1e-11)


def test_the_coin_turns_at_the_distribution_function():
    for x, n, good, total in hypergeometrics(300):
        exact = Fraction(sum(ways(i, n, good, total) for i in range(x + 1)), comb(total, n))
        for margin in (1e-9, 1e-3, 0.3):
            step = margin * float(min(exact, 1 - exact)) + 1e-15
            assert _below_hypergeometric(float(exact) - step, x, n, good, total)
            assert not _below_hypergeometric(float(exact) + step, x, n, good, total)


# Small and large, in the middle and in the tails: every bound that can settle the coin is used.
@pytest.mark.parametrize(
    ("x", "n", "good", "total"),
    [
        (0, 3, 4, 10),
        (2, 5, 4, 9),
        (5, 100, 1500, 10_000),
        (15, 100, 1500, 10_000),
        (22, 100, 1500, 10_000),
        (20, 30, 60, 100),
        (700, 1500, 1900, 4000),
        (1450, 3000, 1900, 4000),
        (1420, 3000, 1900, 4000),
    ],
)
def test_the_coin_is_fair(stream, x, n, good, total):
    exact = stats.hypergeom.cdf(x, total, good, n)
    seen = coins(stream, x, n, good, total, DRAWS)
    assert abs(seen - DRAWS * exact) < 4.0 * np.sqrt(DRAWS * exact * (1.0 - exact))


@pytest.mark.parametrize(
    ("x", "n", "good", "total", "sure"),
    [(-1, 3, 4, 10, False), (0, 8, 5, 10, False), (3, 3, 4, 10, True), (0, 3, 0, 10, True)],
)
def test_a_sure_coin_costs_no_draw(stream, x, n, good, total, sure):
    before = stream.copy()
    assert hypergeometric_at_most(stream, x, n, good, total) == sure
    assert (stream == before).all()
