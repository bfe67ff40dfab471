"""The policies that look for the best arm take their twins' decisions, one by one."""

import math

import numpy as np
import pytest

import lastblock as lb
import oracle.identification
from lastblock.kernels.proportions import best_proportions
from oracle.randomised import twin
from oracle.test_klucb import eighths, halves, positive
from oracle.test_randomised import assert_same_decisions, bernoulli, bounded, gaussian, thirds
from oracle.worlds import World, constant, dyadic, play, small_integers
from oracle.worlds import bernoulli as coins
from oracle.worlds import gaussian as normals

GAUSSIAN = {"family": "gaussian", "sigma": 0.5}
POISSON = {"family": "poisson"}
EXPONENTIAL = {"family": "exponential"}


def assert_same(name, parameters, kind, arms, horizon):
    seed = [arms, horizon]
    made = getattr(oracle.identification, name)(arms, seed, **parameters)
    play(lb.POLICIES[name](**parameters), made, World(kind, arms, horizon), horizon, seed)


def named(value):
    """The id of parameters or of a function: the same in every process."""
    return getattr(value, "__name__", None) or repr(value)


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({}, coins),
        ({}, eighths),
        ({"sigma": 1.5, "confidence": 0.99}, normals),
        ({"family": "bernoulli"}, halves),
        ({"family": "bernoulli", "practical": True}, coins),
        ({"family": "poisson"}, small_integers),
        ({"family": "exponential", "practical": True}, positive),
    ],
    ids=named,
)
def test_lucb(parameters, kind):
    for arms, horizon in [(2, 150), (4, 250)]:
        assert_same("LUCB", parameters, kind, arms, horizon)


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({}, coins),
        ({}, eighths),
        ({}, constant),
        (GAUSSIAN, dyadic),
        (POISSON, small_integers),
        (EXPONENTIAL, positive),
    ],
    ids=named,
)
def test_track_and_stop(parameters, kind):
    for arms in (2, 4):
        assert_same("TrackAndStop", parameters, kind, arms, 120)


@pytest.mark.parametrize("kind", [bernoulli, thirds, bounded, gaussian])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"beta": 0.2, "redraws": 3},
        {"family": "gaussian", "prior_mean": 0.3, "prior_sigma": 0.8, "sigma": 0.4, "redraws": 0},
        {"family": "poisson", "prior_mean": 0.7, "prior_sigma": 0.4, "redraws": 1},
    ],
    ids=repr,
)
def test_top_two_thompson(parameters, kind):
    make = twin(oracle.identification.TopTwoThompson, **parameters)
    for arms, seed in [(2, 1), (3, 2)]:
        assert_same_decisions(lb.TopTwoThompson(**parameters), make, arms, kind, seed, 150)


@pytest.mark.parametrize(
    ("family", "means"),
    [
        ("bernoulli", (0.5, 0.45, 0.43, 0.4)),
        ("bernoulli", (0.02, 0.018, 0.02 - 1e-5)),
        ("bernoulli", (1.0, 0.0, 0.5)),
        ("gaussian", (1e6 - 3.0, 1e6, 1e6 - 1.0)),
        ("poisson", (0.0, 1.0, 4.0)),
        ("exponential", (0.0, 2.0, 1.999)),
    ],
)
def test_best_proportions(family, means):
    """They are the twin's; and no other proportions make a stronger case against all rivals."""
    code, shares = int(lb.Family[family.upper()]), np.empty(len(means))
    case = best_proportions(np.array(means), shares, len(means), code, 1.0)
    assert shares.tolist() == pytest.approx(
        oracle.identification.best_weights(means, family, 1.0), abs=1e-7
    )
    if family == "exponential":
        return  # a mean of 0 has no divergence
    rng = np.random.default_rng(1)
    best = max(range(len(means)), key=means.__getitem__)

    def weakest(weights):
        cases = []
        for k, mean in enumerate(means):
            if k != best:
                middle = np.average([means[best], mean], weights=[weights[best], weights[k]])
                kl = [lb.theory.kl(p, middle, family) for p in (means[best], mean)]
                cases.append(weights[best] * kl[0] + weights[k] * kl[1])
        return min(cases)

    assert weakest(shares) == pytest.approx(case, rel=1e-6)
    for _ in range(50):
        other = shares * np.exp(0.1 * rng.normal(size=len(means)))
        assert weakest(other / other.sum()) <= case * (1.0 + 1e-6)


def test_published_proportions():
    """Those that Garivier & Kaufmann (2016) print for their two experiments."""
    for means, printed in [
        ((0.5, 0.45, 0.43, 0.4), (0.417, 0.390, 0.136, 0.057)),
        ((0.3, 0.21, 0.2, 0.19, 0.18), (0.336, 0.251, 0.177, 0.132, 0.104)),
    ]:
        shares = np.empty(len(means))
        best_proportions(np.array(means), shares, len(means), 0, 1.0)
        assert shares.tolist() == pytest.approx(printed, abs=0.0006)


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "poisson", "exponential"])
@pytest.mark.parametrize(
    "means", [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.5, 0.5 - 1e-13, 0.5), (1.0, 1.0 - 1e-15, 0.5)]
)
def test_arms_that_are_level_share_the_pulls(family, means):
    shares = np.empty(3)
    code = int(lb.Family[family.upper()])
    assert best_proportions(np.array(means), shares, 3, code, 1.0) in (0.0, pytest.approx(0.0))
    level = [mean > max(means) - 1e-12 for mean in means]
    assert shares.tolist() == [each / sum(level) for each in level]


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "poisson", "exponential"])
@pytest.mark.parametrize("means", [(1e-320, 0.0, 0.0), (1e-200, 1e-210, 0.0), (1.0, 1e-300, 0.0)])
def test_the_smallest_means_have_proportions(family, means):
    shares = np.empty(3)
    best_proportions(np.array(means), shares, 3, int(lb.Family[family.upper()]), 1.0)
    assert np.all(shares >= 0.0)
    assert shares.sum() == pytest.approx(1.0)


def test_an_arm_that_never_answers_is_left_out():
    shares = np.empty(3)
    case = best_proportions(np.array([0.5, -math.inf, 0.25]), shares, 3, 0, 1.0)
    assert shares[1] == 0.0
    assert case > 0.0
    assert best_proportions(np.array([0.5, -math.inf, -math.inf]), shares, 3, 0, 1.0) == 0.0
    assert shares.tolist() == [1.0, 0.0, 0.0]
