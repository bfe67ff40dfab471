"""The final regrets of the authors' published code, and whether ours agree with them.

`authors_regret.csv` has a row for each curve of the paper whose final regret we know:

    scenario, policy          the scenario of the package, and the label of the policy there
    replications              how many runs their mean is made of
    final_regret              their mean dynamic regret at T = 10 000
    standard_error            of that mean, taken at t = 9 901; empty if read off their figure
    quartile_1, quartile_3    of the regret of one run, taken at t = 9 901; empty likewise
    rounding                  how far off the number may be, as it was read

Their code and the paper's text differ in places, so the comparison is with `reference=True`, which
makes the choices of their code.
"""

import csv
import functools
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from lastblock.lab.intervals import Sample
from lastblock.lab.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result

HORIZON = 10_000
"""The horizon of all figures."""

LIMIT = 4.0
"""Means agree if they are less than so many standard errors of their difference apart. Two means of
the same law pass it once in 16 000 times."""

CURVES = 27
"""The curves in the paper's four figures."""

Answer: TypeAlias = Literal["yes", "no", "unknown"]


class Figure(NamedTuple):
    """The final regret of a policy in the authors' hands."""

    scenario: str
    policy: str
    """Its label in the scenario."""
    replications: int
    regret: float
    standard_error: float | None
    """None if the regret was read off a figure of theirs."""
    rounding: float


class Agreement(NamedTuple):
    """Our mean final regret beside theirs."""

    mean: float
    standard_error: float
    apart: float
    """The distance of the means in standard errors of their difference, less rounding."""
    agrees: Answer
    """Unknown for a single replication, which has no standard error."""


@functools.cache
def figures() -> tuple[Figure, ...]:
    """Return the authors' figures, in the paper's order."""
    text = files("lastblock.lab.paper").joinpath("authors_regret.csv").read_text(encoding="utf-8")
    return tuple(
        Figure(
            row["scenario"],
            row["policy"],
            int(row["replications"]),
            float(row["final_regret"]),
            float(row["standard_error"]) if row["standard_error"] else None,
            float(row["rounding"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


def agreement(figure: Figure, regrets: Sample) -> Agreement:
    """Compare final regrets of ours, one a replication, with a figure of the authors.

    Where theirs has no standard error, it is that of as many replications of our law.
    """
    n = regrets.size
    mean = float(regrets.mean())
    spread = float(regrets.std(ddof=1)) if n > 1 else math.nan
    ours = spread / math.sqrt(n)
    theirs = figure.standard_error
    if theirs is None:
        theirs = spread / math.sqrt(figure.replications)
    distance = max(0.0, abs(mean - figure.regret) - figure.rounding)
    apart = distance / math.hypot(ours, theirs)
    agrees: Answer = "unknown" if math.isnan(apart) else "yes" if apart < LIMIT else "no"
    return Agreement(mean, ours, apart, agrees)


def as_published(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Return the scenarios for which there are figures, with the authors' choices.

    Each has only the policies for which there is a figure. A scenario of another horizon is left
    out.
    """
    found = []
    for scenario in scenarios:
        known = {each.policy for each in figures() if each.scenario == scenario.name}
        chosen = scenario.with_reference().policies
        policies = {label: policy for label, policy in chosen.items() if label in known}
        if policies and scenario.horizon == HORIZON:
            found.append(scenario.replace(policies=policies))
    return found


def compare(results: "Sequence[Result]") -> "pd.DataFrame":
    """Compare results of scenarios that `as_published` returned with the authors' figures.

    Returns
    -------
    DataFrame
        A row for each figure: scenario, policy; theirs, theirs_se, theirs_replications; ours,
        ours_se, replications; apart and agrees, as in `Agreement`; and rules, "authors' code" where
        its choices differ from the paper's and were made, and "paper" where there is no difference.
    """
    import pandas as pd  # an optional dependency  # noqa: PLC0415

    by_name = {result.name: result for result in results}
    rows = []
    for figure in figures():
        if figure.scenario not in by_name:
            continue
        result = by_name[figure.scenario]
        found = agreement(figure, result.final_regret(figure.policy))
        parameters = result.about["scenario"]["policies"][figure.policy]["parameters"]
        rows.append(
            {
                "scenario": figure.scenario,
                "policy": figure.policy,
                "theirs": figure.regret,
                "theirs_se": math.nan if figure.standard_error is None else figure.standard_error,
                "theirs_replications": figure.replications,
                "ours": found.mean,
                "ours_se": found.standard_error,
                "replications": result.replications,
                "apart": found.apart,
                "agrees": found.agrees,
                "rules": "authors' code" if "reference" in parameters else "paper",
            }
        )
    return pd.DataFrame(rows)


def verdict(frame: "pd.DataFrame") -> str:
    """Return a sentence on a frame of `compare`: how many figures agree."""
    agreed = int((frame["agrees"] == "yes").sum())
    said = f"{agreed} of {len(frame)} agree within {LIMIT:g} standard errors"
    return f"{said} (we have figures of {len(figures())} of the paper's {CURVES} curves)"
