"""Divergences against high precision, bounds against closed forms, balance against Monte Carlo."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import scipy.stats

import lastblock as lb
from lastblock import theory
from lastblock.kernels import divergences
from lastblock.kernels.jit import compiled, plain

FAMILIES = ["bernoulli", "gaussian", "poisson", "exponential"]
SIGMA = 0.7


def exact_kl(family, p, q):
    p, q = mpmath.mpf(p), mpmath.mpf(q)
    with mpmath.workdps(60):
        if family == "bernoulli":
            return p * mpmath.log(p / q) + (1 - p) * mpmath.log((1 - p) / (1 - q))
        if family == "gaussian":
            return (p - q) ** 2 / (2 * mpmath.mpf(SIGMA) ** 2)
        if family == "poisson":
            return q - p + p * mpmath.log(p / q)
        return mpmath.log(q / p) + p / q - 1


def exact_slope(family, p, q):
    p, q = mpmath.mpf(p), mpmath.mpf(q)
    with mpmath.workdps(60):
        scale = {"bernoulli": q * (1 - q), "poisson": q, "exponential": q * q}
        return (q - p) / scale.get(family, mpmath.mpf(SIGMA) ** 2)


def means(family, rng, size):
    if family == "bernoulli":
        wide = 10.0 ** rng.uniform(-15.0, 0.0, size)
        return np.where(rng.random(size) < 0.5, wide, 1.0 - wide)
    return 10.0 ** rng.uniform(-12.0, 6.0, size)


@pytest.mark.parametrize("family", FAMILIES)
def test_divergence(family):
    rng = np.random.default_rng(1)
    for p, q in zip(means(family, rng, 1000), means(family, rng, 1000), strict=True):
        # Far apart, on either side of where the series ends, and close.
        for other in (q, p * 1.21, p * 1.23, p * 0.83, p * 0.81, p + (q - p) * 1e-7):
            if p != other and (family != "bernoulli" or other < 1.0):
                expected = float(exact_kl(family, p, other))
                found = theory.kl(p, other, family, sigma=SIGMA)
                assert found == pytest.approx(expected, rel=1e-13, abs=0.0)


EXTREME = [
    ("bernoulli", 0.5, 1e-17),
    ("bernoulli", 0.5, 1e-320),
    ("bernoulli", 1e-320, 0.5),
    ("bernoulli", 5e-324, 1.0 - 2.0**-53),
    ("bernoulli", 1.0 - 2.0**-53, 5e-324),
    ("bernoulli", 0.3, 1.0 - 2.0**-53),
    ("poisson", 1000.0, 1e-10),
    ("poisson", 1e6, 5e-324),
    ("poisson", 5e-324, 1e6),
    ("exponential", 1e-17, 5.0),
    ("exponential", 5e-324, 1e6),
    ("exponential", 1e6, 1e-300),
]


@pytest.mark.parametrize(("family", "p", "q"), EXTREME)
def test_divergence_at_the_ends_of_the_range(family, p, q):
    expected = float(exact_kl(family, p, q))
    assert theory.kl(p, q, family) == pytest.approx(expected, rel=1e-13, abs=0.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_and_plain_kernels_return_the_same_numbers(family):
    code = int(divergences.Family[family.upper()])
    values = [0.0, 5e-324, 1e-320, 1e-17, 1e-10, 0.3, 0.5, 1.0 - 2.0**-53, 1.0]
    values += [] if family == "bernoulli" else [5.0, 1e6, 1e300]
    levels = [1e-300, 1e-10, 0.5, 30.0, 1e6, math.inf]
    for kernel, others in [
        (divergences.divergence, values),
        (divergences.upper, levels),
        (divergences.lower, levels),
    ]:
        for p, other in itertools.product(map(np.float64, values), map(np.float64, others)):
            found = plain(kernel)(code, p, other, SIGMA)
            assert found == compiled(kernel)(code, p, other, SIGMA)  # nan would differ


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("invert", [theory.kl_upper, theory.kl_lower])
def test_inverse(family, invert):
    rng = np.random.default_rng(2)
    largest = 0.5 if family == "exponential" else 1.5  # the bound itself is exp(level) there
    levels = 10.0 ** rng.uniform(-14.0, largest, 500)
    for p, level in zip(means(family, rng, 500), levels, strict=True):
        q = invert(p, level, family, sigma=SIGMA)
        assert q >= p if invert is theory.kl_upper else q <= p
        if family != "gaussian" and (q == 0.0 or (q == 1.0 and family == "bernoulli")):
            # Rounded to an end: the level is not reached a hair inside it.
            assert abs(p - q) <= 1e-10 or exact_kl(family, p, abs(q - 1e-10)) <= level
        else:
            with mpmath.workdps(60):
                miss = (exact_kl(family, p, q) - level) / exact_slope(family, p, q)
            assert abs(miss) < 1e-10 * max(1.0, q)


@pytest.mark.parametrize("family", FAMILIES)
def test_level_zero_is_the_mean_itself(family):
    for p in (0.0, 0.3, 1.0):
        assert theory.kl_upper(p, 0.0, family) == p
        assert theory.kl_lower(p, 0.0, family) == p
        assert theory.kl(p, p, family) == 0.0


def test_ends_of_the_families():
    inf = math.inf
    assert theory.kl(0.0, 0.3) == pytest.approx(-math.log(0.7), rel=1e-15)
    assert theory.kl(1.0, 0.3) == pytest.approx(-math.log(0.3), rel=1e-15)
    assert theory.kl(0.3, 0.0) == theory.kl(0.3, 1.0) == theory.kl(0.0, 1.0) == inf
    assert theory.kl_upper(0.0, 0.7) == pytest.approx(1.0 - math.exp(-0.7), rel=1e-15)
    assert theory.kl_lower(0.0, 0.7) == 0.0
    assert theory.kl_upper(1.0, 0.7) == 1.0
    assert theory.kl_lower(1.0, 0.7) == pytest.approx(math.exp(-0.7), rel=1e-15)
    assert theory.kl(0.0, 3.0, "poisson") == theory.kl_upper(0.0, 3.0, "poisson") == 3.0
    assert theory.kl(3.0, 0.0, "poisson") == theory.kl(0.0, 3.0, "exponential") == inf
    assert theory.kl_upper(0.0, 3.0, "exponential") == theory.kl_lower(0.0, 3.0, "poisson") == 0.0
    for p in (0.0, 0.4, 1.0):
        assert theory.kl_upper(p, inf) == 1.0
        assert theory.kl_lower(p, inf) == 0.0
    for family in ("poisson", "exponential"):
        assert theory.kl_upper(0.4, inf, family) == inf
        assert theory.kl_lower(0.4, inf, family) == 0.0
    assert theory.kl_upper(0.4, inf, "gaussian") == -theory.kl_lower(0.4, inf, "gaussian") == inf


# Lower bounds


def test_lai_robbins():
    bernoulli = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15), lb.Bernoulli(0.15)])
    by_hand = 0.1 / (0.05 * math.log(1 / 3) + 0.95 * math.log(0.95 / 0.85))
    assert theory.lai_robbins(bernoulli) == pytest.approx(by_hand, rel=1e-12)
    gaussian = lb.Stationary([lb.Gaussian(0.5, 2.0), lb.Gaussian(1.0), lb.Gaussian(0.0, 0.5)])
    assert theory.lai_robbins(gaussian) == pytest.approx(2 * 4.0 / 0.5 + 2 * 0.25 / 1.0)
    poisson = lb.Stationary([lb.Poisson(2.0), lb.Poisson(1.0)])
    assert theory.lai_robbins(poisson) == pytest.approx(1.0 / (1.0 - math.log(2.0)))
    exponential = lb.Stationary([lb.Exponential(2.0), lb.Exponential(1.0)])
    assert theory.lai_robbins(exponential) == pytest.approx(1.0 / (math.log(2.0) - 0.5))
    assert theory.lai_robbins(lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.5)])) == 0.0
    assert theory.lai_robbins(lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(1.0)])) == 0.0
    times = [1, 10, 100]
    np.testing.assert_allclose(theory.lower_bound(bernoulli, times), by_hand * np.log(times))


PHASES = {0: [lb.Bernoulli(0.5), lb.Bernoulli(0.3)], 10: [lb.Bernoulli(0.5), lb.Bernoulli(0.6)]}
DRIFTING = lb.Drifting(PHASES[0], means=[lb.Sinusoid(0.5, 0.1, 50.0), lb.Table([0.2])])


def test_a_misspelt_tuning():
    with pytest.raises(KeyError, match="'garvier' is not a tuning; did you mean 'garivier'"):
        theory.TUNINGS["garvier"]
    with pytest.raises(KeyError, match="3 is not a tuning; choose from garivier, garivier-disc"):
        theory.TUNINGS[3]
    assert theory.TUNINGS.get("garvier") is None
    assert "garvier" not in theory.TUNINGS


def test_count_changes():
    assert theory.count_changes(lb.Piecewise(PHASES)) == 1
    assert theory.count_changes(lb.Stationary(PHASES[0])) == 0


# Tunings (their values: tests/policies/test_tunings.py)


@pytest.mark.parametrize("name", theory.TUNINGS)
def test_every_tuning_rejects_an_impossible_horizon(name):
    every = {"horizon": 1, "changes": 0, "arms": 2, "sigma": 1.0, "window": 100}
    function = theory.TUNINGS[name]
    given = {key: every[key] for key in function.__kwdefaults__ or {} if key in every}
    code = function.__code__
    names = code.co_varnames[: code.co_kwonlyargcount]
    given |= {key: every[key] for key in names if key in every}
    with pytest.raises(ValueError, match="horizon=1 must be at least 2"):
        function(**given)


# The balance function

PAIRS = {
    "bernoulli": (lb.Bernoulli(0.6), lb.Bernoulli(0.4)),
    "gaussian": (lb.Gaussian(0.6, 0.5), lb.Gaussian(0.4, 0.5)),
    "poisson": (lb.Poisson(1.6), lb.Poisson(1.1)),
    "exponential": (lb.Exponential(1.6), lb.Exponential(1.1)),
}


def law_of_sum(arm, j):
    return {
        "Bernoulli": lambda: scipy.stats.binom(j, arm.mean),
        "Gaussian": lambda: scipy.stats.norm(j * arm.mean, math.sqrt(j) * getattr(arm, "std", 0)),
        "Poisson": lambda: scipy.stats.poisson(j * arm.mean),
        "Exponential": lambda: scipy.stats.gamma(j, scale=arm.mean),
    }[type(arm).__name__]()


@pytest.mark.parametrize("family", PAIRS)
@pytest.mark.parametrize(("m", "j"), [(1, 1), (3, 2), (10, 4), (200, 7)])
def test_balance_against_monte_carlo(family, m, j):
    best, other = PAIRS[family]
    draws = law_of_sum(best, j).rvs(200_000, random_state=5)
    lost = law_of_sum(other, j).sf(draws) ** m
    error = lost.std() / math.sqrt(lost.size)
    value = theory.balance(best, other, m, j)
    assert abs(value - lost.mean()) < 4.0 * error
    assert value <= theory.balance_bound(best, other, m, j)


def test_balance_in_closed_form():
    # P(exponential of mean 1.1 > exponential of mean 1.6), and equal arms with m rivals.
    assert theory.balance(*PAIRS["exponential"], 1, 1) == pytest.approx(1.1 / 2.7, rel=1e-12)
    arm = lb.Gaussian(0.0, 2.0)
    for m in (0, 1, 9, 9999):
        assert theory.balance(arm, arm, m, 3) == pytest.approx(1 / (m + 1), rel=1e-12)
    shifted = lb.Gaussian(1.0), lb.Gaussian(0.0)
    assert theory.balance(*shifted, 1, 8) == pytest.approx(scipy.stats.norm.sf(2.0), rel=1e-12)


def test_balance_with_one_arm_certain():
    assert theory.balance(lb.Bernoulli(1.0), lb.Bernoulli(0.5), 1, 3) == 0.0
    assert theory.balance(lb.Bernoulli(0.5), lb.Bernoulli(0.0), 1, 3) == 0.0


@pytest.mark.parametrize("family", PAIRS)
def test_balance_bound_for_every_u(family):
    best, other = PAIRS[family]
    m, j = 30, 5
    value = theory.balance(best, other, m, j)
    tightest = theory.balance_bound(best, other, m, j)
    for u in np.linspace(0.0, 0.4, 41):
        assert value <= tightest <= theory.balance_bound(best, other, m, j, u=u) + 1e-15


def test_balance_of_long_blocks():
    best, other = lb.Exponential(2.0), lb.Exponential(1.0)
    assert 0.0 < theory.balance(best, other, 1e6, 900) < theory.balance_bound(best, other, 1e6, 900)


NO_ENVIRONMENT = r"is not an environment; give one such as Stationary\(\[Bernoulli"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.kl(1.1, 0.5), r"p=1.1 must lie in \[0, 1\]"),
        (lambda: theory.kl(1.0, -0.5, "poisson"), "q=-0.5 must not be negative"),
        (lambda: theory.kl(0.1, 0.5, "cauchy"), "family='cauchy' must be one of"),
        (lambda: theory.kl(0.1, 0.5, "gaussian", sigma=0.0), "sigma=0.0 must be positive"),
        (lambda: theory.kl_upper(0.1, -1.0), "level=-1.0 must not be negative"),
        (lambda: theory.kl_upper(0.1, math.nan), "level=nan"),
        (lambda: theory.lai_robbins(lb.Piecewise(PHASES)), "changes over time"),
        (lambda: theory.lai_robbins(DRIFTING), "changes over time"),
        (
            lambda: theory.lai_robbins(lb.Stationary([lb.Bernoulli(0.5), lb.Gaussian(0.3)])),
            r"\(Bernoulli, Gaussian\)",
        ),
        (lambda: theory.lai_robbins(lb.Stationary([lb.Beta(1.0, 2.0)] * 2)), "the family Beta"),
        (lambda: theory.lai_robbins(PHASES[0]), NO_ENVIRONMENT),
        (lambda: theory.characteristic_time(PHASES[0][0]), NO_ENVIRONMENT),
        (lambda: theory.count_changes(lb.Stationary), NO_ENVIRONMENT),
        (lambda: theory.count_changes(None), NO_ENVIRONMENT),
        (lambda: theory.count_changes(DRIFTING), "no phases"),
        (lambda: theory.lower_bound(lb.Stationary(PHASES[0]), [0, 1]), "must be at least 1"),
        (lambda: theory.balance(lb.Bernoulli(0.5), lb.Poisson(0.5), 1, 1), "several families"),
        (lambda: theory.balance(lb.Gaussian(1), lb.Gaussian(0, 2), 1, 1), "standard deviation"),
        (lambda: theory.balance(*PAIRS["poisson"], -1, 1), "m=-1.0 must not be negative"),
        (lambda: theory.balance(*PAIRS["poisson"], 1, 0), "j=0 must be at least 1"),
        (lambda: theory.balance_bound(*PAIRS["poisson"][::-1], 1, 1), "larger mean"),
        (lambda: theory.balance_bound(*PAIRS["gaussian"], 1, 1, u=0.6), "u=0.6 must lie"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
