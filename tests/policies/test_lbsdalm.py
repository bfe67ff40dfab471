"""LB-SDA-LM's memory for a gap: the formula, its limits, and that it is enough."""

import math

import numpy as np
import pytest

import lastblock as lb

HORIZON = 10_000
WORSE, BETTER = 0.05, 0.08


def final_regret(policy):
    world = lb.Stationary([lb.Bernoulli(WORSE), lb.Bernoulli(BETTER)])
    run = lb.simulate(policy, world, horizon=HORIZON, replications=200, seed=1, times=[HORIZON])
    return run.regret[:, -1]


def test_the_memory_is_what_the_formula_says():
    policy = lb.LBSDALM.for_gap(WORSE, BETTER, horizon=HORIZON)
    needed = math.log(HORIZON) / lb.theory.kl(WORSE, BETTER)
    assert policy == lb.LBSDALM(minimum=math.ceil(needed))
    gaussian = lb.LBSDALM.for_gap(-1.0, -0.9, horizon=HORIZON, family="gaussian", sigma=0.5)
    assert gaussian.minimum == math.ceil(math.log(HORIZON) * 2 * 0.25 / 0.01)
    assert lb.LBSDALM.for_gap(0.0, 5.0, horizon=9, family="gaussian") == lb.LBSDALM()
    assert lb.LBSDALM.for_gap(0.1, 1.0, horizon=9) == lb.LBSDALM()  # an infinite divergence


def test_the_memory_is_enough():
    """It has LB-SDA's regret, where the default memory has a linear one."""
    enough = final_regret(lb.LBSDALM.for_gap(WORSE, BETTER, horizon=HORIZON))
    everything, little = final_regret(lb.LBSDA()), final_regret(lb.LBSDALM())
    differences = enough - everything  # on the same draws
    error = float(differences.std(ddof=1)) / math.sqrt(differences.size)
    assert abs(float(differences.mean())) < 4.0 * error + 0.5
    assert float(np.mean(little)) > 2.0 * float(np.mean(enough))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.03, 0.02, 1000), "worse=0.03 must be below better=0.02"),
        ((0.02, 0.02, 1000), "worse=0.02 must be below better=0.02"),
        ((0.02, 1.2, 1000), r"better=1.2 must lie in \[0, 1\].*with their sigma"),
        ((math.nan, 0.3, 1000), "worse=nan must be finite"),
        ((0.02, 0.03, 1), "horizon=1 must be at least 2"),
        ((0.02, 0.03, 1e6), "horizon=1000000.0 must be a whole number"),
        ((0.5, 0.500001, 10**6), "keep 6.91e.12 rewards an arm, more than 16777216; use LBSDAGM"),
    ],
)
def test_impossible_gaps(arguments, message):
    worse, better, horizon = arguments
    with pytest.raises(ValueError, match=message):
        lb.LBSDALM.for_gap(worse, better, horizon=horizon)
