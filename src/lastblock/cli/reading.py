"""How commands find and read the results that earlier commands wrote."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastblock.cli.arguments import RESULTS, add_out, offer
from lastblock.cli.failures import UserError
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from lastblock.lab.results import Result

SIGN = "curves.parquet"  # a folder with this file holds results


def add_results(parser: Any, nargs: str, text: str) -> None:
    """Add the arguments RESULT (as many as `nargs` says, with `text` as help) and --out."""
    results = parser.add_argument("results", nargs=nargs, metavar="RESULT", help=text)
    offer(results, files=RESULTS)
    add_out(parser, "folder in which to look for results given by name")


def read_results(options: argparse.Namespace, at_least: int = 1) -> "list[Result]":
    """Return the results named on the command line, or all in --out if it names none.

    Raises
    ------
    UserError
        If a name is unknown, or if --out holds fewer than `at_least` results.
    """
    from lastblock.lab.results import load  # noqa: PLC0415  # slow to import

    if options.results:
        return [load(_find(name, options.out)) for name in options.results]
    folders = _names(options.out)
    if len(folders) < at_least:
        raise UserError(
            f"there are no results in {options.out}; run a scenario first, or set --out"
        )
    return [load(options.out / name) for name in folders]


def _find(name: str, out: Path) -> Path:
    """Return the folder of results `name`: a path, or the name of a folder in `out`."""
    for folder in (Path(name), out / name):
        if (folder / SIGN).is_file():
            return folder
    if Path(name).is_dir():  # `load` says what is wrong with this folder
        return Path(name)
    known = _names(out)
    what = advice(name, known) if known else "run a scenario first, or set --out"
    raise UserError(f"there are no results {name!r}, here or in {out}; {what}")


def _names(out: Path) -> list[str]:
    return sorted(file.parent.name for file in out.glob(f"*/{SIGN}"))
