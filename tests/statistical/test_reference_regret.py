"""In reference mode, the regret is that of the authors' published code."""

import math

import pytest

import lastblock as lb

REPLICATIONS = 2000

CASES = [
    ("stationary", "LB-SDA", lb.LBSDA(reference=True)),
    ("stationary", "LB-SDA-LM", lb.LBSDALM(minimum=1, offset=50, reference=True)),
    ("bernoulli-changes", "SW-LB-SDA", lb.SWLBSDA(window=429, reference=True)),
    ("gaussian-changes", "SW-LB-SDA", lb.SWLBSDA(window=350, reference=True)),
]


@pytest.mark.parametrize(("scenario", "name", "policy"), CASES)
def test_final_regret_agrees_with_the_authors_code(
    scenario, name, policy, scenarios, reference, horizon
):
    expected, its_error = reference[scenario, name]
    run = lb.simulate(
        policy,
        scenarios[scenario],
        horizon=horizon,
        replications=REPLICATIONS,
        seed=2021,
        times=[horizon],
        progress=False,
    )
    # Both means are random: their difference has the root of the sum of the squared errors, and
    # passes four of them once in 16 000 fresh seeds.
    error = math.hypot(its_error, run.standard_error()[-1])
    assert abs(run.mean()[-1] - expected) < 4.0 * error
