"""What the paper shows besides regret: the arms' means, a passive takeover, and table 1."""

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import Any

from lastblock import files
from lastblock.cli.finishing import figure_path
from lastblock.cli.running import say

_CHANGING = ("bernoulli-changes", "gaussian-changes")
_TABLE1 = "table1.csv"


def make_extras(wanted: Collection[str], options: argparse.Namespace) -> dict[str, Any]:
    """Those that are wanted, as the report takes them; they are also kept in --out."""
    extras: dict[str, Any] = {}
    if "means" in wanted:
        from lastblock.lab.figures import means_figure  # noqa: PLC0415
        from lastblock.lab.scenario_file import read  # noqa: PLC0415

        extras["means"] = figure_path(options.out, "means")
        means_figure([read(name) for name in _CHANGING], extras["means"])
    if "takeover" in wanted:
        from lastblock.lab.takeover_figure import takeover_figure  # noqa: PLC0415

        extras["takeover"] = figure_path(options.out, "takeover")
        takeover_figure(extras["takeover"])
    if "table1" in wanted:
        from lastblock.lab.table1 import table1  # noqa: PLC0415

        frame = extras["table1"] = table1()
        files.write(options.out / _TABLE1, frame.to_csv(index=False).encode())
        say(options, f"table 1, measured\n{frame.to_string(index=False)}\n")
    return extras


def read_extras(out: Path) -> dict[str, Any]:
    """Those that an earlier command kept in --out."""
    import pandas as pd  # noqa: PLC0415

    extras: dict[str, Any] = {
        name: path for name in ("means", "takeover") if (path := figure_path(out, name)).is_file()
    }
    if (out / _TABLE1).is_file():
        extras["table1"] = pd.read_csv(out / _TABLE1)
    return extras
