"""The worlds of the comparison: the paper's scenarios, four families, the suite's test half."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import lastblock as lb
from benchmarks.field import HORIZON, PAPER
from benchmarks.suite.problems import Half, SuiteProblem, count, problem
from benchmarks.worlds import basket
from lastblock.lab.scenario import Scenario

HALF: Half = "third-test"
"""The half of the suite. No constant of ours was chosen on it, and of the two such halves on which
Adaptive LB-SDA was tried, it is the harder one."""

CLICKS = (0.02, 0.0225, 0.025, 0.0275, 0.03)
GAUSSIAN = (0.0, 0.25, 0.5, 0.75, 1.0)
RATINGS, CONCENTRATION = (0.5, 0.55, 0.6, 0.65, 0.7), 4.0
BASKETS = ((0.030, 50.0), (0.030, 55.0), (0.035, 50.0), (0.025, 60.0), (0.040, 52.0))
"""Of each arm the share of visitors who buy, and their mean basket."""


class World(NamedTuple):
    """A problem of the comparison, and how often it is played."""

    name: str
    problem: SuiteProblem
    replications: int
    fewest: int
    """The replications of the slowest policies."""

    def replications_for(self, slowness: int) -> int:
        """Return the replications of a policy that gets one of `slowness` as many as others."""
        return max(self.fewest, self.replications // slowness)


def scenarios() -> list[World]:
    """Return the paper's four scenarios."""
    found = []
    for scenario in map(Scenario.load, PAPER):
        changes = len(scenario.environment.changes)
        made = SuiteProblem(scenario.name, "paper", scenario.environment, HORIZON, changes, 1)
        found.append(World(scenario.name, made, 1000, 20))
    return found


def families() -> list[World]:
    """Return four worlds that never change, with five arms each."""
    arms: dict[str, tuple[Sequence[Any], int]] = {
        "clicks": ([lb.Bernoulli(p) for p in CLICKS], 100_000),
        "gaussian": ([lb.Gaussian(mean, 1.0) for mean in GAUSSIAN], 20_000),
        "ratings": (
            [lb.Beta(CONCENTRATION * mean, CONCENTRATION * (1.0 - mean)) for mean in RATINGS],
            20_000,
        ),
        "revenue": ([basket(rate, mean) for rate, mean in BASKETS], 100_000),
    }
    return [
        World(name, SuiteProblem(name, "family", lb.Stationary(each), horizon, 0, 1), 200, 10)
        for name, (each, horizon) in arms.items()
    ]


@functools.cache
def suite(half: Half = HALF) -> tuple[World, ...]:
    """Return the random problems of a half of the suite."""
    return tuple(World(f"{half}-{i:02}", problem(i, half), 20, 4) for i in range(count()))


@functools.cache
def single() -> tuple[World, ...]:
    """Return the worlds that have a column of their own."""
    return (*scenarios(), *families())
