"""``python -m lastblock.lab.reproduce``: the paper's curves as a table and a picture."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lastblock.lab.figures import regret_figure
from lastblock.lab.paper import REPLICATIONS, SCENARIOS
from lastblock.simulation import Run, simulate

_HEADER = f"{'scenario':<27}{'policy':<12}{'regret':>9}{'± s.e.':>8}{'quartiles':>18}{'ns/step':>9}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print a line for each curve, draw the figure."""
    parser = argparse.ArgumentParser(
        prog="python -m lastblock.lab.reproduce",
        description="Reproduce the paper's curves: a table on standard output and a picture.",
    )
    parser.add_argument("scenarios", nargs="*", metavar="NAME", help=f"of {', '.join(SCENARIOS)}")
    parser.add_argument("--replications", type=int, default=REPLICATIONS, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=None, help="default: all cores")
    parser.add_argument(
        "--reference", action="store_true", help="make the choices of the authors' code"
    )
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    names = options.scenarios or list(SCENARIOS)
    for name in names:
        if name not in SCENARIOS:
            parser.error(f"unknown scenario {name!r}; choose from {', '.join(SCENARIOS)}")

    print(_HEADER)
    results = []
    seconds = steps = 0.0
    for name in names:
        scenario = SCENARIOS[name](reference=options.reference)
        runs: dict[str, Run] = {}
        for label, policy in scenario.policies.items():
            try:
                run = simulate(
                    policy,
                    scenario.environment,
                    horizon=scenario.horizon,
                    replications=options.replications,
                    seed=options.seed,
                    threads=options.threads,
                )
            except ValueError as error:
                parser.error(str(error))
            runs[label] = run
            seconds += run.seconds
            steps += run.replications * run.horizon
            print(_line(name, label, run), flush=True)
        results.append((scenario, runs))
    picture = regret_figure(results, options.out / "regret.png")
    print(f"\n{steps / seconds / 1e6:.0f} million steps a second, picture: {picture}")
    return 0


def _line(scenario: str, policy: str, run: Run) -> str:
    low, high = run.quantile(0.25)[-1], run.quantile(0.75)[-1]
    pace = run.seconds / (run.replications * run.horizon) * 1e9
    return (
        f"{scenario:<27}{policy:<12}{run.mean()[-1]:>9.2f}{run.standard_error()[-1]:>8.2f}"
        f"{f'[{low:.1f}, {high:.1f}]':>18}{pace:>9.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
