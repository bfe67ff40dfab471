"""What Adaptive LB-SDA promises: regrets on changing worlds, and hardly a false restart."""

import math

import numpy as np
import pytest

import lastblock as lb
from lastblock.engine import Outcome, play
from lastblock.jit import specialise
from lastblock.lab.scenario import Scenario
from lastblock.lab.suite.problems import calm_problems
from lastblock.random import key_of
from lastblock.state import state_dtype

PROMISED = {
    "bernoulli-changes": 115.0,
    "gaussian-changes": 120.0,
    "gaussian-variance-changes-notebook": 205.0,
}


@pytest.mark.parametrize("name", PROMISED)
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


def count_restarts(policy, environment, horizon, replications):
    state = np.empty(1, state_dtype(policy, environment.n_arms, horizon))
    outcome = Outcome.empty(1, 1, 1, environment.n_arms)
    times, streams = np.array([horizon]), np.empty((2, 4), np.uint64)
    table = environment.compile(horizon)
    run = specialise(play, policy, table, state, key_of(1), streams, 0, times, outcome)
    total = 0
    for i in range(replications):
        run(policy, table, state, key_of(1), streams, i, times, outcome)
        total += int(state[0]["restarts"])
    return total


@pytest.mark.parametrize("family", calm_problems())
def test_hardly_a_false_restart(family):
    """At most 0.05 in 10⁴ steps, up to three deviations of a Poisson count."""
    policy, horizon, replications = lb.AdaptiveLBSDA(), 20_000, 60
    expected = 0.05 * replications * horizon / 1e4
    found = count_restarts(policy, calm_problems()[family], horizon, replications)
    assert found <= expected + 3.0 * math.sqrt(expected)
