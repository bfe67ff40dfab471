"""Environments as plain data, to be written into results."""

from typing import Any

from lastblock.environments.drifting import Drifting
from lastblock.environments.piecewise import Piecewise
from lastblock.simulation.run import Environment


def describe_environment(environment: Environment) -> dict[str, Any]:
    """The arms of every phase, or the arms and the paths of their means."""
    if isinstance(environment, Piecewise):
        return {
            "phases": [
                {"start": start, "arms": [describe_arm(arm) for arm in arms]}
                for start, arms in zip(environment.starts, environment.phases, strict=True)
            ]
        }
    if isinstance(environment, Drifting):
        return {
            "arms": [describe_arm(arm) for arm in environment.arms],
            "means": [_plain(path._asdict()) for path in environment.paths],
        }
    return {"environment": repr(environment)}


def describe_arm(arm: Any) -> dict[str, Any]:
    """The family and the parameters."""
    return {"family": type(arm).__name__, **_plain(arm._asdict())}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
