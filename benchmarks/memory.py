"""Regret against bytes an arm: ``python -m benchmarks.memory``.

    python -m benchmarks.memory --part paper clicks     # some of the worlds
    python -m benchmarks.memory --write                 # all, and the tables of the page
    python -m benchmarks.memory --tails --write         # 99.9 % quantiles, and their table
    python -m benchmarks.memory --write --minutes 9     # stop in time; the same again goes on

Every simulation is kept in `--out`, in a file for each world, and not computed again with as many
replications. So a run can be stopped and continued, and parts can run at the same time, or on
another machine. `--write` fills the tables of docs/research/memory.md from the files, once all are
there.
Regrets are final ones, on common random numbers; intervals are standard errors.
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np

import lastblock as lb
from benchmarks.memory_worlds import GEOMETRIC, World, policies, tails, worlds
from benchmarks.options import Parser, between, folder
from benchmarks.pages import Place, check_marks
from lastblock.cli.arguments import whole
from lastblock.simulation.compiling import Job, compile_all
from lastblock.support import files
from lastblock.support.parallel import check_threads

PAGE = Path(__file__).parent.parent / "docs" / "research" / "memory.md"
MANY = 20_000
"""The fewest replications for a 99.9 % quantile: 20 of them lie above it."""


def replications_of(world: World, share: float) -> int:
    return max(8, round(share * world.replications))


class Measurement:
    """Simulations of one world, and the file that keeps them.

    Parameters
    ----------
    path
        The file. What it holds of other arms, or of other replications, is dropped.
    share
        The share of the world's replications to run.
    seed
        Of all simulations: they are on common random numbers.
    threads
        The number of threads; None for one per core.
    """

    def __init__(self, world: World, path: Path, share: float, seed: int, threads: int | None):
        self.world, self.path, self.seed, self.threads = world, path, seed, threads
        about = {
            "title": world.title,
            "horizon": world.horizon,
            "replications": replications_of(world, share),
            "arms": repr(world.arms),
            "seed": seed,
        }
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        same = about.items() <= kept.items()
        self.found = {**about, "rows": kept["rows"] if same else {}}

    def missing(self, chosen: dict) -> list[str]:
        rows = self.found["rows"]
        return [name for name in chosen if rows.get(name, {}).get("policy") != repr(chosen[name])]

    def complete(self, chosen: dict, deadline: float) -> bool:
        """Simulate what is missing and keep each; return False if the time is over before."""
        base = None
        for name in self.missing(chosen):
            if time.monotonic() > deadline:
                return False
            if base is None:  # for the ratios
                base, seconds = self.regrets(chosen["LB-SDA"])
            regret = base
            if name != "LB-SDA":
                regret, seconds = self.regrets(chosen[name])
            row = self.found["rows"][name] = self.row(chosen[name], regret, base)
            files.write(self.path, json.dumps(self.found, indent=1, ensure_ascii=False).encode())
            print(
                f"{self.world.title}, T = {self.world.horizon:.0e}  {name:<28}{row['bytes']:>9.0f} "
                f"B{row['mean']:>10.2f} ± {row['error']:.2f}  ratio {row['ratio']:.3f}  99 % "
                f"{row['q99']:.0f}  99.9 % {row['q999']:.0f}  {seconds:.1f} s",
                flush=True,
            )
        return True

    def regrets(self, policy):
        """Return the final regret of each replication, and the seconds that they took."""
        run = lb.simulate(
            policy,
            lb.Stationary(self.world.arms),
            horizon=self.world.horizon,
            replications=self.found["replications"],
            seed=self.seed,
            times=[self.world.horizon],
            threads=self.threads,
            progress=sys.stderr.isatty(),
        )
        return run.regret[:, -1], run.seconds

    def row(self, policy, regret, base) -> dict:
        n = regret.size
        ratio = regret.mean() / base.mean()
        spread = np.std(regret / base.mean() - ratio * base / base.mean(), ddof=1)
        place, error = int(0.999 * n), int(np.sqrt(0.001 * n))
        ordered = np.sort(regret)
        horizon = self.world.horizon if policy.grows else None
        return {
            "policy": repr(policy),
            "bytes": lb.state_size(policy, 8, horizon) / 8,
            "mean": float(regret.mean()),
            "error": float(regret.std(ddof=1) / np.sqrt(n)),
            "ratio": float(ratio),
            "ratio_error": float(spread / np.sqrt(n)),
            "q99": float(np.quantile(regret, 0.99)),
            "q999": float(np.quantile(regret, 0.999)),
            "q999_low": float(ordered[place - error]),  # a standard error below …
            "q999_high": float(ordered[min(n - 1, place + error)]),  # … and above
        }


def when(world: dict) -> str:
    return f"T = 10{'⁰¹²³⁴⁵⁶⁷⁸⁹'[round(np.log10(world['horizon']))]}"


def frontier_tables(found: list[dict]) -> list[str]:
    lines = []
    for world in found:
        n = world["replications"]
        tail = n >= MANY
        few = "" if tail else ", too few for a 99.9 % quantile"
        lines += [
            f"### {world['title']}, {when(world)}",
            "",
            f"{n} replications{few}.",
            "",
            "| policy | bytes an arm | mean | of LB-SDA's | 99 % |" + " 99.9 % |" * tail,
            "|---|---|---|---|---|" + "---|" * tail,
        ]
        for name, row in world["rows"].items():
            lines.append(
                f"| {name} | {row['bytes']:,.0f} | {row['mean']:.4g} ± {row['error']:.2g} | "
                f"{row['ratio']:.3f} ± {row['ratio_error']:.3f} | {row['q99']:.4g} |"
                + f" {row['q999']:.4g} |"
                * tail
            )
        lines.append("")
    return lines


def tail_table(found: list[dict]) -> list[str]:
    names = [name.replace(f"{GEOMETRIC}, ", "") for name in found[0]["rows"]]
    lines = [
        f"| 99.9 % quantile | replications | {' | '.join(names)} |",
        f"|---|---|{'---|' * len(names)}",
    ]
    for world in found:
        cells = [
            f"{row['q999']:.3g} [{row['q999_low']:.3g}, {row['q999_high']:.3g}]"
            for row in world["rows"].values()
        ]
        lines.append(
            f"| {world['title']}, {when(world)} | {world['replications']} | {' | '.join(cells)} |"
        )
    return [*lines, ""]


def ordered(found: dict, chosen: dict) -> dict:
    """Return what was found of a world, in the order of the policies."""
    return {**found, "rows": {name: found["rows"][name] for name in chosen}}


def main() -> None:
    parser = Parser(
        "memory", __doc__, "about ten minutes on 16 cores, and more than an hour on two"
    )
    every = worlds()
    parser.add_argument(
        "--part",
        nargs="*",
        choices=[*every],
        default=[*every],
        help="play only these groups of worlds",
    )
    parser.add_argument(
        "--share",
        type=between(0.0, 10.0),
        default=1.0,
        metavar="X",
        help="play this share of the replications (default: %(default)s)",
    )
    parser.add_argument(
        "--threads", type=whole(1), metavar="N", help="number of threads (default: one per core)"
    )
    parser.add_argument(
        "--minutes",
        type=between(0.0),
        default=math.inf,
        metavar="N",
        help="stop after so many minutes; the same command goes on",
    )
    parser.add_argument(
        "--out",
        type=folder,
        default="results/memory",
        metavar="FOLDER",
        help="where simulations are kept (default: %(default)s)",
    )
    parser.add_argument("--write", action="store_true", help="fill in the tables of the page")
    parser.add_argument(
        "--tails", action="store_true", help="find 99.9 %% quantiles instead, precisely"
    )
    options = parser.parse_args()
    if options.write and (options.share != 1.0 or len({*options.part}) < len(every)):
        parser.error("--write fills the page with all parts and replications: leave out the others")
    place = Place(PAGE, "tails" if options.tails else "frontier")
    if options.write:
        check_marks(parser, place)
    deadline = time.monotonic() + 60.0 * options.minutes
    options.out.mkdir(parents=True, exist_ok=True)
    if options.tails:
        jobs = [(f"quantiles-{i}", made, chosen) for i, (made, chosen) in enumerate(tails())]
    else:
        jobs = [
            (f"{part}-{i}", made, policies(made))
            for part in options.part
            for i, made in enumerate(every[part])
        ]
    seed = 2 if options.tails else 1
    made = {
        name: Measurement(world, options.out / f"{name}.json", options.share, seed, options.threads)
        for name, world, _ in jobs
    }
    needed = [
        Job(chosen[which], lb.Stationary(world.arms), world.horizon)
        for name, world, chosen in jobs
        for which in made[name].missing(chosen)
    ]
    compile_all(needed, check_threads(options.threads), None)
    found = []
    for name, _, chosen in jobs:
        one = made[name]
        started = time.perf_counter()
        if not one.complete(chosen, deadline):
            sys.exit(f"stopped in {name}, the time is over: the same command goes on")
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
        found.append(ordered(one.found, chosen))
    if options.write:
        place.fill(tail_table(found) if options.tails else frontier_tables(found))


if __name__ == "__main__":
    main()
