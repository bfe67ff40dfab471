"""What Adaptive LB-SDA promises: regrets on changing worlds, and hardly a false restart."""

import math

import pytest
from benchmarks.suite.problems import calm_problems

import lastblock as lb
from lastblock.lab.scenario import Scenario
from trials import mostly_trials

PROMISED = {
    "bernoulli-changes": 115.0,
    "gaussian-changes": 120.0,
    "gaussian-variance-changes-notebook": 195.0,
}


@pytest.mark.parametrize("name", mostly_trials(PROMISED, {"bernoulli-changes"}))
def test_regret_where_the_world_changes(name):
    """Less than half of what the tuned window has."""
    environment = Scenario.load(name).environment
    changes = len(environment.changes)
    adaptive, tuned = (
        lb.simulate(policy, environment, horizon=10_000, replications=400, seed=1)
        for policy in (lb.AdaptiveLBSDA(), lb.SWLBSDA.tuned(horizon=10_000, changes=changes))
    )
    assert adaptive.mean()[-1] <= PROMISED[name] + 3.0 * adaptive.standard_error()[-1]
    gain = 0.6 * tuned.regret[:, -1] - adaptive.regret[:, -1]
    assert gain.mean() > 3.0 * gain.std(ddof=1) / math.sqrt(gain.size)


CALM = {
    **calm_problems(),
    "even coins": lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.4)]),
    "two humps": lb.Stationary([lb.Beta(0.2, 0.3), lb.Beta(0.3, 0.2)]),  # the worst that we found
}


@pytest.mark.parametrize("family", mostly_trials(CALM, {"Bernoulli", "even coins"}))
def test_hardly_a_false_restart(family):
    """At most 0.05 in 10⁴ steps, up to three deviations of a Poisson count."""
    run = lb.simulate(lb.AdaptiveLBSDA(), CALM[family], horizon=10_000, replications=1000, seed=1)
    most = 0.05 * 1000
    assert run.restarts.sum() <= most + 3.0 * math.sqrt(most)
