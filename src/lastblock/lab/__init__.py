"""Scenarios, runs, results, figures and reports."""

from lastblock.lab.comparisons import comparison, latex
from lastblock.lab.distributions import tails
from lastblock.lab.ranks import wins
from lastblock.lab.results import Result, load
from lastblock.lab.scenario import Scenario
from lastblock.lab.statistics import differences
from lastblock.lab.work.cluster import ClusterError, connect
from lastblock.lab.work.runner import run
from lastblock.support.errors import ResultError, ScenarioError

__all__ = [
    "ClusterError",
    "Result",
    "ResultError",
    "Scenario",
    "ScenarioError",
    "comparison",
    "connect",
    "differences",
    "latex",
    "load",
    "run",
    "tails",
    "wins",
]
