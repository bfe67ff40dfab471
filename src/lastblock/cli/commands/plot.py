"""``lastblock plot``: draw results as a figure."""

import argparse
from pathlib import Path

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.cli.failures import UserError
from lastblock.cli.reading import add_results, read_results
from lastblock.drawing.widths import check_width

_FORMATS = ("png", "svg", "pdf")
_EPILOG = """\
examples:
  lastblock plot stationary --output stationary.pdf
  lastblock plot gaussian-changes --kind best-arm --output best.svg
  lastblock plot stationary --kind tail --output tail.pdf
  lastblock plot stationary bernoulli-changes --output both.png
  lastblock plot stationary --width 8.5cm --policy LB-SDA --policy TS --output small.pdf
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
        choices=("regret", "best-arm", "histogram", "tail", "sweep"),
        default="regret",
        help="regret over time (the default), the share of pulls that chose a best arm, or "
        "the histogram or tail of the final regret, or the final regret in a sweep",
    )
    parser.add_argument(
        "--width",
        type=_inches,
        metavar="SIZE",
        help="width of the figure, such as 3.25in or 8.5cm (default: 6.6in a panel)",
    )
    parser.add_argument(
        "--policy",
        action="append",
        metavar="POLICY",
        dest="policies",
        help="draw only this policy; give it again for others (default: all)",
    )
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Draw the figure and print its path."""
    from lastblock.lab.figures import result_figure  # noqa: PLC0415  # slow to import

    results = read_results(options)
    if not options.output.parent.is_dir():
        raise UserError(f"there is no folder {options.output.parent}; make it first")
    try:
        how = {"kind": options.kind, "policies": options.policies, "width": options.width}
        result_figure(results, options.output, **how)
    except ValueError as error:
        if options.policies is None:
            raise
        raise UserError(str(error).replace("policies: ", "--policy: ", 1)) from None
    print(f"figure: {options.output}")
    return 0


def _inches(text: str) -> float:
    """Return a width in inches; a plain number is one."""
    lengths = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
    unit = text[-2:] if text[-2:] in lengths else ""
    try:
        width = float(text.removesuffix(unit)) * lengths.get(unit, 1.0)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be a width such as 3.25in, 8.5cm, 85mm or 240pt"
        ) from None
    try:
        return check_width(width) or width
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower().lstrip(".") not in _FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} must end in .{', .'.join(_FORMATS)}")
    return path
