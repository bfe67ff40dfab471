"""lastblock: multi-armed bandits by last-block subsampling duels, simulated and live.

>>> import lastblock as lb
>>> env = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
>>> run = lb.simulate(lb.LBSDALM(), env, horizon=1000, replications=10, seed=1)
>>> run.regret.shape == (10, run.times.size)
True
"""

from importlib import import_module
from typing import Any

from lastblock import arms, detectors, policies, theory
from lastblock.bandit import Bandit
from lastblock.changes import Change
from lastblock.decisions import Decision, Pending
from lastblock.environments.drifting import Drifting, Sinusoid, Table
from lastblock.environments.piecewise import Piecewise, Stationary
from lastblock.errors import StateFileError, StoreError, UnknownDecisionError
from lastblock.evaluation import Evaluation
from lastblock.explanation import Duel, Explanation
from lastblock.families import FAMILIES, family
from lastblock.fleet import Fleet
from lastblock.protocol import DETECTORS, POLICIES, detector, policy
from lastblock.replay import Replay
from lastblock.simulation import Run, Trace, simulate, trace
from lastblock.state import state_size
from lastblock.store import Store
from lastblock.summary import ArmSummary, Summary
from lastblock.weighting import Estimate

__version__ = "0.1.0"

# Policies, detectors and arm families are discovered, so their names come from the registries.
globals().update(POLICIES)
globals().update(DETECTORS)
globals().update(FAMILIES)


def __getattr__(name: str) -> Any:
    """The lab, when somebody wants it; the others above are there at once."""
    if name == "lab":
        return import_module("lastblock.lab")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [  # noqa: PLE0604  # the registries hold strings
    "DETECTORS",
    "FAMILIES",
    "POLICIES",
    "ArmSummary",
    "Bandit",
    "Change",
    "Decision",
    "Drifting",
    "Duel",
    "Explanation",
    "Fleet",
    "Pending",
    "Estimate",
    "Evaluation",
    "Piecewise",
    "Replay",
    "Run",
    "Sinusoid",
    "StateFileError",
    "Stationary",
    "Store",
    "StoreError",
    "Summary",
    "Table",
    "Trace",
    "UnknownDecisionError",
    "arms",
    "detector",
    "detectors",
    "family",
    "policies",
    "policy",
    "simulate",
    "state_size",
    "theory",
    "trace",
    *POLICIES,
    *DETECTORS,
    *FAMILIES,
]
