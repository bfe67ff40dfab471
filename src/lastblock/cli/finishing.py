"""The last step of a run: draw the figures, write the tables and the report."""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastblock.support import files

if TYPE_CHECKING:
    from lastblock.cli.running import Ran

REPORT = "report.html"
FIGURES = "figures"
TABLES = "tables"


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
    from lastblock.cli.running import pace, print_json, say  # noqa: PLC0415  # slow to import
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
