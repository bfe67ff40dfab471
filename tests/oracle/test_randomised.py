"""The randomised policies and their naive twins take the same decisions, one by one."""

import itertools
import random

import pytest

import lastblock as lb
import oracle.lbsda
from oracle.randomised import (
    EXP3,
    EXP3S,
    BestArm,
    Binarized,
    EpsilonGreedy,
    OracleRestart,
    PlayTheWinner,
    Thompson,
    twin,
)
from oracle.sampling import Sampler
from oracle.worlds import bandit_of, follow
from trials import short_and_long


def bernoulli(rng, level, t):
    return float(rng.random() < level)


def thirds(rng, level, t):
    """Bounded, and full of ties."""
    return rng.choice([0.0, 0.25, 0.5, 1.0])


def bounded(rng, level, t):
    return rng.random() * level


def gaussian(rng, level, t):
    return rng.gauss(level, 0.5)


def changing(rng, level, t):
    return float(rng.random() < (level if t // 80 % 2 == 0 else 1.0 - level))


def assert_same_decisions(policy, make, arms, kind, seed, horizon):
    rng = random.Random(seed)
    levels = [rng.random() for _ in range(arms)]
    naive = make(arms, Sampler(seed))
    low, high = policy.support()
    steps = itertools.count()

    def reward(arm):
        return min(max(kind(rng, levels[arm], next(steps)), low), high)

    with bandit_of(policy, arms, seed) as bandit:
        follow(bandit, naive, reward, horizon)


GAUSSIAN = {"family": "gaussian", "prior_mean": 0.3, "prior_sigma": 0.8, "sigma": 0.4}
POISSON = {"family": "poisson", "prior_mean": 0.7, "prior_sigma": 0.4}
EXPONENTIAL = {"family": "exponential", "prior_mean": 0.7, "prior_sigma": 1.4}
CASES = [
    (lb.Thompson(), twin(Thompson)),
    (lb.Thompson(**POISSON), twin(Thompson, **POISSON)),
    (lb.Thompson(**EXPONENTIAL), twin(Thompson, **EXPONENTIAL)),
    (lb.DiscountedThompson(0.9, **POISSON), twin(Thompson, discount=0.9, **POISSON)),
    (lb.SlidingWindowThompson(30, **EXPONENTIAL), twin(Thompson, window=30, **EXPONENTIAL)),
    (lb.Thompson(**GAUSSIAN), twin(Thompson, **GAUSSIAN)),
    (lb.DiscountedThompson(0.95), twin(Thompson, discount=0.95)),
    (lb.DiscountedThompson(0.9, **GAUSSIAN), twin(Thompson, discount=0.9, **GAUSSIAN)),
    (lb.DiscountedThompson(1.0), twin(Thompson)),
    (lb.SlidingWindowThompson(40), twin(Thompson, window=40)),
    (lb.SlidingWindowThompson(1), twin(Thompson, window=1)),
    (lb.SlidingWindowThompson(25, **GAUSSIAN), twin(Thompson, window=25, **GAUSSIAN)),
    (lb.EpsilonGreedy(0.1), twin(EpsilonGreedy)),
    (lb.EpsilonGreedy(0.0), twin(EpsilonGreedy, epsilon=0.0)),
    (lb.EpsilonGreedy(5.0, 1.0), twin(EpsilonGreedy, epsilon=5.0, decay=1.0)),
    (lb.PlayTheWinner(), twin(PlayTheWinner)),
    (lb.PlayTheWinner(cyclic=False), twin(PlayTheWinner, cyclic=False)),
    (lb.EXP3(0.1), twin(EXP3)),
    (lb.EXP3(1.0), twin(EXP3, gamma=1.0)),
    (lb.REXP3(0.2, 30), twin(EXP3, gamma=0.2, batch=30)),
    (lb.REXP3(0.5, 1), twin(EXP3, gamma=0.5, batch=1)),
    (lb.EXP3S(0.1, 0.01), twin(EXP3S)),
    (lb.EXP3S(0.9, 0.9), twin(EXP3S, gamma=0.9, alpha=0.9)),
    (lb.EXP3S(0.2, 0.001, True), twin(EXP3S, gamma=0.2, alpha=0.001, reference=True)),
    (lb.EXP3S(0.1, 0.01, as_is=True), twin(EXP3S, as_is=True)),
]


@short_and_long("worlds", [(3, 2)], [(2, 1), (3, 2), (3, 3)])
@pytest.mark.parametrize("kind", [bernoulli, thirds, bounded, gaussian, changing])
@pytest.mark.parametrize(("policy", "make"), CASES, ids=[repr(case[0]) for case in CASES])
def test_same_decisions(policy, make, kind, worlds):
    for arms, seed in worlds:
        assert_same_decisions(policy, make, arms, kind, seed, 250)


@pytest.mark.parametrize(
    ("policy", "make"),
    [
        (lb.Thompson(), twin(Thompson)),
        (lb.EXP3S(0.2, 0.001), twin(EXP3S, gamma=0.2, alpha=0.001)),
        (lb.PlayTheWinner(cyclic=False), twin(PlayTheWinner, cyclic=False)),
    ],
)
def test_same_decisions_with_many_arms(policy, make):
    assert_same_decisions(policy, make, 5, thirds, 4, 200)


def test_weights_that_must_be_scaled():
    """With one arm that always pays, the weights pass every bound many times over."""

    def pays(rng, level, t):
        return 1.0

    assert_same_decisions(lb.EXP3(0.9), twin(EXP3, gamma=0.9), 2, pays, 5, 1500)
    make = twin(EXP3S, gamma=0.9, alpha=1e-3)
    assert_same_decisions(lb.EXP3S(0.9, 1e-3), make, 2, pays, 6, 1200)


def losses(rng, level, t):
    return -9.0 - level


def huge(rng, level, t):
    return 1e4 * rng.gauss(level, 1.0)


@pytest.mark.parametrize(("kind", "gamma"), [(losses, 0.9), (huge, 0.01)])
def test_weights_of_rewards_taken_as_they_are(kind, gamma):
    for way in ({"reference": True}, {"as_is": True}):
        make = twin(EXP3S, gamma=gamma, alpha=1e-3, **way)
        assert_same_decisions(lb.EXP3S(gamma, 1e-3, **way), make, 3, kind, 7, 2000)


def lbsda(arms, stream):
    made = oracle.lbsda.LBSDA(arms, 0)
    made.stream = stream
    return made


@pytest.mark.parametrize("kind", [bernoulli, thirds, bounded])
@pytest.mark.parametrize(
    ("inner", "make"), [(lb.Thompson(), twin(Thompson)), (lb.LBSDA(), lbsda)], ids=["ts", "lbsda"]
)
def test_binarized(inner, make, kind):
    for low, high, seed in [(0.0, 1.0, 1), (-1.0, 0.75, 2)]:
        assert_same_decisions(
            lb.Binarized(inner, low, high, clip=high < 1.0),
            lambda arms, stream, low=low, high=high: Binarized(make, arms, stream, low, high),
            3,
            kind,
            seed,
            250,
        )


@pytest.mark.parametrize(
    ("inner", "make"), [(lb.EpsilonGreedy(0.1), twin(EpsilonGreedy)), (lb.LBSDA(), lbsda)]
)
def test_oracle_restart(inner, make):
    # LB-SDA plays rounds of several arms: some of these changes fall into the middle of one.
    for seed in range(5):
        changes = (1, 30 + seed, 100, 101)
        assert_same_decisions(
            lb.OracleRestart(inner, changes),
            lambda arms, stream, changes=changes: OracleRestart(make, arms, stream, changes),
            3,
            bernoulli,
            seed,
            200,
        )


def test_best_arm():
    coins = [[lb.Bernoulli(rate) for rate in rates] for rates in [(1, 0, 1), (0, 1, 1), (0, 0, 1)]]
    tables = [lb.Table([0.1, 0.9, 0.5]), lb.Table([0.3, 0.3, 0.5])]
    environments = [
        (lb.Stationary(coins[0]), 20),
        (lb.Piecewise({0: coins[0], 7: coins[1], 8: coins[0], 9: coins[2]}), 20),
        (lb.Drifting([lb.Bernoulli(0.5)] * 2, tables), 3),
    ]
    for environment, horizon in environments:
        policy = lb.BestArm(environment, horizon=horizon)
        assert_same_decisions(
            policy,
            lambda arms, stream, environment=environment: BestArm(environment),
            environment.n_arms,
            bernoulli,
            1,
            horizon,
        )
