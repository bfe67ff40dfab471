"""``lastblock compare``: which policies have less regret, and is the difference significant?"""

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from lastblock.cli.arguments import Parser
from lastblock.cli.failures import UserError
from lastblock.cli.reading import add_results, read_results
from lastblock.cli.tables import table
from lastblock.support.intervals import check_confidence

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result

_EPILOG = """\
examples:
  lastblock compare stationary
  lastblock compare results/mine --baseline TS --confidence 0.99
  lastblock compare mine other/mine
  lastblock compare stationary --test ranks
  lastblock compare stationary --latex > stationary.tex

All policies met the same random draws, so they are compared replication by
replication. Without --baseline, the results choose the policy to compare with:
the one with the smallest mean. Intervals and p then hold for all pairs of
policies at once. With --baseline, p is adjusted for the number of comparisons
(Holm), and each interval holds on its own. Results with the same arms and
horizon are compared with each other; others get a table of their own.

Beside a difference that is not significant stands how many replications would
show it with probability 0.8, if it is as large as estimated. A few very bad
replications can hide a difference between means. --test ranks compares ranks
instead, which they do not disturb: how often does a policy have less regret?
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Add the command and its options to the program."""
    parser = commands.add_parser(
        "compare",
        help="paired differences between policies, and which are significant",
        description="Compare the final regret of policies, and say which differences are "
        "significant.",
        epilog=_EPILOG,
    )
    add_results(parser, "+", "a folder of results, or its name in --out")
    parser.add_argument(
        "--baseline", metavar="POLICY", help="the policy to compare with (default: the best)"
    )
    parser.add_argument(
        "--confidence",
        type=_confidence,
        default=0.95,
        metavar="SHARE",
        help="the confidence of the intervals (default: 0.95)",
    )
    parser.add_argument(
        "--test",
        choices=("means", "ranks"),
        default="means",
        help="compare means (the default), or ranks, which heavy tails do not disturb",
    )
    output = parser.add_argument_group("output").add_mutually_exclusive_group()
    output.add_argument(
        "--latex",
        action="store_true",
        help="print tables for a paper, each number rounded by its standard error",
    )
    output.add_argument("--csv", action="store_true", help="print one table with all digits")
    output.add_argument(
        "--json", action="store_true", help="print an array with one object per table"
    )
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print a table for each group of results that have the same arms and horizon."""
    if options.test == "ranks" and options.latex:
        raise UserError("--latex prints means; leave it out, or take --test means")
    groups = _groups(read_results(options))
    try:
        print(_printed(groups, options), end="")
    except ValueError as error:
        if options.baseline is None:
            raise
        raise UserError(str(error)) from None  # --baseline names no policy
    return 0


def _printed(groups: "list[list[Result]]", options: argparse.Namespace) -> str:
    from lastblock.lab.comparisons import comparison, latex  # noqa: PLC0415  # slow to import
    from lastblock.lab.ranks import wins  # noqa: PLC0415  # slow to import

    how = options.baseline, options.confidence
    if options.latex:
        return "\n".join(latex(group, *how) for group in groups)
    if options.csv or options.json:
        make = wins if options.test == "ranks" else comparison
        frames = [make(group, *how) for group in groups]
        if options.json:
            tables = [_plain(*each, options) for each in zip(groups, frames, strict=True)]
            return json.dumps(tables, indent=2) + "\n"
        for group, frame in zip(groups, frames, strict=True):
            frame.insert(0, "results", _names(group))
        return "".join(f.to_csv(index=False, header=i == 0) for i, f in enumerate(frames))
    return "\n\n".join(_described(group, options) for group in groups) + "\n"


def _plain(
    group: "list[Result]", frame: "pd.DataFrame", options: argparse.Namespace
) -> dict[str, Any]:
    """Return the comparison of a group as plain data for JSON."""
    from lastblock.lab.comparisons import plain_rows  # noqa: PLC0415  # slow to import

    rows = plain_rows(frame)
    compared = [row for row in rows if row["baseline"] is not None]
    shared = {name: compared[0][name] if compared else None for name in ("baseline", "adjusted")}
    return {
        "results": list(dict.fromkeys(result.name for result in group)),
        "horizon": group[0].horizon,
        "replications": [result.replications for result in group],
        "confidence": options.confidence,
        "test": options.test,
        **shared,
        "policies": [
            {name: value for name, value in row.items() if name not in shared} for row in rows
        ],
    }


def _names(group: "list[Result]") -> str:
    return ", ".join(dict.fromkeys(result.name for result in group))


def _confidence(text: str) -> float:
    try:
        return check_confidence(float(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} must lie between 0 and 1, such as 0.95"
        ) from None


def _groups(results: "list[Result]") -> "list[list[Result]]":
    """Return the results in groups of the same arms and horizon."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        scenario = result.about["scenario"]
        key = json.dumps([scenario["environment"], scenario.get("delay"), result.horizon])
        groups.setdefault(key, []).append(result)
    return list(groups.values())


def _described(group: "list[Result]", options: argparse.Namespace) -> str:
    """Return a table of comparisons with one policy, and what it shows in a sentence."""
    from lastblock.lab.ranks import wins  # noqa: PLC0415  # slow to import
    from lastblock.lab.statistics import differences  # noqa: PLC0415  # slow to import

    names, how = _names(group), (options.baseline, options.confidence)
    ranks = options.test == "ranks"
    frame = wins(group, *how) if ranks else differences(group, *how)
    if frame.empty:
        return f"{names}: there is only one policy, and nothing to compare it with"
    base = frame["baseline"].iloc[0]
    what, smallest = f"final regret less that of {base}", "smallest"
    header = ["policy", "difference", "± s.e.", f"{options.confidence:.4g} interval", "p"]
    if ranks:
        what, smallest = f"probability of less regret than {base}", "smallest mean"
        header[1] = "wins"
    else:
        header.append("variance saved")
    chosen = (frame["adjusted"] == "all pairs").all()
    note = f", the {smallest}; valid for all pairs at once" if chosen else ""
    rows = [_row(row, ranks) for _, row in frame.iterrows()]
    aligned = "<" + ">" * (len(header) - 1) + "<"
    text = f"{names}: {what}{note}\n{table([*header, ''], rows, aligned)}\n{_verdict(frame, base)}"
    if ranks or frame["significant"].all():
        return text
    others = wins(group, *how)
    more = others.loc[others["significant"] & ~frame["significant"], "policy"].tolist()
    if not more:
        return text
    return (
        f"{text}\nRanks, which a few bad replications do not disturb, tell {', '.join(more)} from "
        f"{base}: see --test ranks."
    )


def _row(row: "pd.Series[Any]", ranks: bool) -> tuple[str, ...]:
    if ranks:
        value, form, error = f"{row['wins']:.3f}", ".3f", ".3f"
        words = _words(row, "wins more", "wins less", row["wins"] > 0.5)
    else:
        value, form, error = f"{row['difference']:+.2f}", "+.2f", ".2f"
        words = _words(row, "significantly worse", "significantly better", row["difference"] > 0)
    shown = [
        str(row["policy"]),
        value,
        _number(row["se"], error),
        f"[{_number(row['low'], form)}, {_number(row['high'], form)}]",
        _p(row["p"]),
    ]
    if not ranks:
        shown.append(_number(row["variance_reduction"], ".0%") if row["paired"] else "not paired")
    return (*shown, words)


def _words(row: "pd.Series[Any]", more: str, less: str, is_more: bool) -> str:
    if row["significant"]:
        return more if is_more else less
    if math.isfinite(row["needed"]):
        return f"not significant; needs {_about(row['needed'])}"
    return "not significant"


def _about(number: float) -> str:
    """Return a number of replications with two digits."""
    if number >= 1e9:
        return "over 10⁹"
    size = 10 ** max(0, len(str(int(number))) - 2)
    return f"{math.ceil(number / size) * size:,}"


def _verdict(frame: "pd.DataFrame", base: str) -> str:
    """Return what the table shows, in a sentence."""
    if frame["p"].isna().all():
        return "One replication cannot show whether a difference is chance; run more replications."
    unclear = [str(name) for name in frame.loc[~frame["significant"], "policy"]]
    if not unclear:
        return f"All differences from {base} are significant."
    most = frame.loc[~frame["significant"], "needed"].max()
    enough = (
        f"about {_about(most)} replications would show each with probability 0.8, if the "
        "differences are as estimated."
        if math.isfinite(most)
        else "more replications may."
    )
    return (
        f"Not significant: {', '.join(unclear)}. These results do not tell whether "
        f"{base} is better or worse; {enough}"
    )


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else format(value, form)


def _p(value: float) -> str:
    return "–" if math.isnan(value) else "< 0.0001" if value < 1e-4 else f"{value:.4f}"
