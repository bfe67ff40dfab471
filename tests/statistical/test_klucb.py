"""kl-UCB and its relatives against numbers and formulas from outside."""

import math

import numpy as np
import pytest

import lastblock as lb
from lastblock import theory
from trials import trial


def final_regret(policy, environment, horizon=10_000, replications=1000):
    run = lb.simulate(
        policy,
        environment,
        horizon=horizon,
        replications=replications,
        seed=2021,
        times=[horizon],
        progress=False,
    )
    return float(run.mean()[-1]), float(run.standard_error()[-1])


def test_gaussian_index_is_that_of_ucb():
    """kl-UCB for Gaussian arms is mean + σ √(2 log t / N): play that by hand."""
    sigma, rng = 0.5, np.random.default_rng(4)
    bandit = lb.Bandit(lb.KLUCB("gaussian", sigma=sigma), 3, seed=4)
    rewards = [[], [], []]
    for t in range(1, 400):
        decision = bandit.ask()
        if t > 3:
            indices = [
                np.mean(seen) + sigma * math.sqrt(2.0 * math.log(t) / len(seen)) for seen in rewards
            ]
            assert decision.arm == np.argmax(indices)
        reward = rng.normal((0.9, 0.5, 0.4)[decision.arm], sigma)
        bandit.tell(decision, reward)
        rewards[decision.arm].append(reward)


@pytest.mark.parametrize("policy", [pytest.param(lb.KLUCB(), marks=trial), lb.IMED()])
def test_worse_arm_is_pulled_at_the_rate_of_lai_and_robbins(policy):
    """Between t and t², the regret grows by C log t, up to terms of lower order."""
    environment = lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    early, late = 300, 90_000
    run = lb.simulate(
        policy,
        environment,
        horizon=late,
        replications=400,
        seed=2021,
        times=[early, late],
        progress=False,
    )
    growth = run.mean()[1] - run.mean()[0]
    expected = np.diff(theory.lower_bound(environment, [early, late]))[0]
    assert 0.7 * expected < growth < 1.45 * expected


@trial
def test_forgetting_beats_not_forgetting_when_arms_change(scenarios, horizon):
    """In the order that the paper reports: the window ahead of the discount."""
    environment = scenarios["bernoulli-changes"]
    tuned = {"horizon": horizon, "changes": 2, "reference": True}
    window, window_error = final_regret(lb.SWKLUCB.tuned(**tuned), environment, replications=300)
    discount, discount_error = final_regret(lb.DKLUCB.tuned(**tuned), environment, replications=300)
    never, never_error = final_regret(lb.KLUCB(), environment, replications=300)
    assert window + 4.0 * math.hypot(window_error, discount_error) < discount
    assert discount + 4.0 * math.hypot(discount_error, never_error) < never


@trial
@pytest.mark.parametrize("policy", [lb.SWKLUCB, lb.DKLUCB])
def test_a_logarithm_of_what_is_remembered_explores_less(policy, scenarios, horizon):
    """By a tenth and more on the paper's Bernoulli instance, at the same window or discount."""
    environment = scenarios["bernoulli-changes"]
    tuned = policy.tuned(horizon=horizon, changes=2)
    short, short_error = final_regret(tuned, environment, replications=200)
    long, long_error = final_regret(tuned._replace(reference=True), environment, replications=200)
    assert short + 4.0 * math.hypot(short_error, long_error) < long


@trial
@pytest.mark.parametrize("local", [True, False])
def test_glr_finds_the_changes(local, scenarios, horizon):
    policy = lb.GLRKLUCB.tuned(horizon=horizon, local=local)
    regret, error = final_regret(policy, scenarios["bernoulli-changes"], replications=200)
    never, never_error = final_regret(lb.KLUCB(), scenarios["bernoulli-changes"], replications=200)
    assert regret + 4.0 * math.hypot(error, never_error) < never


def test_glr_seldom_raises_a_false_alarm():
    """At most δ of the tests of an arm that never changes ever raise one, forced pulls or not."""
    policy = lb.GLRKLUCB(exploration=0.0, delta=0.1)
    alarms = 0
    for seed in range(100):
        bandit = lb.Bandit(policy, 2, seed=seed, room=4)
        rng = np.random.default_rng(seed)
        for _ in range(300):
            decision = bandit.ask()
            bandit.tell(decision, float(rng.random() < 0.5))
        alarms += sum(since > 0 for since in restarts(bandit))
    # 200 tests with a mean of at most 20 alarms: four standard deviations above it.
    assert alarms <= 20 + 4 * math.sqrt(200 * 0.1 * 0.9)


def restarts(bandit):
    return [int(since) for since in bandit._desk.live.s.since[:2]]
