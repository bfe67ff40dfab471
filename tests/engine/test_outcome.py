"""What the engine writes down of a run, against a plain recount from the trace."""

from itertools import pairwise

import numpy as np

import lastblock as lb

ENV = lb.Piecewise(
    {
        0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.9)],
        150: [lb.Bernoulli(0.1), lb.Bernoulli(0.9), lb.Bernoulli(0.2)],
        280: [lb.Bernoulli(0.5), lb.Bernoulli(0.4), lb.Bernoulli(0.6)],
    }
)
HORIZON = 300


def test_pulls_delays_and_best_pulls_are_those_of_the_trace():
    policy = lb.SWLBSDA(window=60)
    run = lb.simulate(policy, ENV, horizon=HORIZON, seed=5)
    arms = lb.trace(policy, ENV, horizon=HORIZON, seed=5).arms
    is_best = [ENV.means(t)[arm] == ENV.best_mean(t) for t, arm in enumerate(arms)]
    assert run.best_pulls[0].tolist() == [sum(is_best[:t]) for t in run.times]
    edges = [*ENV.starts, HORIZON]
    for p, (start, end) in enumerate(pairwise(edges)):
        counts = np.bincount(arms[start:end], minlength=3)
        assert run.phase_pulls[0, p].tolist() == counts.tolist()
        assert run.delays[0, p] == found_after(is_best[start:end])
    assert run.delays[0, 0] >= 32
    assert run.delays[0, 2] == -1  # the phase is too short to be sure
    assert run.pulls[0].tolist() == np.bincount(arms).tolist()


def found_after(is_best):
    """Pulls until a best arm took 32 of the last 64."""
    for n in range(1, len(is_best) + 1):
        if sum(is_best[max(0, n - 64) : n]) >= 32:
            return n
    return -1


def test_drifting_arms_are_one_phase():
    paths = [lb.Sinusoid(0.5, 0.4, period=100, phase=k / 4) for k in range(4)]
    env = lb.Drifting([lb.Bernoulli(0.5)] * 4, means=paths)
    run = lb.simulate(lb.LBSDALM(), env, horizon=HORIZON, seed=5)
    assert run.phase_pulls.shape == (1, 1, 4)
    assert run.pulls.sum() == HORIZON
