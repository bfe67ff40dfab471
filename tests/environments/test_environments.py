"""Environments: their means in time, and that the engine's regret is made of exactly those."""

import numpy as np
import pytest

import lastblock as lb

CHANGING = lb.Piecewise(
    {
        0: [lb.Bernoulli(0.5), lb.Bernoulli(0.3), lb.Gaussian(0.4, 0.1)],
        3000: [lb.Bernoulli(0.3), lb.Bernoulli(0.7), lb.Beta(2.0, 8.0)],
        3500: [lb.Bernoulli(0.9), lb.Bernoulli(0.7), lb.Dirac(0.1)],
    }
)

DRIFTING = lb.Drifting(
    [lb.Bernoulli(0.5), lb.Gaussian(0.0, 0.3), lb.Exponential(1.0), lb.Dirac(0.0)],
    means=[
        lb.Sinusoid(0.5, 0.4, period=700.0),
        lb.Table([0.2, 0.8, 0.1], times=[0, 1000, 1500]),
        lb.Table(np.linspace(0.1, 0.9, 800)),
        lb.Sinusoid(0.4, -0.3, period=313.0, phase=0.25),
    ],
)


def test_means_of_phases():
    assert CHANGING.n_arms == 3
    assert CHANGING.changes == (3000, 3500)
    for t, means in [
        (0, [0.5, 0.3, 0.4]),
        (2999, [0.5, 0.3, 0.4]),
        (3000, [0.3, 0.7, 0.2]),
        (3499, [0.3, 0.7, 0.2]),
        (3500, [0.9, 0.7, 0.1]),
        (10**9, [0.9, 0.7, 0.1]),
    ]:
        np.testing.assert_allclose(CHANGING.means(t), means, rtol=1e-15)
        assert CHANGING.best_mean(t) == max(means)


def test_stationary_means():
    env = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
    assert env.changes == ()
    assert env.means(0).tolist() == env.means(10**9).tolist() == [0.05, 0.15]
    assert env.best_mean(17) == 0.15
    assert repr(env) == "Stationary([Bernoulli(mean=0.05), Bernoulli(mean=0.15)])"


def test_phases_beyond_the_horizon_are_not_reached():
    first = lb.Stationary(CHANGING.phases[0])
    short = lb.trace(lb.LBSDALM(), CHANGING, horizon=1000, seed=4)
    same = lb.trace(lb.LBSDALM(), first, horizon=1000, seed=4)
    assert (short.arms == same.arms).all()
    assert (short.rewards == same.rewards).all()


def test_sinusoid():
    path = lb.Sinusoid(0.5, 0.4, period=200, phase=0.25)
    t = np.arange(1000)
    expected = 0.5 + 0.4 * np.sin(2 * np.pi * (t / 200 + 0.25))
    # The argument of the sine is rounded: 1e-16 of up to 35.
    np.testing.assert_allclose([path.at(i) for i in t], expected, atol=1e-14)
    assert path.extremes() == (0.5 - 0.4, 0.5 + 0.4)
    assert lb.Sinusoid(0.5, -0.4, period=200).extremes() == path.extremes()


def test_table_with_times_is_linear_between_and_constant_after():
    path = lb.Table([0.2, 0.8, 0.1], times=[0, 1000, 1500])
    t = np.arange(2000)
    expected = np.interp(t, [0, 1000, 1500], [0.2, 0.8, 0.1])
    np.testing.assert_allclose([path.at(i) for i in t], expected, atol=1e-15)
    assert path.at(1500) == path.at(10**9) == 0.1


def test_table_without_times_is_one_value_a_step():
    path = lb.Table([0.3, 0.9, 0.5])
    assert [path.at(t) for t in range(6)] == [0.3, 0.9, 0.5, 0.5, 0.5, 0.5]


def test_means_of_drifting_arms():
    assert DRIFTING.n_arms == 4
    assert DRIFTING.changes == ()
    for t in (0, 1, 799, 800, 1200, 9999):
        means = [path.at(t) for path in DRIFTING.paths]
        assert DRIFTING.means(t).tolist() == means
        assert DRIFTING.best_mean(t) == max(means)


@pytest.mark.parametrize("env", [CHANGING, DRIFTING], ids=["piecewise", "drifting"])
def test_regret_is_made_of_the_means_at_the_time_of_the_pull(env):
    horizon, seed = 4000, 3
    policy = lb.LBSDALM()
    arms = lb.trace(policy, env, horizon=horizon, seed=seed).arms
    gaps = [env.best_mean(t) - env.means(t)[arm] for t, arm in enumerate(arms)]
    run = lb.simulate(policy, env, horizon=horizon, seed=seed, times=range(1, horizon + 1))
    # The same numbers are added in the same order; a sine may differ in its last digit.
    np.testing.assert_allclose(run.regret[0], np.cumsum(gaps), rtol=1e-12, atol=1e-12)
    assert run.pulls[0].tolist() == np.bincount(arms, minlength=env.n_arms).tolist()


@pytest.mark.parametrize("env", [CHANGING, DRIFTING], ids=["piecewise", "drifting"])
def test_rewards_follow_the_means(env):
    # Residuals of independent rewards: their sum, over its standard error, is standard normal.
    horizon = 4000
    deviations = []
    for seed in range(5):
        trace = lb.trace(lb.LBSDALM(), env, horizon=horizon, seed=seed)
        deviations += [
            reward - env.means(t)[arm]
            for t, (arm, reward) in enumerate(zip(trace.arms, trace.rewards, strict=True))
        ]
    error = np.std(deviations) / np.sqrt(len(deviations))
    assert abs(np.mean(deviations)) < 4 * error


TWO = [lb.Bernoulli(0.5), lb.Bernoulli(0.3)]
PATHS = [lb.Sinusoid(0.5, 0.1, period=100), lb.Sinusoid(0.5, 0.2, period=100)]
FAR = [PATHS[0], lb.Sinusoid(0.5, 0.6, period=9.0)]
DOWN = [PATHS[0], lb.Table([1.0, 0.0])]


def phases(more):
    return lb.Piecewise({0: TWO, **more})


def drifts(*arms, paths=PATHS):
    return lb.Drifting(arms, means=paths)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lb.Piecewise({}), "phases: give a dict"),
        (lambda: lb.Piecewise([TWO]), "phases: give a dict"),
        (lambda: lb.Piecewise({5: TWO}), "first phase starts at 5; it must start at 0"),
        (lambda: phases({30: TWO, 20: TWO}), r"starts \[0, 30, 20\] are out of order"),
        (lambda: phases({2.5: TWO}), "start=2.5 must be a whole number"),
        (lambda: phases({30: [*TWO, lb.Dirac(0.0)]}), r"\[2, 3\] arms; every phase needs the same"),
        (lambda: phases({30: TWO[:1]}), r"phases\[30\]: a bandit needs at least 2 arms, not 1"),
        (lambda: lb.Stationary(TWO[:1]), "arms: a bandit needs at least 2 arms, not 1"),
        (lambda: lb.Stationary([]), "at least 2 arms, not 0"),
        (lambda: lb.Stationary([lb.Bernoulli(0.5), 0.5]), "0.5 is not an arm; use one of"),
        (lambda: lb.Sinusoid(0.5, 0.1, period=0.0), "period=0.0 must be positive"),
        (lambda: lb.Sinusoid(0.5, float("nan"), period=1.0), "amplitude=nan must be finite"),
        (lambda: lb.Table([]), "values is empty"),
        (lambda: lb.Table([0.1, float("inf")]), "values=inf must be finite"),
        (lambda: lb.Table([0.1, 0.2], times=[0]), "1 times for 2 values"),
        (lambda: lb.Table([0.1, 0.2], times=[1, 2]), r"times=\[1, 2\] must start at 0 and incr"),
        (lambda: lb.Table([0.1, 0.2, 0.3], times=[0, 5, 5]), "must start at 0 and increase"),
        (lambda: lb.Table([0.1, 0.2], times=[0, 1.5]), "times=1.5 must be a whole number"),
        (lambda: drifts(*TWO, paths=PATHS[:1]), "means: 1 paths for 2 arms"),
        (lambda: drifts(*TWO, paths=[PATHS[0], 0.5]), "0.5 is not a path"),
        (lambda: drifts(*TWO[:1], paths=PATHS[:1]), "at least 2 arms, not 1"),
        (lambda: drifts(*TWO, paths=FAR), r"Bernoulli: mean=-0\.0999\d* must lie in \[0, 1\]"),
        (lambda: drifts(*[lb.Exponential(1.0)] * 2, paths=DOWN), "mean=0.0 must be positive"),
        (lambda: drifts(TWO[0], lb.Beta(1.0, 1.0)), r"Beta\(a=1.0, b=1.0\) cannot drift: its mean"),
        (lambda: drifts(TWO[0], lb.TruncatedGaussian(0.5, 0.1)), "cannot drift"),
        (lambda: CHANGING.means(-1), "t=-1 must not be negative"),
        (lambda: CHANGING.means(0.5), "t=0.5 must be a whole number"),
        (lambda: DRIFTING.means(-1), "t=-1 must not be negative"),
    ],
)
def test_errors_say_what_to_change(make, message):
    with pytest.raises(ValueError, match=message):
        make()
