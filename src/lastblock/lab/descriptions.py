"""Turns environments into plain data, which the results contain."""

from typing import Any

from lastblock.core.families import FAMILIES
from lastblock.environments.drifting import Drifting
from lastblock.environments.piecewise import Piecewise
from lastblock.environments.prior import Prior
from lastblock.simulation.run import Environment


def describe_environment(environment: Environment) -> dict[str, Any]:
    """Return the arms of every phase, or the arms and the paths of their means, as plain data."""
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
    if isinstance(environment, Prior):
        return {
            "prior": {
                "family": environment.family.__name__,
                "arms": environment.n_arms,
                **{key: _law(value) for key, value in environment.parameters.items()},
            }
        }
    return {"environment": repr(environment)}


def _law(value: Any) -> Any:
    """Return a number, a law, or a list of them as plain data."""
    if isinstance(value, list):
        return [_law(item) for item in value]
    return describe_arm(value) if type(value).__name__ in FAMILIES else value


def describe_arm(arm: Any) -> dict[str, Any]:
    """Return the family and the parameters of an arm as plain data."""
    return {"family": type(arm).__name__, **_plain(arm._asdict())}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
