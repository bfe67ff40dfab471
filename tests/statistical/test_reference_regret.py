"""In reference mode, the regrets are those of the authors' published code.

With the paper's rules, the trajectories are those of the oracles (tests/oracle), which is more.
`lastblock reproduce` makes the same comparison, with the same figures.
"""

import pytest

import lastblock as lb
from lastblock.lab.paper.authors import HORIZON, agreement, as_published, figures
from lastblock.lab.scenario import Scenario
from trials import trial

REPLICATIONS = 2000
THE_PAPERS = ("LB-SDA", "LB-SDA-LM", "SW-LB-SDA")  # other policies are for trials
FIGURES = [
    pytest.param(
        each,
        id=f"{each.scenario}-{each.policy}",
        marks=[] if each.policy in THE_PAPERS else trial,
    )
    for each in figures()
]


@pytest.mark.parametrize("figure", FIGURES)
def test_final_regret_is_that_of_the_authors_code(figure):
    (scenario,) = as_published([Scenario.load(figure.scenario)])
    run = lb.simulate(
        scenario.policies[figure.policy],
        scenario.environment,
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=2021,
        times=[HORIZON],
    )
    assert agreement(figure, run.regret[:, -1]).agrees == "yes"
