"""Regrets and alarms as the papers, their code and our pages say.

With the paper's rules, the trajectories are those of the oracles (tests/oracle), which is more.
"""

import math

import numpy as np
import pytest
from benchmarks.suite.problems import calm_problems

import lastblock as lb
from lastblock import theory
from lastblock.lab.paper.authors import HORIZON, agreement, as_published, figures
from lastblock.lab.scenario import Scenario
from trials import mostly_trials, trial

THE_PAPERS = ("LB-SDA", "LB-SDA-LM", "SW-LB-SDA")  # other policies are for trials
FIGURES = [
    pytest.param(
        each,
        id=f"{each.scenario}-{each.policy}",
        marks=[] if each.policy in THE_PAPERS else trial,
    )
    for each in figures()
]


@pytest.mark.parametrize("figure", FIGURES)
def test_in_reference_mode_it_is_that_of_the_authors_code(figure):
    """`lastblock reproduce` makes the same comparison, with the same figures."""
    (scenario,) = as_published([Scenario.load(figure.scenario)])
    policy = scenario.policies[figure.policy]
    regret = final(policy, scenario.environment, HORIZON, 2000, seed=2021)
    assert agreement(figure, regret).agrees == "yes"


def final(policy, environment, horizon=10_000, replications=300, seed=1):
    run = lb.simulate(
        policy, environment, horizon=horizon, replications=replications, seed=seed, times=[horizon]
    )
    return run.regret[:, -1]


def error_of(*samples):
    return math.hypot(*(x.std(ddof=1) / math.sqrt(x.size) for x in samples))


PROMISED = {
    "bernoulli-changes": 115.0,
    "gaussian-changes": 120.0,
    "gaussian-variance-changes-notebook": 195.0,
}


@pytest.mark.parametrize("name", mostly_trials(PROMISED, {"bernoulli-changes"}))
def test_adaptive_lbsda_has_less_than_a_tuned_window(name):
    """Little more than half of it."""
    environment = Scenario.load(name).environment
    window = lb.SWLBSDA.tuned(horizon=10_000, changes=len(environment.changes))
    adaptive, tuned = (final(each, environment) for each in (lb.AdaptiveLBSDA(), window))
    assert adaptive.mean() <= PROMISED[name] + 3.0 * error_of(adaptive)
    gain = 0.6 * tuned - adaptive
    assert gain.mean() > 3.0 * error_of(gain)


CALM = {
    **calm_problems(),
    "even coins": lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.4)]),
    "two humps": lb.Stationary([lb.Beta(0.2, 0.3), lb.Beta(0.3, 0.2)]),  # the worst that we found
}


@pytest.mark.parametrize("family", mostly_trials(CALM, {"Bernoulli", "even coins"}))
def test_adaptive_lbsda_hardly_has_a_false_restart(family):
    """At most 0.05 in 10⁴ steps, up to three deviations of a Poisson count."""
    run = lb.simulate(lb.AdaptiveLBSDA(), CALM[family], horizon=10_000, replications=1000, seed=1)
    most = 0.05 * 1000
    assert run.restarts.sum() <= most + 3.0 * math.sqrt(most)


def test_glrklucb_seldom_raises_a_false_alarm():
    """At most δ of the tests of an arm that never changes ever raise one, forced pulls or not."""
    world = lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.5)])
    policy = lb.GLRKLUCB(exploration=0.0, delta=0.1)
    run = lb.simulate(policy, world, horizon=300, replications=1000, seed=1)
    # 2000 tests with a mean of at most 200 alarms: four standard deviations above it.
    assert run.restarts.sum() <= 200 + 4 * math.sqrt(2000 * 0.1 * 0.9)


@pytest.mark.parametrize("policy", [pytest.param(lb.KLUCB(), marks=trial), lb.IMED()])
def test_it_grows_at_the_rate_of_lai_and_robbins(policy):
    """Between t and t², it grows by C log t, up to terms of lower order."""
    environment = lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    times = [300, 90_000]
    run = lb.simulate(policy, environment, horizon=90_000, replications=400, seed=2021, times=times)
    expected = np.diff(theory.lower_bound(environment, times))[0]
    assert 0.7 * expected < np.diff(run.mean())[0] < 1.45 * expected


@trial
def test_forgetting_beats_not_forgetting_when_arms_change():
    """In the order that the paper reports: the window ahead of the discount."""
    environment = Scenario.load("bernoulli-changes").environment
    tuned = {"horizon": 10_000, "changes": 2, "reference": True}
    policies = lb.SWKLUCB.tuned(**tuned), lb.DKLUCB.tuned(**tuned), lb.KLUCB()
    window, discount, never = (final(policy, environment) for policy in policies)
    assert window.mean() + 4.0 * error_of(window, discount) < discount.mean()
    assert discount.mean() + 4.0 * error_of(discount, never) < never.mean()
    alarms = final(lb.GLRKLUCB.tuned(horizon=10_000, local=False), environment)
    assert alarms.mean() + 4.0 * error_of(alarms, never) < never.mean()


@trial
@pytest.mark.parametrize(("family", "regret"), [("bernoulli", 17.1), ("bounded", 6.3)])
def test_imed_on_beta_arms(family, regret):
    """17.1 with Bernoulli's divergence, as others have measured, and little more than a third."""
    world = lb.Stationary([lb.Beta(4 * mean, 4 * (1 - mean)) for mean in (0.3, 0.45, 0.6)])
    found = final(lb.IMED(family), world, 1500, 400)
    assert abs(found.mean() - regret) < 4.0 * error_of(found) + 0.05


@pytest.mark.parametrize("policy", [lb.DUCB(discount=0.5, scale=1e-3), lb.DUCB(discount=0.9)])
def test_ducb_counts_do_not_underflow(policy):
    # The worse arm is so bad that no bonus below that of a forgotten arm brings it back.
    world = lb.Stationary([lb.Dirac(0.0), lb.Dirac(-1e180)])
    again = np.flatnonzero(lb.trace(policy, world, horizon=100_000, seed=1).arms == 1)
    assert 1 < again.size < 200
