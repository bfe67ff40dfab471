"""Sweeps: one policy with several values of a parameter, in one scenario."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lastblock.core.protocol import Policy
from lastblock.support.checks import number
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result


class Sweep(NamedTuple):
    """A parameter of a policy, its values, and the labels of the policies that have them.

    `Scenario.sweep` and scenario files make it.
    """

    label: str
    """The label of the policy without the parameter."""
    parameter: str
    """The name of the parameter."""
    values: tuple[float, ...]
    """Its values, in increasing order."""
    labels: tuple[str, ...]
    """The label of the policy with each of the values."""

    def describe(self) -> dict[str, Any]:
        """Return the sweep as plain data for JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in self._asdict().items()}


def check_values(parameter: str, values: object) -> tuple[float, ...]:
    """Return the values of a sweep in increasing order.

    Raises a `ValueError` if they are not a list of at least two different numbers.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ValueError(f"{parameter}={values!r} must be a list of numbers to sweep")
    found = [_number(value, parameter) for value in values]
    if len(set(found)) < 2 or len(set(found)) < len(found):
        raise ValueError(f"{parameter}={list(values)} must have at least two values, all different")
    return tuple(sorted(found))


def _number(value: object, parameter: str) -> float:
    """Return a number; whole ones stay whole, since a parameter may need that."""
    checked = number(value, parameter)
    return value if isinstance(value, int) else checked


def named(label: str, parameter: str, value: float) -> str:
    """Return the label of a policy with one value of the parameter."""
    return f"{label}, {parameter} = {value:g}"


def swept(
    policies: Mapping[str, Policy], label: str, parameter: str, values: object
) -> tuple[dict[str, Policy], Sweep]:
    """Return the policies with one of them in several versions, and the sweep.

    Raises a `ValueError` if the policy or its parameter is unknown, or a value is wrong.
    """
    if label not in policies:
        raise ValueError(f"there is no policy {label!r} to sweep; {advice(label, list(policies))}")
    policy: Any = policies[label]
    if parameter not in policy._fields:
        hint = advice(parameter, policy._fields)
        raise ValueError(f"{type(policy).__name__} has no parameter {parameter!r}; {hint}")
    checked = check_values(parameter, values)
    made = {
        named(label, parameter, value): type(policy)(**{**policy._asdict(), parameter: value})
        for value in checked
    }
    new: dict[str, Policy] = {}
    for other, kept in policies.items():
        new |= made if other == label else {other: kept}
    return new, Sweep(label, parameter, checked, tuple(made))


def sweep_table(result: "Result", confidence: float = 0.95) -> "pd.DataFrame":
    """Return the final regret at each value of each sweep.

    Parameters
    ----------
    result
        A result, with sweeps or without.
    confidence
        The confidence of the intervals.

    Returns
    -------
    pandas.DataFrame
        The columns are sweep (the label of the policy), parameter, value, policy (the label with
        the value), and mean, se, low, high, q25 and q75 as in `lastblock.lab.statistics.summary`.
        Empty if there is no sweep.
    """
    from lastblock.lab.statistics import summary  # noqa: PLC0415  # slow to import

    means = summary(result, confidence).set_index("policy", drop=False)
    rows = [
        {"sweep": s.label, "parameter": s.parameter, "value": value, **means.loc[label].to_dict()}
        for s in result.sweeps
        for value, label in zip(s.values, s.labels, strict=True)
    ]
    columns = ["sweep", "parameter", "value", *means.columns]
    return type(means)(rows, columns=columns)
