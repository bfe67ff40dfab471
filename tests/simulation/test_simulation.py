"""What `simulate` and `trace` promise."""

import sys

import numpy as np
import pytest

import lastblock as lb

ENV = lb.Piecewise(
    {
        0: [lb.Bernoulli(0.5), lb.Bernoulli(0.3), lb.Gaussian(0.4, 0.1)],
        300: [lb.Bernoulli(0.3), lb.Bernoulli(0.7), lb.Gaussian(0.4, 0.1)],
    }
)
STILL = lb.Stationary([lb.Bernoulli(0.1), lb.Bernoulli(0.9), lb.Bernoulli(0.4)])
POLICY = lb.LBSDALM()
HORIZON = 1000


def simulate(**changes):
    options = {"policy": POLICY, "environment": ENV, "horizon": HORIZON, "seed": 1, **changes}
    return lb.simulate(**options)


def test_shapes_and_types():
    run = simulate(replications=20)
    assert run.regret.dtype == np.float64
    assert run.regret.shape == (20, run.times.size)
    assert run.pulls.dtype == np.int64
    assert run.pulls.shape == (20, 3)
    assert (run.pulls.sum(axis=1) == HORIZON).all()
    assert run.times.dtype == np.int64
    assert run.times[-1] == HORIZON
    assert 100 < run.times.size < 203
    assert (np.diff(run.times) > 0).all()
    assert (run.replications, run.horizon) == (20, HORIZON)
    assert (run.policy, run.environment) == (POLICY, ENV)
    assert run.seconds > 0.0
    assert repr(run).startswith("<Run of LBSDALM(")


def test_regret_never_decreases():
    regret = simulate(replications=20, times=range(1, HORIZON + 1)).regret
    assert (regret >= 0.0).all()
    assert (np.diff(regret, axis=1) >= 0.0).all()


def test_times():
    everywhere = simulate(replications=5, times=range(1, HORIZON + 1))
    some = simulate(replications=5, times=[1, 299, 300, 301, HORIZON])
    assert some.times.tolist() == [1, 299, 300, 301, HORIZON]
    assert (some.regret == everywhere.regret[:, some.times - 1]).all()
    default = simulate(replications=5)
    assert (default.regret == everywhere.regret[:, default.times - 1]).all()
    assert simulate(times=np.array([7, 8])).times.tolist() == [7, 8, HORIZON]
    assert simulate(times=[]).times.tolist() == [HORIZON]


def test_seeds():
    assert (simulate(seed=1).regret == simulate(seed=np.random.SeedSequence(1)).regret).all()
    assert (simulate(seed=1).regret != simulate(seed=2).regret).any()
    assert (simulate(seed=None).regret != simulate(seed=None).regret).any()
    assert len(np.unique(simulate(replications=20).regret[:, -1])) > 10


def test_statistics():
    run = simulate(replications=20)
    np.testing.assert_allclose(run.mean(), run.regret.mean(axis=0))
    error = run.regret.std(axis=0, ddof=1) / np.sqrt(20)
    np.testing.assert_allclose(run.standard_error(), error)
    np.testing.assert_allclose(run.quantile(0.5), np.median(run.regret, axis=0))
    assert (run.quantile(0.0) == run.regret.min(axis=0)).all()
    assert (run.quantile(1.0) == run.regret.max(axis=0)).all()
    alone = simulate()
    assert alone.replications == 1
    assert np.isnan(alone.standard_error()).all()


def test_the_shortest_horizon_pulls_each_arm_once():
    env = lb.Stationary([lb.Bernoulli(0.5)] * 3)
    assert lb.simulate(POLICY, env, horizon=3, seed=1).pulls.tolist() == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 2}, "horizon=2 is shorter than the 3 arms"),
        ({"horizon": 1000.0}, "horizon=1000.0 must be a whole number"),
        ({"horizon": True}, "horizon=True must be a whole number"),
        ({"replications": 0}, "replications=0 must be at least 1"),
        ({"replications": 10**9}, "must be at most 100,000,000; run more in parts"),
        ({"replications": "ten"}, "replications='ten' must be a whole number"),
        ({"threads": 0}, "threads=0 must be at least 1"),
        ({"times": [0, 10]}, "times must increase, from at least 1"),
        ({"times": [20, 10]}, "times must increase"),
        ({"times": [10, 10]}, "times must increase"),
        ({"times": [10, HORIZON + 1]}, f"at most the horizon {HORIZON}"),
        ({"times": [0.5]}, "times=0.5 must be a whole number"),
        ({"seed": -1}, "seed=-1 cannot seed"),
        ({"seed": 0.5}, "seed=0.5 cannot seed"),
        ({"policy": lb.SWLBSDA(window=2)}, "window=2 is too small for 3 arms"),
        ({"delay": "late"}, "delay='late' must be one of FixedDelay"),
        ({"confidence": 0.9}, "needs arms whose means do not change"),
        ({"confidence": 0.9, "environment": STILL, "delay": lb.FixedDelay(3)}, "leave delay or"),
        ({"confidence": 1, "environment": STILL}, "confidence=1"),
    ],
)
def test_errors_say_what_to_change(changes, message):
    with pytest.raises(ValueError, match=message):
        simulate(**changes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.quantile(1.1), r"q=1.1 must lie in \[0, 1\]"),
        (lambda run: run.quantile(-0.1), r"q=-0.1 must lie in \[0, 1\]"),
        (lambda run: run.plot(others=[simulate(horizon=900)]), "has the horizon 900 .* the same"),
        (lambda run: run.plot("run.jpg"), "use one of .png, .svg, .pdf"),
        (lambda run: run.plot(width=0.1), r"width=0\.1 must lie between"),
    ],
)
def test_errors_of_a_run(call, message):
    with pytest.raises(ValueError, match=message):
        call(simulate())


def test_progress_shows_a_bar(capsys):
    simulate(replications=4, progress=True)
    captured = capsys.readouterr()
    assert "rep" in captured.err
    assert captured.out == ""


def test_without_a_terminal_there_is_no_bar(capsys):
    assert not sys.stderr.isatty()
    simulate(replications=4)
    simulate(replications=4, progress=False)
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""
