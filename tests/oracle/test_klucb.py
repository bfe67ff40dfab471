"""The kl-UCB policies and IMED take their twins' decisions, one by one."""

import pytest

import lastblock as lb
import oracle.klucb
from oracle.worlds import (
    World,
    bernoulli,
    constant,
    dyadic,
    gaussian,
    play,
    regimes,
    small_integers,
)
from trials import short_and_long

BERNOULLI = {}
GAUSSIAN = {"family": "gaussian", "sigma": 0.5}
POISSON = {"family": "poisson"}
EXPONENTIAL = {"family": "exponential"}


def positive(rng, levels, t, arm):
    return rng.expovariate(1.0) * (0.5 + levels[arm])


def shares(rng, levels, t, arm):
    """Rewards in [0, 1] that are not binary: means come close to 1."""
    return rng.randint(0, 8) / 8 if rng.random() > levels[arm] else 1.0


def halves(rng, levels, t, arm):
    return rng.randint(0, 2) / 2


def eighths(rng, levels, t, arm):
    return rng.randint(0, 4) / 8 + round(2 * levels[arm]) / 4


def uniforms(rng, levels, t, arm):
    return rng.random() * (0.5 + 0.5 * levels[arm])


def mixed(rng, levels, t, arm):
    """Zeros, ones, and numbers between."""
    return rng.choice([0.0, 1.0, rng.random(), rng.random() ** (0.5 + levels[arm])])


def far_below_one(rng, levels, t, arm):
    return 0.1 * rng.random() + 0.1 * levels[arm]


CASES = [
    (BERNOULLI, bernoulli, 2, 400),
    (BERNOULLI, bernoulli, 4, 400),
    (BERNOULLI, shares, 3, 300),
    (BERNOULLI, halves, 3, 200),
    (BERNOULLI, eighths, 4, 200),
    (BERNOULLI, constant, 4, 150),
    (BERNOULLI, bernoulli, 5, 60),
    (GAUSSIAN, gaussian, 2, 300),
    (GAUSSIAN, dyadic, 4, 300),
    (GAUSSIAN, regimes, 3, 300),
    (POISSON, small_integers, 4, 300),
    (POISSON, regimes, 4, 200),
    (EXPONENTIAL, positive, 3, 300),
    (EXPONENTIAL, small_integers, 4, 200),
]
VARIANTS = [
    ("KLUCB", {}),
    ("KLUCB", {"c": 0.3}),
    ("SWKLUCB", {"window": 50}),
    ("SWKLUCB", {"window": 7, "c": 0.5}),
    ("SWKLUCB", {"window": 30, "reference": True}),
    ("DKLUCB", {"discount": 0.97}),
    ("DKLUCB", {"discount": 0.9, "reference": True}),
    ("DKLUCB", {"discount": 1.0, "c": 2.0}),
    ("IMED", {}),
    ("MED", {}),
]
BOUNDED_KINDS = [bernoulli, uniforms, mixed, far_below_one]


@short_and_long("share", 0.4, 1.0)
@pytest.mark.parametrize(("model", "kind", "arms", "horizon"), CASES)
@pytest.mark.parametrize(("name", "parameters"), VARIANTS)
def test_same_decisions(name, parameters, model, kind, arms, horizon, share):
    seed = [arms, horizon]
    horizon = int(share * horizon)
    given = {**parameters, **model}
    twin = getattr(oracle.klucb, name)(arms, seed, **given)
    play(lb.POLICIES[name](**given), twin, World(kind, arms, horizon), horizon, seed)


@short_and_long("worlds", [(2, 60), (3, 100), (5, 30)], [(2, 200), (3, 250), (5, 150)])
@pytest.mark.parametrize("kind", BOUNDED_KINDS)
@pytest.mark.parametrize("name", ["KLUCB", "IMED", "MED"])
def test_same_decisions_with_any_law_on_the_unit_interval(name, kind, worlds):
    for arms, horizon in worlds:
        test_same_decisions(name, {}, {"family": "bounded"}, kind, arms, horizon, 1.0)


def test_tuned():
    assert lb.SWKLUCB.tuned(horizon=10_000, changes=3, family="poisson").window == 350
    assert lb.DKLUCB.tuned(horizon=10_000, changes=4) == lb.DKLUCB(0.995)
