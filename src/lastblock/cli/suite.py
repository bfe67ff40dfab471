"""``lastblock run adaptive-suite``: run many random problems and summarise them."""

import argparse
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastblock.cli.arguments import Parser
from lastblock.cli.commands.scenarios import runnable_names
from lastblock.cli.failures import UserError
from lastblock.cli.tables import table
from lastblock.support.spelling import nearest

if TYPE_CHECKING:
    from lastblock.cli.running import Ran
    from lastblock.lab.results import Result
    from lastblock.lab.suite.problems import Half
    from lastblock.lab.suite.statistics import Suite

SUITE = "adaptive-suite"
HALVES: "tuple[Half, ...]" = ("development", "test", "first-test", "second-test", "third-test")
_OWN = ("half", "problems")  # options for the suite only
_FIXED = ("horizon", "seed")  # options that the suite does not take


def add_suite_options(parser: Parser) -> None:
    """Add the options that only the suite takes."""
    group = parser.add_argument_group(f"for {SUITE}")
    group.add_argument(
        "--half",
        choices=HALVES,
        metavar="HALF",
        help=f"{HALVES[0]} (the default); {HALVES[1]}, to be run once, at the end; or "
        f"{', '.join(HALVES[2:])}: the test halves of earlier trials",
    )
    group.add_argument(
        "--problems", metavar="NUMBERS", help="run only these problems, such as 0-4 or 3,17"
    )


def is_suite(options: argparse.Namespace) -> bool:
    """Return whether the command line names the suite."""
    return SUITE in options.sources


def check_options(options: argparse.Namespace) -> None:
    """Raise a `UserError` for options that do not fit together."""
    if not is_suite(options):
        for source in options.sources:
            if not Path(source).exists() and nearest(source, runnable_names()) == SUITE:
                raise UserError(f"there is no scenario {source!r}; did you mean {SUITE!r}?")
        for name in _OWN:
            if getattr(options, name) is not None:
                raise UserError(f"--{name} is for {SUITE} only; leave it out")
        return
    if len(options.sources) > 1:
        raise UserError(f"{SUITE} runs alone; run the other scenarios with a second command")
    for name in ("sweep", "delay"):
        if getattr(options, name):
            raise UserError(f"{SUITE} is always the same; leave out --{name}")
    for name in _FIXED:
        if getattr(options, name) is not None:
            raise UserError(f"each problem of {SUITE} has its own {name}; leave out --{name}")


def run_suite(options: argparse.Namespace) -> int:
    """Run the problems of a half, write the summary and the report; return the exit status."""
    from lastblock.cli.finishing import REPORT  # noqa: PLC0415  # slow to import
    from lastblock.cli.running import pace, run_scenarios, say  # noqa: PLC0415  # slow to import
    from lastblock.lab.report.page import write_report  # noqa: PLC0415  # slow to import
    from lastblock.lab.suite import halves  # noqa: PLC0415  # slow to import
    from lastblock.lab.suite.statistics import sum_up  # noqa: PLC0415  # slow to import

    half: Half = options.half or HALVES[0]
    numbers = halves.read_numbers(options.problems) if options.problems is not None else None
    replications = options.replications or halves.REPLICATIONS
    problems = halves.scenarios(half, replications, numbers)
    calm = halves.calm_scenarios(half, replications)
    folder = options.out / SUITE
    ran = run_scenarios([*problems, *calm], options, out=folder, tell=_teller(len(problems)))
    results = [one.result for one in ran]
    indices = numbers or list(range(len(problems)))
    found = sum_up(
        dict(zip(indices, results[: len(problems)], strict=True)), results[len(problems) :], half
    )
    found.save(folder / found.name)
    command = shlex.join(["lastblock", *options.typed])
    report = write_report(options.out / REPORT, [], suites=[found], commands=[command])
    if options.json:
        print(json.dumps([_as_data(found, ran, report)], indent=2, allow_nan=False))
        return 0
    say(options, f"\n{describe(found)}\n")
    say(options, pace(ran))
    print(f"report: {report}")
    return 0


def _teller(problems: int) -> "Callable[[Result], str]":
    """Return a function that describes each result in one line, for `run_scenarios`.

    The line has the ratio of the adaptive policy's mean final regret to the tuned one's. Results
    after the first `problems` ones are stationary problems, of which it has the title only.
    """
    from lastblock.lab.suite.rivals import ADAPTIVE, TUNED  # noqa: PLC0415  # slow to import

    done: list[str] = []

    def tell(result: "Result") -> str:
        done.append(result.name)
        if len(done) > problems:
            return result.title
        ours, theirs = (float(result.final_regret(who).mean()) for who in (ADAPTIVE, TUNED))
        return f"{ours / theirs:5.2f}  {result.title}"

    return tell


def describe(found: "Suite") -> str:
    """Return the summary as a table with a row for each policy."""
    about = found.about
    problems, replications = about["problems"], about["replications"]
    head = (
        f"{SUITE}, {found.title}: {problems} problem{'s' * (problems != 1)}, "
        f"{replications} replication{'s' * (replications != 1)}"
    )
    header = (
        "policy",
        "to tuned",
        "95 %",
        "to best",
        "95 %",
        "worst",
        "won",
        "surely",
        "first",
        "false/10⁴",
        "delay",
    )
    rows = [
        (
            row["policy"],
            _decimal(row["tuned"]),
            _interval(row, "tuned"),
            _decimal(row["best"]),
            _interval(row, "best"),
            _decimal(row["worst"]),
            _percent(row["won"]),
            _percent(row["surely_won"]),
            _percent(row["first"]),
            _decimal(row["false_restarts"], 3),
            _decimal(row["delay"], 0),
        )
        for row in found.summary
    ]
    first = found.summary[0]
    worst = f"{_decimal(first['worst'])} {_interval(first, 'worst')}, {first['worst_problem']}"
    return (
        f"{head}\n{table(header, rows, aligned='<' + '>' * 10)}\n"
        f"worst case of {first['policy']}: {worst}"
    )


def _decimal(value: float | None, decimals: int = 2) -> str:
    """Return `value` with this many decimals, or a dash if it is None."""
    return "–" if value is None else f"{value:.{decimals}f}"


def _interval(row: dict[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None else f"[{_decimal(low)}, {_decimal(high)}]"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _as_data(found: "Suite", ran: "Sequence[Ran]", report: Path) -> dict[str, Any]:
    return {
        "suite": SUITE,
        **{name: found.about[name] for name in ("half", "problems", "numbers", "replications")},
        "seconds": round(sum(one.seconds for one in ran), 3),
        "report": str(report),
        "policies": found.summary,
    }


def read_suites(out: Path) -> "list[Suite]":
    """Return the summaries in the folder `out` of halves, or parts of halves, run before."""
    from lastblock.lab.suite.statistics import load  # noqa: PLC0415  # slow to import

    folders = [
        folder
        for half in HALVES
        for folder in (out / SUITE / half, *sorted((out / SUITE).glob(f"{half}-*")))
    ]
    return [load(folder) for folder in folders if (folder / "summary.json").is_file()]
