"""Regret against bytes an arm: ``python -m benchmarks.memory``.

    python -m benchmarks.memory --part paper clicks --out results/memory   # some of the worlds
    python -m benchmarks.memory --out results/memory --write               # all, and the page
    python -m benchmarks.memory --tails                                    # 99.9 % quantiles

Every part is kept as a file in `--out` and not computed again with as many replications, so that
parts can run at the same time, or on another machine. `--write` fills the tables of
docs/research/memory.md from the files.
Regrets are final ones, on common random numbers; intervals are standard errors.
"""

import argparse
import json
import math
import re
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import lastblock as lb
from lastblock.core.duels import clear_duels, is_owed, update_leader
from lastblock.core.marks import clear_marks, take_in
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.policies.lbsdagm import wins_duel

PAGE = Path(__file__).parent.parent / "docs" / "research" / "memory.md"
BEGIN, END = "<!-- frontier -->", "<!-- end of frontier -->"
GEOMETRIC = "LB-SDA-GM"


class World(NamedTuple):
    """Arms that stay as they are, for so long and so often."""

    title: str
    arms: list
    horizon: int
    replications: int
    family: str | None = "bernoulli"
    """For the policies that must be told it; None leaves them out."""
    oblige: bool = False
    """Whether to try stronger sampling obligations."""


def bernoulli(*means):
    return [lb.Bernoulli(mean) for mean in means]


@policy(shift_invariant=True, scale_invariant=True)
class Obliged(NamedTuple):
    """LB-SDA-GM with another sampling obligation: an arm is owed (scale · log r)^power pulls."""

    scale: float
    power: float
    marks: int = 8

    @classmethod
    def examples(cls):
        return (cls(1.0, 1.0),)

    def layout(self, arms, horizon):
        return lb.LBSDAGM(self.marks).layout(arms, horizon)

    def start(self, s):
        clear_duels(s)
        for k in range(s.sums.shape[0]):
            s.block_sum[k] = 0.0
        clear_marks(s.marks)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s):
        pulls = s.marks.written
        leader = update_leader(s, pulls, False)
        s.limit = math.floor((self.scale * math.log(s.round)) ** self.power)
        for k in range(s.arms):
            if k != leader and (is_owed(s, pulls, k) or wins_duel(s, k, leader, 0)):
                enqueue(s, k)
        if s.queued == 0:
            enqueue(s, leader)
        shuffle(s)

    def observe(self, s, arm, reward):
        take_in(s.marks, s.sums, arm, reward, 0)


def worlds() -> dict[str, list[World]]:
    spread = [0.02 + 0.001 * k for k in range(9)] + [0.04]
    revenue = [  # most visits bring nothing, a few bring a lot
        lb.Discrete([0.0, 10.0, 100.0, 2000.0], [1.0 - 1.1 * p - p / 100, p, p / 10, p / 100])
        for p in (0.02, 0.03)
    ]
    return {
        "paper": [World(".05 / .15", bernoulli(0.05, 0.15), 10**4, 20_000, oblige=True)],
        "clicks": [
            World(".001 / .002", bernoulli(0.001, 0.002), 10**5, 4000),
            World(".02 / .03", bernoulli(0.02, 0.03), 10**5, 4000),
            World(".05 / .055", bernoulli(0.05, 0.055), 10**5, 4000),
            World(".05 / .1", bernoulli(0.05, 0.1), 10**4, 20_000),
        ],
        "close": [World(".5 / .51", bernoulli(0.5, 0.51), 10**5, 4000)],
        "long": [
            World(".02 / .03", bernoulli(0.02, 0.03), 10**6, 400),
            World(".02 / .03", bernoulli(0.02, 0.03), 10**7, 40),
        ],
        "exponential": [
            World(
                "exponential .5 .4 .3 .2",
                [lb.Exponential(mean) for mean in (0.5, 0.4, 0.3, 0.2)],
                10**4,
                20_000,
                "exponential",
                oblige=True,
            )
        ],
        "gaussian": [
            World(
                "Gaussian 0 .2 .4 .6 1",
                [lb.Gaussian(mean) for mean in (0.0, 0.2, 0.4, 0.6, 1.0)],
                10**4,
                20_000,
                "gaussian",
                oblige=True,
            )
        ],
        "tails": [World("revenue, tail to 2000", revenue, 10**5, 2000, None, oblige=True)],
        "ten": [World("ten arms, .02 to .04", bernoulli(*spread), 10**5, 1000)],
        "hundred": [
            World(
                "100 arms, .01 to .05",
                bernoulli(*np.linspace(0.01, 0.045, 99).tolist(), 0.05),
                10**5,
                200,
            )
        ],
    }


def policies(world: World) -> dict:
    found = {
        "LB-SDA": lb.LBSDA(),
        "LB-SDA-LM": lb.LBSDALM(),
        "LB-SDA-LM, M = 64, C = 0": lb.LBSDALM(minimum=64, scale=0.0),
        "LB-SDA-LM, M = 2000, C = 0": lb.LBSDALM(minimum=2000, scale=0.0),
    }
    for marks in (4, 6, 8, 16, 32):
        found[f"{GEOMETRIC}, {marks} marks"] = lb.LBSDAGM(marks)
    for block in ("long", "short"):
        found[f"{GEOMETRIC}, 8 marks, {block}"] = lb.LBSDAGM(8, block)
    if world.oblige:
        for scale, power in [(1.0, 0.75), (0.5, 1.0), (1.0, 1.0), (2.0, 1.0)]:
            found[f"{GEOMETRIC}, obligation ({scale:g} log r)^{power:g}"] = Obliged(scale, power)
    if world.family is not None:
        told = {"family": world.family}
        found["kl-UCB"] = lb.KLUCB(**told)
        if world.family != "exponential":
            spread = {"sigma": 1.0, "prior_sigma": 1.0} if world.family == "gaussian" else {}
            found["Thompson sampling"] = lb.Thompson(**told, **spread)
    return found


def replications_of(world: World, share: float) -> int:
    return max(8, round(share * world.replications))


def measure(world: World, share: float, threads: int | None) -> dict:
    rows = {}
    replications = replications_of(world, share)
    for name, chosen in policies(world).items():
        run = lb.simulate(
            chosen,
            lb.Stationary(world.arms),
            horizon=world.horizon,
            replications=replications,
            seed=1,
            times=[world.horizon],
            threads=threads,
            progress=sys.stderr.isatty(),
        )
        regret = run.regret[:, -1]
        horizon = world.horizon if chosen.grows else None
        rows[name] = {
            "bytes": lb.state_size(chosen, 8, horizon) / 8,
            "mean": float(regret.mean()),
            "error": float(regret.std(ddof=1) / np.sqrt(replications)),
            "q99": float(np.quantile(regret, 0.99)),
            "q999": float(np.quantile(regret, 0.999)),
            "seconds": run.seconds,
        }
        if name == "LB-SDA":
            base = regret
        ratio = regret.mean() / base.mean()
        spread = np.std(regret / base.mean() - ratio * base / base.mean(), ddof=1)
        rows[name]["ratio"] = float(ratio)
        rows[name]["ratio_error"] = float(spread / np.sqrt(replications))
        row = rows[name]
        print(
            f"{world.title}, T = {world.horizon:.0e}  {name:<28}{row['bytes']:>9.0f} B"
            f"{row['mean']:>10.2f} ± {row['error']:.2f}  ratio {ratio:.3f}"
            f"  99 % {row['q99']:.0f}  99.9 % {row['q999']:.0f}  {run.seconds:.0f} s",
            flush=True,
        )
    return {
        "title": world.title,
        "horizon": world.horizon,
        "replications": replications,
        "rows": rows,
    }


def tails(share: float, threads: int | None) -> None:
    """The 99.9 % quantile, from many replications, with the quantiles one standard error away."""
    for made in (
        World(".05 / .1", bernoulli(0.05, 0.1), 10**4, 200_000),
        World(".05 / .15", bernoulli(0.05, 0.15), 10**4, 200_000),
        worlds()["gaussian"][0]._replace(replications=100_000),
        worlds()["exponential"][0]._replace(replications=100_000),
        World(".02 / .03", bernoulli(0.02, 0.03), 10**5, 40_000),
        World(".001 / .002", bernoulli(0.001, 0.002), 10**5, 40_000),
    ):
        n = max(1000, round(share * made.replications))
        for name, chosen in {
            "LB-SDA": lb.LBSDA(),
            **{f"{GEOMETRIC}, {marks} marks": lb.LBSDAGM(marks) for marks in (4, 8, 16, 32)},
        }.items():
            run = lb.simulate(
                chosen,
                lb.Stationary(made.arms),
                horizon=made.horizon,
                replications=n,
                seed=2,
                times=[made.horizon],
                threads=threads,
                progress=sys.stderr.isatty(),
            )
            regret = np.sort(run.regret[:, -1])
            place, error = int(0.999 * n), int(np.sqrt(0.001 * n))
            low, high = regret[place - error], regret[min(n - 1, place + error)]
            print(
                f"{made.title:<26}{name:<22}mean {regret.mean():.2f}, 99.9 % "
                f"{np.quantile(regret, 0.999):.1f} [{low:.1f}, {high:.1f}]",
                flush=True,
            )


def tables(found: list[dict]) -> list[str]:
    lines = []
    for world in found:
        n, tail = world["replications"], world["replications"] >= 20_000
        power = f"10{'⁰¹²³⁴⁵⁶⁷⁸⁹'[round(np.log10(world['horizon']))]}"
        lines += [
            f"### {world['title']}, T = {power}",
            "",
            f"{n} replications.",
            "",
            "| policy | bytes an arm | mean | of LB-SDA's | 99 % | 99.9 % |",
            "|---|---|---|---|---|---|",
        ]
        for name, row in world["rows"].items():
            extreme = f"{row['q999']:.4g}" if tail else "–"
            lines.append(
                f"| {name} | {row['bytes']:,.0f} | {row['mean']:.4g} ± {row['error']:.2g} | "
                f"{row['ratio']:.3f} ± {row['ratio_error']:.3f} | {row['q99']:.4g} | {extreme} |"
            )
        lines.append("")
    return lines


def write(found: list[dict]) -> None:
    text = PAGE.read_text()
    inside = "\n".join([BEGIN, "", *tables(found), END])
    marked = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    PAGE.write_text(marked.sub(lambda _: inside, text))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory")
    every = worlds()
    parser.add_argument("--part", nargs="*", choices=[*every], default=[*every])
    parser.add_argument("--share", type=float, default=1.0, help="of the replications")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("results/memory"))
    parser.add_argument("--write", action="store_true", help="the tables of the page")
    parser.add_argument("--tails", action="store_true", help="only the 99.9 % quantiles, precisely")
    options = parser.parse_args()
    if options.tails:
        tails(options.share, options.threads)
        return
    if options.write and (options.share != 1.0 or len({*options.part}) < len(every)):
        parser.error("--write fills the page with all parts and replications: leave out the others")
    options.out.mkdir(parents=True, exist_ok=True)
    found = []
    for part in options.part:
        kept = options.out / f"{part}.json"
        wanted = [replications_of(world, options.share) for world in every[part]]
        if not kept.exists() or wanted != [
            made["replications"] for made in json.loads(kept.read_text())
        ]:
            started = time.perf_counter()
            made = [measure(world, options.share, options.threads) for world in every[part]]
            kept.write_text(json.dumps(made, indent=1))
            print(f"{part}: {time.perf_counter() - started:.0f} s", flush=True)
        found += json.loads(kept.read_text())
    if options.write:
        write(found)


if __name__ == "__main__":
    main()
