"""Scenarios, runs, results, figures and reports."""

from lastblock.errors import ResultError, ScenarioError
from lastblock.lab.claims import Claim
from lastblock.lab.cluster import ClusterError, connect
from lastblock.lab.results import Result, load
from lastblock.lab.runner import run
from lastblock.lab.scenario import Scenario
from lastblock.lab.statistics import differences

__all__ = [
    "Claim",
    "ClusterError",
    "Result",
    "ResultError",
    "Scenario",
    "ScenarioError",
    "connect",
    "differences",
    "load",
    "run",
]
