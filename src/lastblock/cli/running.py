"""What `run` and `reproduce` share: run scenarios, show the progress, print what came out."""

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

    from lastblock.lab.results import Result
    from lastblock.lab.scenario import Scenario


_TAKEN = ("report.html", "figures", "tables", "table1.csv")
"""What else goes into the folder of the results."""


@dataclass(frozen=True)
class Ran:
    """A scenario that was run, how long it took, and the steps that were computed for it."""

    result: "Result"
    seconds: float
    steps: int


class Meter:
    """Counts the steps that are computed, and shows them as a bar where somebody looks."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.steps = 0
        wanted = not quiet and total > 0 and sys.stderr.isatty()
        self._bar = progress_bar(total, wanted, unit="step")

    def update(self, steps: int) -> None:
        """Some more are done."""
        self.steps += steps
        self._bar.update(steps)

    def name(self, text: str) -> None:
        """What is being done."""
        self._bar.set_description(text)

    def close(self) -> None:
        """Take the bar off the screen."""
        self._bar.close()


def run_scenarios(
    scenarios: "Sequence[Scenario]",
    options: argparse.Namespace,
    *,
    out: Path | None = None,
    tell: "Callable[[Result], str] | None" = None,
) -> list[Ran]:
    """Run them one after the other; print a table of each as soon as it is there.

    `out` is where they go if not to --out, `tell` what is printed instead of the table.
    """
    from lastblock.lab.work.runner import run, steps_missing  # noqa: PLC0415  # slow to import

    out = options.out if out is None else out
    tell = _table_of if tell is None else tell
    check_folder(out)
    _check_names(scenarios)
    ran = []
    with _executor(options) as executor:
        meter = Meter(
            sum(steps_missing(scenario, out=out) for scenario in scenarios),
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
                say(options, tell(result))
        finally:
            meter.close()
    return ran


def _table_of(result: "Result") -> str:
    return f"{describe(result)}\n"


def say(options: argparse.Namespace, text: str) -> None:
    """Print for a person, above the bar."""
    if not options.quiet and not options.json:
        with tqdm.external_write_mode(file=sys.stdout):
            print(text, flush=True)


def describe(result: "Result") -> str:
    """The final regret of every policy, as a table."""
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
    """What is told about every policy, as plain data; None for what is not a number."""
    from lastblock.lab.statistics import summary  # noqa: PLC0415  # slow to import

    frame = summary(result).merge(result.timing, on="policy").merge(result.policies, on="policy")
    names = "policy", "mean", "se", "q25", "q75", "ns_per_step", "state_bytes"
    return [
        {name: _plain(value) for name, value in zip(names, row, strict=True)}
        for row in frame[list(names)].itertuples(index=False)
    ]


def print_json(ran: Sequence[Ran], report: Path) -> None:
    """One array, one object a scenario."""
    about = [
        {
            "scenario": one.result.name,
            "horizon": one.result.horizon,
            "replications": one.result.replications,
            "seconds": round(one.seconds, 3),
            "report": str(report),
            "policies": policy_rows(one.result),
        }
        for one in ran
    ]
    print(json.dumps(about, indent=2, allow_nan=False))


def check_folder(out: Path) -> None:
    """Find out now, not after an hour, that nothing can be written."""
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is not a folder; give another one")
    out.mkdir(parents=True, exist_ok=True)
    probe = out / ".probe"
    files.write(probe, b"")
    probe.unlink()


def _check_names(scenarios: "Sequence[Scenario]") -> None:
    names = [scenario.name for scenario in scenarios]
    for name in names:
        if name in _TAKEN:
            raise UserError(f"a scenario cannot be named {name!r}: a file has that name; rename it")
        if names.count(name) > 1:
            raise UserError(
                f"two scenarios are named {name!r} and would write to the same folder; "
                "rename one of them"
            )


@contextmanager
def _executor(options: argparse.Namespace) -> "Iterator[Executor | None]":
    """That of the cluster; None for threads here."""
    if options.cluster is None:
        yield None
        return
    from lastblock.lab.work.cluster import ClusterError, connect  # noqa: PLC0415  # slow to import

    try:
        with connect(options.cluster) as executor:
            if executor.workers == 0:
                print("lastblock: the cluster has no workers yet; waiting", file=sys.stderr)
            yield executor
    except ClusterError as error:
        raise UserError(str(error)) from error


def pace(ran: Sequence[Ran]) -> str:
    """How fast it went."""
    steps = sum(one.steps for one in ran)
    seconds = sum(one.seconds for one in ran)
    if steps == 0:
        return "nothing to compute: all chunks were there"
    a_second = steps / seconds
    shown = f"{a_second / 1e6:.1f} million" if a_second >= 1e6 else f"{a_second:,.0f}"
    return f"{shown} steps a second ({steps:,} in {seconds:.1f} s)"


def _plain(value: Any) -> Any:
    """As Python has it; None for a number that is missing."""
    if isinstance(value, str):
        return value
    if hasattr(value, "__index__"):
        return int(value)
    return float(value) if math.isfinite(value) else None
