"""``lastblock report``: write the HTML page of results again."""

import argparse
from typing import TYPE_CHECKING

from lastblock.cli.arguments import Parser
from lastblock.cli.commands.reproduce import SCENARIOS
from lastblock.cli.extras import read_extras
from lastblock.cli.reading import add_results, read_results
from lastblock.cli.running import REPORT

if TYPE_CHECKING:
    from lastblock.lab.results import Result

_EPILOG = """\
examples:
  lastblock report
  lastblock report stationary mine --out results
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "report",
        help="write the HTML page of results again",
        description="Write the HTML page again, from all results in --out or from those named.",
        epilog=_EPILOG,
    )
    add_results(parser, "*", "a folder of results, or its name in --out (default: all in --out)")
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Write the page and print its path."""
    from lastblock.lab.report.page import write_report  # noqa: PLC0415  # slow to import

    extras = {} if options.results else read_extras(options.out)
    results = read_results(options, at_least=0 if extras else 1)
    results.sort(key=_place)
    print(f"report: {write_report(options.out / REPORT, results, **extras)}")
    return 0


def _place(result: "Result") -> int:
    """Return the sort key of a result: the paper's scenarios first, in the paper's order."""
    paper = [name for names in SCENARIOS.values() for name in names]
    return paper.index(result.name) if result.name in paper else len(paper)
