"""What `run` and `reproduce` share: run scenarios, print the results, write the report."""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastblock.cli.failures import UserError
from lastblock.cli.tables import table
from lastblock.support import files

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from lastblock.lab.results import Result
    from lastblock.lab.scenario import Scenario


REPORT = "report.html"
FIGURES = "figures"
TABLES = "tables"
_TAKEN = (REPORT, FIGURES, TABLES, "table1.csv", "authors.csv", "claims.csv")
"""Names in --out that no scenario may have, because other files use them."""


@dataclass(frozen=True)
class Ran:
    """The result of a scenario, the seconds it took, and the number of steps newly computed."""

    result: "Result"
    seconds: float
    steps: int


def run_scenarios(
    scenarios: "Sequence[Scenario]",
    options: argparse.Namespace,
    *,
    keep: bool = True,
) -> list[Ran]:
    """Run the scenarios one after the other, and print about each as soon as it is done.

    Parameters
    ----------
    scenarios
        What to run.
    options
        The parsed command line.
    keep
        Whether to print the results, and to write them into --out; chunks are kept there in any
        case.

    Returns
    -------
    list of Ran
        One for each scenario, in their order.

    Raises
    ------
    UserError
        If --out is not a folder, if two scenarios have the same name or one has the name of a
        file in --out, or if the cluster fails.
    """
    from lastblock.lab.work import runner  # noqa: PLC0415  # slow to import

    out: Path = options.out
    run = runner.run if keep else runner.run_chunks
    wanted = not options.quiet and sys.stderr.isatty()
    check_folder(out)
    _check_names(scenarios)
    ran = []
    with _executor(options) as executor:
        if executor is None:  # before the clock starts
            runner.compile_missing(scenarios, out=out, threads=options.threads, progress=wanted)
        for scenario in scenarios:
            steps = runner.steps_missing(scenario, out=out)
            started = time.perf_counter()
            result = run(
                scenario,
                out=out,
                threads=options.threads,
                executor=executor,
                progress=wanted,
            )
            ran.append(Ran(result, time.perf_counter() - started, steps))
            if keep:
                say(options, f"{describe(result)}\n")
    return ran


def say(options: argparse.Namespace, text: str) -> None:
    """Print `text`, unless --quiet or --json is set."""
    if not options.quiet and not options.json:
        print(text, flush=True)


def describe(result: "Result") -> str:
    """Return a table of every policy's final regret, time a step and state size."""
    title = f"{result.name}: {result.title}" if result.title != result.name else result.name
    rows = [
        (
            row["policy"],
            f"{row['mean']:.2f}",
            "–" if row["se"] is None else f"{row['se']:.2f}",
            f"[{row['q25']:.1f}, {row['q75']:.1f}]",
            f"{row['ns_per_step']:.1f}",
            f"{row['state_bytes']:,}",
        )
        for row in policy_rows(result)
    ]
    header = "policy", "regret", "± s.e.", "quartiles", "ns a step", "bytes"
    return (
        f"{title} ({result.replications} × {result.horizon} steps, seed {result.seed})\n"
        f"{table(header, rows, aligned='<>>>>>')}"
    )


def policy_rows(result: "Result") -> list[dict[str, Any]]:
    """Return a dict of plain values for each policy; None where a number is NaN or infinite."""
    from lastblock.lab.comparisons import plain_rows  # noqa: PLC0415  # slow to import
    from lastblock.lab.statistics import summary  # noqa: PLC0415  # slow to import

    frame = summary(result).merge(result.timing, on="policy").merge(result.policies, on="policy")
    names = ["policy", "mean", "se", "q25", "q75", "ns_per_step", "state_bytes"]
    return plain_rows(frame[names])


def print_json(ran: Sequence[Ran], report: Path, authors: "pd.DataFrame | None" = None) -> None:
    """Print the results as one JSON array with an object for each scenario.

    `authors` has the comparison with the authors' figures, from `lab.paper.authors.compare`.
    """
    about = [
        {
            "scenario": one.result.name,
            "horizon": one.result.horizon,
            "replications": one.result.replications,
            "seconds": round(one.seconds, 3),
            "report": str(report),
            "policies": policy_rows(one.result),
            **_authors_rows(one.result.name, authors),
        }
        for one in ran
    ]
    print(json.dumps(about, indent=2, allow_nan=False))


def _authors_rows(name: str, authors: "pd.DataFrame | None") -> dict[str, Any]:
    """Return the rows of the authors' figures for a scenario, as an entry "authors", or none."""
    from lastblock.lab.comparisons import plain_rows  # noqa: PLC0415  # slow to import

    if authors is None or name not in set(authors["scenario"]):
        return {}
    mine = authors[authors["scenario"] == name]
    return {"authors": plain_rows(mine.drop(columns="scenario"))}


def check_folder(out: Path) -> None:
    """Create the folder `out` and write a file into it, so that a bad folder fails at once."""
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is not a folder; choose another path")
    out.mkdir(parents=True, exist_ok=True)
    probe = out / ".probe"
    files.write(probe, b"")
    probe.unlink()


def _check_names(scenarios: "Sequence[Scenario]") -> None:
    names = [scenario.name for scenario in scenarios]
    for name in names:
        if name in _TAKEN:
            raise UserError(
                f"a scenario cannot be named {name!r}, because lastblock writes a file or folder "
                "of that name; rename the scenario"
            )
        if names.count(name) > 1:
            raise UserError(
                f"two scenarios are named {name!r} and would write to the same folder; "
                "rename one of them"
            )


@contextmanager
def _executor(options: argparse.Namespace) -> "Iterator[Executor | None]":
    """Connect to the cluster of --cluster; yield None without it, to run on threads here."""
    if options.cluster is None:
        yield None
        return
    from lastblock.lab.work.cluster import ClusterError, connect  # noqa: PLC0415  # slow to import

    try:
        with connect(options.cluster) as executor:
            if executor.workers == 0:
                print("lastblock: the cluster has no workers yet; waiting for one", file=sys.stderr)
            yield executor
    except ClusterError as error:
        raise UserError(str(error)) from error


def pace(ran: Sequence[Ran]) -> str:
    """Return a line that says how many steps a second were computed."""
    steps = sum(one.steps for one in ran)
    seconds = sum(one.seconds for one in ran)
    if steps == 0:
        return "nothing to compute: all chunks were finished before"
    rate = steps / seconds
    text = f"{rate / 1e6:.1f} million" if rate >= 1e6 else f"{rate:,.0f}"
    return f"{text} steps a second ({steps:,} in {seconds:.1f} s)"


def finish(
    ran: "Sequence[Ran]", options: argparse.Namespace, extras: Mapping[str, Any] | None = None
) -> int:
    """Draw figures, write tables and the report, and print the report's path in the last line.

    Parameters
    ----------
    ran
        What `run_scenarios` returned.
    options
        The parsed command line.
    extras
        The paper's exhibits, from `make_extras`.

    Returns
    -------
    int
        The exit status, 0.
    """
    from lastblock.lab.comparisons import comparison, latex  # noqa: PLC0415  # slow to import
    from lastblock.lab.figures import result_figure  # noqa: PLC0415  # slow to import
    from lastblock.lab.report.page import write_report  # noqa: PLC0415  # slow to import

    results = [one.result for one in ran]
    for result in results:
        result_figure(result, figure_path(options.out, result.name), beside=results)
        frame = comparison(result)
        write_table(options.out, result.name, frame.to_csv(index=False), latex(result))
    report = write_report(
        options.out / REPORT,
        results,
        **(extras or {}),
        commands=[shlex.join(["lastblock", *options.typed])],
    )
    if options.json:
        print_json(ran, report, (extras or {}).get("authors"))
        return 0
    if ran:
        say(options, pace(ran))
    print(f"report: {report}")
    return 0


def figure_path(out: Path, name: str) -> Path:
    """Return the path of the figure `name` in the folder `out`."""
    return out / FIGURES / f"{name}.png"


def write_table(out: Path, name: str, csv: str, latex: str) -> None:
    """Write the table `name` into `out`, as CSV and as LaTeX."""
    folder = out / TABLES
    folder.mkdir(exist_ok=True)
    files.write(folder / f"{name}.csv", csv.encode())
    files.write(folder / f"{name}.tex", latex.encode())
