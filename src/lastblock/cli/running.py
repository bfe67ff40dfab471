"""What `run` and `reproduce` share: run scenarios, show progress, print the results."""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from lastblock.cli.failures import UserError
from lastblock.cli.tables import table
from lastblock.support import files
from lastblock.support.parallel import progress_bar

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from lastblock.lab.results import Result
    from lastblock.lab.scenario import Scenario


_TAKEN = ("report.html", "figures", "tables", "table1.csv", "authors.csv", "claims.csv")
"""Names in --out that no scenario may have, because other files use them."""


@dataclass(frozen=True)
class Ran:
    """The result of a scenario, the seconds it took, and the number of steps newly computed."""

    result: "Result"
    seconds: float
    steps: int


class Meter:
    """Counts the computed steps and shows a progress bar on a terminal.

    It shows no bar if `quiet` is true, if nothing is `missing`, or if standard error is not a
    terminal. The bar of a run that goes on starts where the run was interrupted.
    """

    def __init__(self, total: int, missing: int, quiet: bool) -> None:
        self.steps = 0
        wanted = not quiet and missing > 0 and sys.stderr.isatty()
        self._bar = progress_bar(total, wanted, unit="step", done=total - missing)

    def update(self, steps: int) -> None:
        """Count `steps` more, and advance the bar."""
        self.steps += steps
        self._bar.update(steps)

    def name(self, text: str) -> None:
        """Show `text`, the name of the running scenario, before the bar."""
        self._bar.set_description(text)

    def close(self) -> None:
        """Remove the bar from the screen."""
        self._bar.close()


def run_scenarios(
    scenarios: "Sequence[Scenario]",
    options: argparse.Namespace,
    *,
    out: Path | None = None,
    tell: "Callable[[Result], str] | None" = None,
    keep: bool = True,
) -> list[Ran]:
    """Run the scenarios one after the other, and print about each as soon as it is done.

    Parameters
    ----------
    scenarios
        What to run.
    options
        The parsed command line.
    out
        The folder of the results; default: --out.
    tell
        Returns the text to print about a result, "" for none; default: the table of `describe`.
    keep
        Whether to write the results into `out`; chunks are kept there in any case.

    Returns
    -------
    list of Ran
        One for each scenario, in their order.

    Raises
    ------
    UserError
        If `out` is not a folder, if two scenarios have the same name or one has the name of a
        file in `out`, or if the cluster fails.
    """
    from lastblock.lab.work import runner  # noqa: PLC0415  # slow to import

    out = options.out if out is None else out
    tell = _table_of if tell is None else tell
    run = runner.run if keep else runner.run_chunks
    check_folder(out)
    _check_names(scenarios)
    ran = []
    with _executor(options) as executor:
        if executor is None:  # before the meter, so that the steps a second do not count it
            wanted = not options.quiet and sys.stderr.isatty()
            runner.compile_missing(scenarios, out=out, threads=options.threads, progress=wanted)
        meter = Meter(
            sum(runner.scenario_steps(scenario) for scenario in scenarios),
            sum(runner.steps_missing(scenario, out=out) for scenario in scenarios),
            options.quiet,
        )
        try:
            for scenario in scenarios:
                meter.name(scenario.name)
                started, before = time.perf_counter(), meter.steps
                result = run(
                    scenario,
                    out=out,
                    threads=options.threads,
                    executor=executor,
                    progress=meter,
                )
                seconds = time.perf_counter() - started
                ran.append(Ran(result, seconds, meter.steps - before))
                if text := tell(result):
                    say(options, text)
        finally:
            meter.close()
    return ran


def _table_of(result: "Result") -> str:
    return f"{describe(result)}\n"


def say(options: argparse.Namespace, text: str) -> None:
    """Print `text` above the progress bar, unless --quiet or --json is set."""
    if not options.quiet and not options.json:
        with tqdm.external_write_mode(file=sys.stdout):
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
    from lastblock.lab.statistics import summary  # noqa: PLC0415  # slow to import

    frame = summary(result).merge(result.timing, on="policy").merge(result.policies, on="policy")
    names = "policy", "mean", "se", "q25", "q75", "ns_per_step", "state_bytes"
    return [
        {name: _plain(value) for name, value in zip(names, row, strict=True)}
        for row in frame[list(names)].itertuples(index=False)
    ]


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
    rows = [] if authors is None else authors[authors["scenario"] == name].to_dict("records")
    plain = [
        {str(key): _plain(value) for key, value in row.items() if key != "scenario"} for row in rows
    ]
    return {"authors": plain} if plain else {}


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


def _plain(value: Any) -> Any:
    """Convert a NumPy value to a str, int or float; None if it is NaN or infinite."""
    if isinstance(value, str):
        return value
    if hasattr(value, "__index__"):
        return int(value)
    return float(value) if math.isfinite(value) else None
