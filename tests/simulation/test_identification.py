"""What a simulation says of the search for the best arm is what was played says."""

import json
import math

import numpy as np
import pytest

import lastblock as lb

COINS = lb.Stationary([lb.Bernoulli(0.1), lb.Bernoulli(0.9), lb.Bernoulli(0.4)])
NORMALS = lb.Stationary([lb.Gaussian(5.2, 0.5), lb.Gaussian(6.7, 0.5), lb.Gaussian(4.4, 0.5)])
BETAS = lb.Stationary([lb.Beta(2, 8), lb.Beta(9, 1), lb.Beta(5, 5)])
SETTING = {"horizon": 480, "seed": 3}

pytestmark = pytest.mark.usefixtures("plain")


def means_of(environment):
    return np.array([arm.mean for arm in environment.phases[0]])


@pytest.mark.parametrize(
    ("environment", "bounds", "policy"),
    [
        (COINS, None, lb.LUCB()),
        (NORMALS, None, lb.EpsilonGreedy(1.0)),  # each arm needs a hundred rewards
        (BETAS, (0, 1), lb.LUCB()),
    ],
    ids=["coins", "normals", "betas"],
)
def test_it_stops_when_a_live_bandit_would(environment, bounds, policy):
    run = lb.simulate(policy, environment, **SETTING, confidence=0.8, times=[1, 2, 5, 30])
    found, played = run.identification, lb.trace(policy, environment, **SETTING)
    means = means_of(environment)
    bandit = lb.Bandit(lb.UCB1(), 3, seed=1)  # it only learns
    stopped, regrets = -1, {}
    for t, (arm, reward) in enumerate(zip(played.arms, played.rewards, strict=True), 1):
        bandit.observe(int(arm), float(reward))
        if stopped < 0:
            verdict = bandit.verdict(0.8, bounds=bounds)
            stopped = t if verdict.stop else -1
        if t in run.times:
            seen = {row.arm: row.mean for row in bandit.summary().arms if row.pulls}
            first = [k for k, mean in seen.items() if mean == max(seen.values())]
            regrets[t] = np.mean([means.max() - means[k] for k in first])
    assert stopped > 0
    assert found.stopped.tolist() == [stopped]
    assert found.stopped_wrong.tolist() == [False]
    assert found.simple_regret[0] == pytest.approx(list(regrets.values()))
    assert found.wrong[0] == pytest.approx([float(regret > 0) for regret in regrets.values()])


def test_it_changes_nothing_else():
    plain = lb.simulate(lb.LUCB(), COINS, **SETTING, replications=5)
    asked = lb.simulate(lb.LUCB(), COINS, **SETTING, replications=5, confidence=0.9, threads=2)
    again = lb.simulate(lb.LUCB(), COINS, **SETTING, replications=5, confidence=0.9, threads=1)
    assert plain.identification is None
    for run in (asked, again):
        assert np.array_equal(run.regret, plain.regret)
        assert np.array_equal(run.pulls, plain.pulls)
        assert np.array_equal(run.identification.stopped, asked.identification.stopped)
        assert np.array_equal(run.identification.wrong, asked.identification.wrong)


def test_figures():
    found = lb.simulate(lb.LUCB(), COINS, **SETTING, replications=20, confidence=0.6).identification
    assert found.replications == 20
    assert found.quantile(0.0) == found.stopped[found.stopped > 0].min()
    assert found.quantile(0.05) <= found.quantile(0.5) <= found.quantile(1.0)
    assert found.undecided == np.mean(found.stopped < 0)
    error, of_it = found.stopping_error()
    assert error == found.stopped_wrong.mean()
    assert of_it == pytest.approx(math.sqrt(error * (1 - error) / 20))
    if found.undecided:
        assert found.mean_stopping_time() == (math.inf, math.inf)
    assert found.mean_simple_regret()[-1] < found.mean_simple_regret()[0]
    assert found.error_probability()[0] == pytest.approx(found.wrong[:, 0].mean())
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert said["stopped"] == found.stopped.tolist()
    assert repr(found).startswith("<Identification at 60 %: stopped after ")
    with pytest.raises(ValueError, match="q=2"):
        found.quantile(2)


def test_arms_of_a_prior_are_judged_by_their_own_means():
    prior = lb.Prior(lb.Bernoulli, 3, mean=lb.Beta(1, 1))
    run = lb.simulate(lb.LUCB(), prior, **SETTING, replications=10, confidence=0.5)
    found = run.identification
    assert len({round(x, 9) for x in found.simple_regret[:, 0]}) > 3
    assert found.mean_simple_regret()[-1] < 0.05 < found.mean_simple_regret()[0]


def test_ties_count_in_part():
    arms = lb.Stationary([lb.Dirac(0.0), lb.Bernoulli(1e-9), lb.Dirac(0.0)])
    found = lb.simulate(lb.LUCB(), arms, **SETTING, confidence=0.9).identification
    assert found.wrong[0, -1] == pytest.approx(2 / 3)
    assert found.stopped.tolist() == [-1]


def test_how_hard_it_is():
    arms = lb.Stationary([lb.Gaussian(1.0, 0.5), lb.Gaussian(2.0, 0.5)])
    assert lb.theory.characteristic_time(arms) == pytest.approx(8 * 0.25)  # 8σ²/Δ²
    level = lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.5)])
    assert lb.theory.characteristic_time(level) == math.inf
    with pytest.raises(ValueError, match="different standard deviations"):
        lb.theory.characteristic_time(lb.Stationary([lb.Gaussian(0, 1), lb.Gaussian(1, 2)]))
    with pytest.raises(ValueError, match="changes over time"):
        lb.theory.characteristic_time(lb.Piecewise({0: COINS.phases[0], 50: COINS.phases[0][::-1]}))
