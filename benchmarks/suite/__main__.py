"""Plays random problems, drawn without a policy in mind: ``python -m benchmarks.suite``.

It prints the regret of every policy as a ratio to that of SW-LB-SDA, with the window that follows
from T and the number of changes and with the best window in hindsight, and counts false restarts.
`summary.json` and the tables of every problem lie in ``results/adaptive-suite``. Finished chunks
are kept there, so an interrupted run goes on where it stopped.
"""

from pathlib import Path
from typing import Any

from benchmarks.options import Parser, folder
from benchmarks.suite.halves import NAME, REPLICATIONS, calm_scenarios, read_numbers, scenarios
from benchmarks.suite.problems import HALVES, count
from benchmarks.suite.rivals import ADAPTIVE, TUNED
from benchmarks.suite.statistics import Suite, sum_up
from lastblock.cli.arguments import whole
from lastblock.cli.tables import table
from lastblock.lab.work.runner import compile_missing, run


def main() -> None:
    parser = Parser("suite", __doc__, "some minutes a problem, and longer to compile 200 kernels")
    parser.add_argument(
        "--half",
        choices=HALVES,
        default=HALVES[0],
        help=f"{HALVES[0]} (the default); {HALVES[1]}, to be run once, at the end; the others are "
        "the test halves of earlier trials",
    )
    parser.add_argument(
        "--problems", type=read_numbers, metavar="NUMBERS", help="only these, such as 0-4 or 3,17"
    )
    parser.add_argument(
        "--replications",
        type=whole(1),
        default=REPLICATIONS,
        metavar="N",
        help="number of replications",
    )
    parser.add_argument("--threads", type=whole(1), metavar="N", help="default: one for each core")
    parser.add_argument(
        "--out", type=folder, default=Path("results"), help="folder for results (results)"
    )
    options = parser.parse_args()
    numbers = options.problems or list(range(count()))
    problems = scenarios(options.half, options.replications, numbers)
    calm = calm_scenarios(options.half, options.replications)
    out = options.out / NAME
    compile_missing([*problems, *calm], out=out, threads=options.threads)
    results = {}
    for i, scenario in zip(numbers, problems, strict=True):
        results[i] = run(scenario, out=out, threads=options.threads)
        ours, theirs = (results[i].final_regret(label).mean() for label in (ADAPTIVE, TUNED))
        print(f"{ours / theirs:5.2f}  {scenario.title}", flush=True)
    still = [run(scenario, out=out, threads=options.threads) for scenario in calm]
    found = sum_up(results, still, options.half)
    print(f"\n{describe(found)}\n\nresults: {found.save(out / found.name)}")


def describe(found: Suite) -> str:
    """Return the summary as a table with a row for each policy."""
    about = found.about
    problems, replications = about["problems"], about["replications"]
    head = (
        f"{NAME}, {found.title}: {problems} problem{'s' * (problems != 1)}, "
        f"{replications} replication{'s' * (replications != 1)}"
    )
    header = (
        "policy",
        "to tuned",
        "95 %",
        "to best",
        "95 %",
        "worst",
        "won",
        "surely",
        "first",
        "false/10⁴",
        "delay",
    )
    rows = [
        (
            row["policy"],
            _decimal(row["tuned"]),
            _interval(row, "tuned"),
            _decimal(row["best"]),
            _interval(row, "best"),
            _decimal(row["worst"]),
            _percent(row["won"]),
            _percent(row["surely_won"]),
            _percent(row["first"]),
            _decimal(row["false_restarts"], 3),
            _decimal(row["delay"], 0),
        )
        for row in found.summary
    ]
    first = found.summary[0]
    worst = f"{_decimal(first['worst'])} {_interval(first, 'worst')}, {first['worst_problem']}"
    return (
        f"{head}\n{table(header, rows, aligned='<' + '>' * 10)}\n"
        f"worst case of {first['policy']}: {worst}"
    )


def _decimal(value: float | None, decimals: int = 2) -> str:
    """Return `value` with this many decimals, or a dash if it is None."""
    return "–" if value is None else f"{value:.{decimals}f}"


def _interval(row: dict[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None else f"[{_decimal(low)}, {_decimal(high)}]"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


if __name__ == "__main__":
    main()
