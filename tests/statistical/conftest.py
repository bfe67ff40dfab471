"""The scenarios of the reference data, and the rows themselves."""

import csv
from pathlib import Path

import pytest

import lastblock as lb

HORIZON = 10_000
REFERENCE = Path(__file__).parents[1] / "data" / "regret.csv"


def bernoullis(*means):
    return [lb.Bernoulli(mean) for mean in means]


def gaussians(*means):
    return [lb.Gaussian(mean, 0.5) for mean in means]


SCENARIOS = {
    "stationary": lb.Stationary(bernoullis(0.05, 0.15)),
    "bernoulli-changes": lb.Piecewise(
        {
            0: bernoullis(0.5, 0.3, 0.4),
            3000: bernoullis(0.3, 0.7, 0.2),
            5000: bernoullis(0.5, 0.3, 0.6),
        }
    ),
    "gaussian-changes": lb.Piecewise(
        {
            0: gaussians(0.9, 0.5, 0.4),
            2500: gaussians(0.4, 0.8, 0.5),
            4500: gaussians(0.3, 0.2, 0.7),
            7000: gaussians(0.9, 0.8, 0.4),
        }
    ),
}


@pytest.fixture(scope="session")
def scenarios():
    return SCENARIOS


@pytest.fixture(scope="session")
def horizon():
    return HORIZON


@pytest.fixture(scope="session")
def reference():
    """(scenario, policy) → (mean final regret, its standard error)."""
    with REFERENCE.open(newline="") as file:
        return {
            (row["scenario"], row["policy"]): (
                float(row["final_regret"]),
                float(row["standard_error"]),
            )
            for row in csv.DictReader(file)
        }
