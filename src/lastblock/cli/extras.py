"""The paper's exhibits besides regret: claims, the authors' figures, means, figure 1, table 1."""

import argparse
import math
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastblock.cli.running import Ran, figure_path, run_scenarios, say, write_table
from lastblock.cli.tables import table
from lastblock.support import files

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.scenario import Scenario

_CHANGING = ("bernoulli-changes", "gaussian-changes")
_TABLE1 = "table1.csv"
_AUTHORS = "authors.csv"
_CLAIMS = "claims.csv"


def make_extras(wanted: Collection[str], options: argparse.Namespace) -> dict[str, Any]:
    """Make the exhibits named in `wanted` and write them into --out.

    Parameters
    ----------
    wanted
        Any of "means", "takeover" and "table1"; other names are ignored.
    options
        The parsed command line.

    Returns
    -------
    dict
        The exhibits as keyword arguments of `write_report`.
    """
    extras: dict[str, Any] = {}
    if "means" in wanted:
        from lastblock.lab.figures import means_figure  # noqa: PLC0415  # slow to import
        from lastblock.lab.scenario_files.reading import read  # noqa: PLC0415  # slow to import

        extras["means"] = figure_path(options.out, "means")
        means_figure([read(name) for name in _CHANGING], extras["means"])
    if "takeover" in wanted:
        from lastblock.lab.figures.takeover import takeover_figure  # noqa: PLC0415  # slow to import

        extras["takeover"] = figure_path(options.out, "takeover")
        takeover_figure(extras["takeover"])
    if "table1" in wanted:
        from lastblock.lab.paper.table1 import latex, table1  # noqa: PLC0415  # slow to import

        if sys.stderr.isatty() and not options.quiet:
            print("measuring table 1 …", file=sys.stderr)
        frame = extras["table1"] = table1()
        csv = frame.to_csv(index=False)
        files.write(options.out / _TABLE1, csv.encode())
        write_table(options.out, "table1", csv, latex(frame))
        say(options, f"table1: storage and cost, measured\n{_describe(frame)}\n")
    return extras


def judge_claims(ran: "Sequence[Ran]", options: argparse.Namespace) -> dict[str, Any]:
    """Return whether the results show what the paper says of them, for `write_report`."""
    from lastblock.lab.paper import claims  # noqa: PLC0415  # slow to import

    frame = claims.compare([one.result for one in ran])
    if frame.empty:
        return {}
    files.write(options.out / _CLAIMS, frame.to_csv(index=False).encode())
    return {"claims": frame}


def compare_with_authors(
    scenarios: "Sequence[Scenario]", options: argparse.Namespace
) -> dict[str, Any]:
    """Run the policies whose final regret the authors have published, with their choices.

    The chunks of policies that have no such choices are those of the scenarios themselves, and are
    not computed again.

    Parameters
    ----------
    scenarios
        The scenarios that were run.
    options
        The parsed command line.

    Returns
    -------
    dict
        The comparison as a keyword argument of `write_report`; nothing if there is no figure to
        compare with.
    """
    from lastblock.lab.paper import authors  # noqa: PLC0415  # slow to import

    wanted = authors.as_published(scenarios)
    if not wanted:
        if scenarios and all(one.horizon != authors.HORIZON for one in scenarios):
            say(options, f"the authors' figures are for T = {authors.HORIZON}: not compared\n")
        return {}
    ran = run_scenarios(wanted, options, keep=False)
    frame = authors.compare([one.result for one in ran])
    files.write(options.out / _AUTHORS, frame.to_csv(index=False).encode())
    rows = [
        (
            row["scenario"],
            row["policy"],
            f"{row['theirs']:.2f}" if row["theirs_se"] > 0 else f"{row['theirs']:.0f}",
            _error(row["theirs_se"]),
            f"{row['ours']:.2f}",
            _error(row["ours_se"]),
            _error(row["apart"]),
            row["agrees"],
        )
        for _, row in frame.iterrows()
    ]
    header = "scenario", "policy", "theirs", "± s.e.", "ours", "± s.e.", "s.e. apart", "agrees"
    say(
        options,
        "authors: the final regret of the authors' code, and ours with the choices of their code\n"
        f"{table(header, rows, aligned='<<>>>>><')}\n{authors.verdict(frame)}\n",
    )
    return {"authors": frame}


def _error(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _describe(frame: "pd.DataFrame") -> str:
    """Return table 1 as text, its measured numbers rounded to one or two decimals."""
    rows = [[_cell(value, name) for name, value in row.items()] for _, row in frame.iterrows()]
    aligned = "".join("<" if frame[name].dtype.kind == "O" else ">" for name in frame)
    return table([str(name) for name in frame], rows, aligned)


def _cell(value: Any, column: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if "~" in str(column) else f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def read_extras(out: Path) -> dict[str, Any]:
    """Return the exhibits that earlier commands wrote into `out`, for `write_report`."""
    import pandas as pd  # noqa: PLC0415  # optional, and slow to import

    extras: dict[str, Any] = {
        name: path for name in ("means", "takeover") if (path := figure_path(out, name)).is_file()
    }
    for name in (_TABLE1, _AUTHORS, _CLAIMS):
        if (out / name).is_file():
            extras[name.removesuffix(".csv")] = pd.read_csv(out / name)
    return extras
