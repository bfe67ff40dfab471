"""``lastblock plot``: draw results as a figure."""

import argparse
from pathlib import Path

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.cli.failures import UserError
from lastblock.cli.reading import add_results, read_results

_FORMATS = ("png", "svg", "pdf")
_EPILOG = """\
examples:
  lastblock plot stationary --output stationary.pdf
  lastblock plot gaussian-changes --kind best-arm --output best.svg
  lastblock plot stationary bernoulli-changes --output both.png
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "plot",
        help="draw results as PNG, SVG or PDF",
        description="Draw results, one panel each. The ending of the file's name chooses the "
        f"format: {', '.join(_FORMATS)}.",
        epilog=_EPILOG,
    )
    add_results(parser, "+", "a folder of results, or its name in --out")
    output = parser.add_argument(
        "--output",
        type=_picture,
        required=True,
        metavar="FILE",
        help=f"the file to write; ends in .{', .'.join(_FORMATS)}",
    )
    offer(output, files=FILE)
    parser.add_argument(
        "--kind",
        choices=("regret", "best-arm"),
        default="regret",
        help="regret, or the share of pulls that chose a best arm (default: regret)",
    )
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Draw the figure and print its path."""
    from lastblock.lab import figures  # noqa: PLC0415  # slow to import

    draw = figures.regret_figure if options.kind == "regret" else figures.best_arm_figure
    results = read_results(options)
    if not options.output.parent.is_dir():
        raise UserError(f"there is no folder {options.output.parent}; make it first")
    draw(results, options.output)
    print(f"figure: {options.output}")
    return 0


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower().lstrip(".") not in _FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} must end in .{', .'.join(_FORMATS)}")
    return path
