"""The scenarios of the suite of random problems, in halves: development, test, and older tests.

`problems` makes the problems, `rivals` the policies, and `statistics` summarises the results.
"""

import argparse
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchmarks.suite.problems import SEEDS, Half, SuiteProblem, calm_problems, count, problem
from benchmarks.suite.rivals import COUNTED, rivals, windows
from lastblock.environments.piecewise import Piecewise
from lastblock.lab.scenario import Scenario

NAME = "adaptive-suite"
REPLICATIONS = 20
CALM = "calm"
CALM_STEPS = 20_000
LONGEST_NAME = 24
"""The longest list of problems, in characters, that a folder's name contains; else a hash."""
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def scenario_of(
    made: SuiteProblem, half: Half, index: int, replications: int = REPLICATIONS
) -> Scenario:
    """Return the scenario of a problem, with all rivals and all windows."""
    return Scenario(
        name=f"{NAME}-{half}-{index:03}",
        title=made.title,
        environment=made.environment,
        horizon=made.horizon,
        policies={**rivals(made), **windows(made)},
        replications=replications,
        seed=made.seed,
    )


def scenarios(
    half: Half = "development",
    replications: int = REPLICATIONS,
    problems: Iterable[int] | None = None,
) -> list[Scenario]:
    """Return the scenarios of a half.

    Parameters
    ----------
    half
        "development", or "test" for the problems to be run once, at the end; "first-test",
        "second-test" and "third-test" for those of earlier trials.
    replications
        How many replications each scenario has.
    problems
        The numbers of the problems, from 0; default: all.

    Returns
    -------
    list of Scenario
        One for each problem.

    Raises
    ------
    ValueError
        If `half` or a number is unknown.

    Examples
    --------
    >>> [scenario.name for scenario in scenarios(problems=[3])]
    ['adaptive-suite-development-003']
    """
    chosen = range(count()) if problems is None else problems
    return [scenario_of(problem(i, half), half, i, replications) for i in chosen]


def calm_scenarios(half: Half = "development", replications: int = REPLICATIONS) -> list[Scenario]:
    """Return one stationary scenario for each family of rewards, to count false restarts.

    Their policies are those of `COUNTED`, which count their restarts.
    """
    made = []
    for i, (about, environment) in enumerate(calm_problems().items()):
        seed = 500 + 1000 * SEEDS[half] + i
        calm = SuiteProblem(f"{half} {CALM}: {about}", CALM, environment, CALM_STEPS, 0, seed)
        scenario = scenario_of(calm, half, i, replications)
        made.append(
            replace(
                scenario,
                name=f"{NAME}-{half}-{CALM}-{i}",
                policies={label: scenario.policies[label] for label in COUNTED},
            )
        )
    return made


def read_numbers(text: str) -> list[int]:
    """Return the numbers of problems in a text such as "0-2,7".

    Raises an `ArgumentTypeError` if the text is not of this form, or a number is too large.

    >>> read_numbers("0-2,7")
    [0, 1, 2, 7]
    """
    chosen: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not first <= last < count():
            raise argparse.ArgumentTypeError(
                f"{text!r}: write numbers from 0 to {count() - 1}, such as 0-4 or 3,17"
            )
        chosen.update(range(first, last + 1))
    return sorted(chosen)


def write_numbers(numbers: Iterable[int]) -> str:
    """Return the numbers of problems as a text that `read_numbers` reads.

    >>> write_numbers([0, 1, 2, 7])
    '0-2,7'
    """
    runs: list[list[int]] = []
    for i in sorted(set(numbers)):
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def name_of(half: Half, numbers: Sequence[int]) -> str:
    """Return a short name for these problems of a half, for folders and links.

    >>> name_of("test", range(60)), name_of("test", [0, 1, 2, 7])
    ('test', 'test-0-2,7')
    """
    if set(numbers) == set(range(count())):
        return half
    text = write_numbers(numbers)
    if len(text) > LONGEST_NAME:
        text = f"{len(set(numbers))}-problems-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return f"{half}-{text}"


def relevant_changes(environment: object) -> list[int]:
    """Return the numbers of the phases whose best arms differ from those of the phase before."""
    if not isinstance(environment, Piecewise):
        return []
    best = [_best_arms([arm.mean for arm in arms]) for arms in environment.phases]
    return [i for i in range(1, len(best)) if best[i] != best[i - 1]]


def _best_arms(means: Sequence[float]) -> set[int]:
    return {k for k, mean in enumerate(means) if mean == max(means)}
