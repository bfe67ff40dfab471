"""In reference mode, the regrets are those of the authors' published code.

With the paper's rules, the trajectories are those of the oracles (tests/oracle), which is more.
"""

import csv
import math
from pathlib import Path

import pytest

import lastblock as lb
from lastblock.lab.scenario import Scenario

REPLICATIONS = 2000
DATA = Path(__file__).parents[1] / "data" / "regret.csv"
LABELS = {"EXP3S": "EXP3.S"}  # as the figures spell it

with DATA.open(newline="") as file:
    ROWS = list(csv.DictReader(file))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['scenario']}-{row['policy']}")
def test_final_regret_is_that_of_the_authors_code(row):
    scenario = Scenario.load(row["scenario"], reference=True)
    policy = scenario.policies[LABELS.get(row["policy"], row["policy"])]
    run = lb.simulate(
        policy,
        scenario.environment,
        horizon=scenario.horizon,
        replications=REPLICATIONS,
        seed=2021,
        times=[scenario.horizon],
    )
    # Both means are random: their difference has the root of the sum of the squared errors, and
    # passes four of them once in 16 000 fresh seeds.
    error = math.hypot(float(row["standard_error"]), run.standard_error()[-1])
    assert abs(run.mean()[-1] - float(row["final_regret"])) < 4.0 * error


@pytest.mark.parametrize(
    ("name", "figure"),
    [("gaussian-changes", 738.0), ("gaussian-variance-changes-notebook", 750.0)],
)
def test_exp3s_takes_gaussian_rewards_as_the_authors_figures_do(name, figure):
    """Read off their figures; clipped to [0, 1] it would end above 920."""
    scenario = Scenario.load(name, reference=True)
    run = lb.simulate(
        scenario.policies["EXP3.S"],
        scenario.environment,
        horizon=scenario.horizon,
        replications=REPLICATIONS,
        seed=2021,
        times=[scenario.horizon],
    )
    # Theirs is a mean of 300 replications of the same law, rounded to whole numbers.
    spread = float(run.regret[:, -1].std(ddof=1))
    error = spread * math.sqrt(1.0 / 300 + 1.0 / REPLICATIONS)
    assert abs(run.mean()[-1] - figure) < 4.0 * error + 0.5
