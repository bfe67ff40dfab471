"""IMED, MED and kl-UCB for any law on [0, 1], against solvers and figures from outside."""

import math

import numpy as np
import pytest
from scipy import optimize

import lastblock as lb
from trials import trial

SAMPLES = {
    "between": [0.2, 0.35, 0.1, 0.5, 0.42],
    "a one": [0.2, 1.0, 0.1, 0.5, 0.0, 0.0],
    "close to one": [0.2, 0.3, 0.999, 0.1],
    "coins": [0.0, 1.0, 0.0, 0.0],
}


def told(policy, rewards, best):
    """The state of a bandit whose first arm has given `rewards`, and whose second one `best`."""
    bandit = lb.Bandit(policy, 2, seed=1)
    for reward in rewards:
        bandit.observe(0, reward)
    bandit.observe(1, best)
    for _ in range(4):  # the first round is planned before any reward
        bandit.ask()
    return bandit._desk.live.s


def dual_value(rewards, target):
    """K_inf by a maximisation over λ."""

    def loss(share):
        return -np.mean(np.log1p(-share * (np.array(rewards) - target) / (1.0 - target)))

    found = optimize.minimize_scalar(
        loss, bounds=(0.0, 1.0 - 1e-13), method="bounded", options={"xatol": 1e-13}
    )
    return max(-found.fun, -loss(0.0))


def primal_bound(rewards, level):
    """The largest mean of a law on the rewards and 1, at a divergence of at most `level`."""
    places = np.unique([*rewards, 1.0])
    shares = np.array([np.mean(np.array(rewards) == place) for place in places])
    seen = shares > 0.0

    def divergence(weights):
        return np.sum(shares[seen] * np.log(shares[seen] / weights[seen]))

    start = np.where(seen, 0.95 * shares, 0.0)
    start[-1] += 1.0 - start.sum()
    found = optimize.minimize(
        lambda weights: -weights @ places,
        start,
        bounds=[(1e-12, 1.0)] * places.size,
        constraints=[
            {"type": "eq", "fun": lambda weights: weights.sum() - 1.0},
            {"type": "ineq", "fun": lambda weights: level - divergence(weights)},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return -found.fun


@pytest.mark.parametrize("best", [0.6, 0.75, 0.95])
@pytest.mark.parametrize("name", SAMPLES)
def test_k_inf_is_the_maximum_over_lambda(name, best):
    rewards = SAMPLES[name]
    state = told(lb.MED("bounded"), rewards, best)
    found = -math.log(state["chance"][0] / state["chance"][1]) / len(rewards)
    assert found == pytest.approx(dual_value(rewards, best), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_bound_is_the_largest_mean_nearby(name):
    rewards = SAMPLES[name]
    # The other arm's bound is so close to that of this one that both are solved.
    policy = lb.KLUCB("bounded")
    state = told(policy, rewards, 0.9)
    level = float(state["level"][0])
    assert level > 0.0
    exact = primal_bound(rewards, level)
    assert state["index"][0] >= exact - 1e-6
    assert state["floor"][0] <= exact + 1e-6


@trial
def test_regret_on_beta_arms():
    """17.1 with Bernoulli's divergence, as others have measured, and little more than a third."""
    world = lb.Stationary([lb.Beta(4 * mean, 4 * (1 - mean)) for mean in (0.3, 0.45, 0.6)])
    found = {}
    for family in ("bernoulli", "bounded"):
        run = lb.simulate(lb.IMED(family), world, horizon=1500, replications=400, seed=1)
        found[family] = float(run.mean()[-1]), float(run.standard_error()[-1])
    assert abs(found["bernoulli"][0] - 17.1) < 4.0 * found["bernoulli"][1] + 0.05
    assert abs(found["bounded"][0] - 6.3) < 4.0 * found["bounded"][1] + 0.05
