"""Results that were written before."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastblock.cli.arguments import FOLDER, add_out, offer
from lastblock.cli.failures import UserError
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from lastblock.lab.results import Result

_SIGN = "curves.parquet"  # of a folder with results


def add_results(parser: Any, nargs: str, text: str) -> None:
    """RESULT…, and where they lie."""
    results = parser.add_argument("results", nargs=nargs, metavar="RESULT", help=text)
    offer(results, files=FOLDER)
    add_out(parser, "where results lie that are given by name")


def read_results(options: argparse.Namespace, at_least: int = 1) -> "list[Result]":
    """Those that were asked for, or else all in --out."""
    from lastblock.lab.results import load  # noqa: PLC0415  # slow to import

    if options.results:
        return [load(_find(name, options.out)) for name in options.results]
    folders = _names(options.out)
    if len(folders) < at_least:
        raise UserError(
            f"there are no results in {options.out}; run something first, or give --out"
        )
    return [load(options.out / name) for name in folders]


def _find(name: str, out: Path) -> Path:
    """A folder, or the name of one in --out."""
    for folder in (Path(name), out / name):
        if (folder / _SIGN).is_file():
            return folder
    if Path(name).is_dir():  # a mistake of another kind, which `load` can name
        return Path(name)
    known = _names(out)
    what = advice(name, known) if known else "run something, or give --out"
    raise UserError(f"there are no results {name!r}, here or in {out}; {what}")


def _names(out: Path) -> list[str]:
    return sorted(file.parent.name for file in out.glob(f"*/{_SIGN}"))
