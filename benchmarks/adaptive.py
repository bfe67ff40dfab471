"""Compares Adaptive LB-SDA with tuned windows: ``python -m benchmarks.adaptive``.

It plays the random problems of `benchmarks.suite` and prints the ratios of the regret to that of
SW-LB-SDA, with the window that follows from T and the number of changes and with the best window in
hindsight. The 95 % intervals come from paired replications. Then it counts false restarts in worlds
that never change, and measures the regret of a long run without changes.

``python -m benchmarks.adaptive --promises`` compares it with LB-SDA instead, on the paper's
scenarios and on arms that are close to each other, and fills in the table in
`docs/research/adaptive.md`.

``python -m benchmarks.adaptive --chance`` prints, instead of the worlds that never change, how
likely a half of the same recipe is to meet all goals: halves differ, and one half says little.
"""

import math
from pathlib import Path

import numpy as np

import lastblock as lb
from benchmarks.options import Parser, between
from benchmarks.pages import Place, check_marks
from benchmarks.suite.problems import (
    EACH,
    FIRST_FURTHER,
    HALVES,
    KINDS,
    SuiteProblem,
    calm_problems,
    count,
    further_problem,
    problem,
)
from lastblock.cli.arguments import whole
from lastblock.lab.scenario import Scenario

PAGE = Path(__file__).parent.parent / "docs" / "research" / "adaptive.md"
GOALS = {  # the largest regret on the paper's scenarios
    "stationary": 12,
    "bernoulli-changes": 115,
    "gaussian-changes": 120,
    "gaussian-variance-changes-notebook": 195,
}
CLOSE = {"click rates": (0.02, 0.03), "close arms": (0.5, 0.51)}
MOST_OF_LBSDA = 1.5
"""The goal on arms that are close to each other, in times of LB-SDA's regret."""

HALF_GOALS = {"all": 0.42, "worst": 2.0, "stationary": 1.25, "rise": 1.2}
"""The largest ratios to the tuned window on a half: geometric means, and that of the worst
problem."""
HALVES_DRAWN, POOLS_DRAWN = 20_000, 200

WINDOWS = [1 << j for j in range(7, 17)]
CALM_STEPS = 20_000
LONG = 1_000_000
HARDER = {  # the worlds with the most false restarts that we found, besides the suite's own
    "even coins": lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.4)]),
    "two humps": lb.Stationary([lb.Beta(0.2, 0.3), lb.Beta(0.3, 0.2)]),
}


def final_regrets(policy, made: SuiteProblem, replications: int) -> np.ndarray:
    run = lb.simulate(
        policy,
        made.environment,
        horizon=made.horizon,
        replications=replications,
        seed=made.seed,
        times=[made.horizon],
        progress=False,
    )
    return run.regret[:, -1]


def tuned(made: SuiteProblem):
    return lb.SWLBSDA.tuned(horizon=made.horizon, changes=made.changes)


def log_regret_ratio(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Return the log of the ratio of mean regrets, and its standard error, from paired samples."""
    a, b = ours.mean(), theirs.mean()
    spread = np.std(ours / a - theirs / b, ddof=1)
    return math.log(a / b), float(spread / math.sqrt(len(ours)))


def geometric(ratios: list[tuple[float, float]]) -> str:
    """Return the geometric mean of ratios, given as logarithms, with its interval."""
    centre = np.mean([ratio for ratio, _ in ratios])
    error = 1.96 * math.sqrt(sum(se * se for _, se in ratios)) / len(ratios)
    return (
        f"{math.exp(centre):.3f} [{math.exp(centre - error):.3f}, {math.exp(centre + error):.3f}]"
    )


def suite(
    policies: dict, half: str, replications: int, hindsight: bool, further: list[int]
) -> dict[str, dict[str, np.ndarray]]:
    """Print the ratios of every policy on every problem of a half, and their summary.

    The problems of the seeds `further`, which belong to no half, are added. Return the ratios to
    the tuned window, by policy and kind.
    """
    problems = [problem(i, half) for i in range(count())]
    problems += [further_problem(i, seed) for seed in further for i in range(count())]
    to_tuned: dict[str, list] = {name: [] for name in policies}
    to_best: dict[str, list] = {name: [] for name in policies}
    for made in problems:
        ours = {name: final_regrets(p, made, replications) for name, p in policies.items()}
        windows = [final_regrets(tuned(made), made, replications)]
        if hindsight:
            windows += [
                final_regrets(lb.SWLBSDA(window=w), made, replications)
                for w in WINDOWS
                if 2 * made.environment.n_arms <= w < made.horizon
            ]
        best = min(windows, key=np.mean)
        for name, regrets in ours.items():
            to_tuned[name].append(log_regret_ratio(regrets, windows[0]))
            to_best[name].append(log_regret_ratio(regrets, best))
        line = "  ".join(f"{name} {math.exp(to_tuned[name][-1][0]):.2f}" for name in policies)
        print(f"{made.title}: tuned {windows[0].mean():.4g}; ratios: {line}", flush=True)
    for name in policies:
        ratios = to_tuned[name]
        values = np.exp([ratio for ratio, _ in ratios])
        worst = int(np.argmax(values))
        low, high = (math.exp(ratios[worst][0] + z * ratios[worst][1]) for z in (-1.96, 1.96))
        sure = sum(ratio + 1.96 * se < 0.0 for ratio, se in ratios)
        print(f"\n{name}")
        print(f"  ratio to the tuned window, geometric mean: {geometric(ratios)}")
        if hindsight:
            print(f"  ratio to the best window in hindsight:     {geometric(to_best[name])}")
        print(f"  worst: {values[worst]:.2f} [{low:.2f}, {high:.2f}], {problems[worst].title}")
        print(f"  above 1.5: {int(np.sum(values > 1.5))} of {len(values)}")
        print(f"  won: {np.mean(values < 1.0):.0%}, significantly: {sure / len(values):.0%}")
        for kind in KINDS:
            mine = [r for r, made in zip(ratios, problems, strict=True) if made.kind == kind]
            print(f"    {kind:<12}{geometric(mine)}")
    return {
        name: {
            kind: np.exp([r for (r, _), p in zip(ratios, problems, strict=True) if p.kind == kind])
            for kind in KINDS
        }
        for name, ratios in to_tuned.items()
    }


def chances(ratios: dict[str, np.ndarray], halves: int, draw: np.random.Generator) -> dict:
    """Return the shares of random halves that meet each goal, all goals, and all but one or more.

    A half has five problems of each kind, drawn from those of `ratios` with replacement.
    """
    drawn = {kind: draw.choice(known, (halves, EACH)) for kind, known in ratios.items()}
    together = np.concatenate(list(drawn.values()), axis=1)
    value = {name: np.exp(np.log(drawn[name]).mean(axis=1)) for name in ("stationary", "rise")}
    value |= {"all": np.exp(np.log(together).mean(axis=1)), "worst": together.max(axis=1)}
    met = {name: value[name] <= goal for name, goal in HALF_GOALS.items()}
    goals = np.sum(list(met.values()), axis=0)
    met |= {"all goals": goals == len(HALF_GOALS), "all but one": goals >= len(HALF_GOALS) - 1}
    return {name: float(shares.mean()) for name, shares in met.items()}


def print_chances(ratios: dict[str, dict[str, np.ndarray]]) -> None:
    """Print how likely a random half is to meet the goals, and how much the pool leaves open."""
    print("\nThe chance that a half meets its goals, drawn from these problems")
    for name, known in ratios.items():
        draw = np.random.default_rng(1)
        found = chances(known, HALVES_DRAWN, draw)
        others = [
            chances({kind: draw.choice(r, len(r)) for kind, r in known.items()}, 2000, draw)
            for _ in range(POOLS_DRAWN)
        ]
        low, high = np.quantile([other["all goals"] for other in others], (0.05, 0.95))
        each = ", ".join(
            f"{goal} ≤ {most:g}: {found[goal]:.2f}" for goal, most in HALF_GOALS.items()
        )
        all_goals = f"{found['all goals']:.2f} [{low:.2f}, {high:.2f}]"
        print(
            f"  {name:<26}{all_goals}; {each}; all but one: {found['all but one']:.2f}", flush=True
        )


def calm(policies: dict, replications: int) -> None:
    """Print the rates of false restarts in worlds that never change."""
    print("\nFalse restarts per 10⁴ steps, in worlds that never change")
    for name, policy in policies.items():
        for about, environment in {**calm_problems(), **HARDER}.items():
            run = lb.simulate(
                policy, environment, horizon=CALM_STEPS, replications=replications, seed=1
            )
            rate = run.restarts.mean() / CALM_STEPS * 1e4
            found = f"{run.restarts.sum()} in {replications} runs"
            print(f"  {name:<26}{about:<24}{rate:.3f} ({found})", flush=True)


def long_calm(policies: dict, replications: int) -> None:
    """Print the final regret of a long run without changes."""
    arms = lb.Stationary([lb.Gaussian(mean) for mean in (0.0, 0.2, 0.4, 0.6, 1.0)])
    print(f"\nFinal regret, Gaussian arms of means 0, 0.2, 0.4, 0.6, 1 (σ = 1), T = {LONG}")
    for name, policy in {"LB-SDA-LM": lb.LBSDALM(), **policies}.items():
        run = lb.simulate(policy, arms, horizon=LONG, replications=replications, seed=1)
        print(f"  {name:<26}{run.mean()[-1]:.1f} ± {run.standard_error()[-1]:.1f}", flush=True)


def promises() -> list[str]:
    """Print and return a table of regrets beside those of LB-SDA, with the goals."""
    lines = [
        "| world | T | LB-SDA | `AdaptiveLBSDA()` | ratio | goal |",
        "|---|---|---|---|---|---|",
    ]
    worlds = [
        SuiteProblem(name, "", Scenario.load(name).environment, 10_000, 0, 1) for name in GOALS
    ] + [
        SuiteProblem(
            f"{name}, {low} and {high}",
            "",
            lb.Stationary([lb.Bernoulli(low), lb.Bernoulli(high)]),
            horizon,
            0,
            1,
        )
        for horizon in (100_000, LONG)
        for name, (low, high) in CLOSE.items()
    ]
    for made in worlds:
        replications = {10_000: 2000, 100_000: 1000, LONG: 200}[made.horizon]
        lbsda, ours = (
            final_regrets(policy, made, replications) for policy in (lb.LBSDA(), lb.AdaptiveLBSDA())
        )
        ratio, error = log_regret_ratio(ours, lbsda)
        low, high = (math.exp(ratio + z * error) for z in (-1.96, 1.96))
        goal = f"≤ {GOALS[made.title]}" if made.title in GOALS else f"ratio ≤ {MOST_OF_LBSDA}"
        cells = [
            made.title,
            f"10{'⁴⁵⁶'[round(math.log10(made.horizon)) - 4]}",
            *(f"{x.mean():.1f} ± {x.std(ddof=1) / math.sqrt(x.size):.1f}" for x in (lbsda, ours)),
            f"{math.exp(ratio):.2f} [{low:.2f}, {high:.2f}]",
            goal if made.horizon < LONG else "–",
        ]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    sizes = ", ".join(
        f"{lb.state_size(lb.AdaptiveLBSDA(), arms) / arms / 1024:.2f} KiB with {arms}"
        for arms in (2, 16, 128)
    )
    return [*lines, "", f"The state of an arm takes {sizes} arms (live, the room for arms)."]


def main() -> None:
    parser = Parser(
        "adaptive",
        __doc__,
        "about a minute on two cores, once compiled, and half a minute with --promises",
    )
    parser.add_argument(
        "--half",
        choices=HALVES,
        default="development",
        help="the half of the suite to play (default: %(default)s)",
    )
    parser.add_argument(
        "--replications",
        type=whole(2),
        default=40,
        metavar="N",
        help="runs of each policy on each problem (default: %(default)s)",
    )
    parser.add_argument(
        "--alertness",
        type=between(0.0, 10.0),
        nargs="*",
        default=[],
        metavar="C",
        help="play AdaptiveLBSDA with these values of alertness, too",
    )
    parser.add_argument(
        "--further",
        type=whole(FIRST_FURTHER),
        nargs="*",
        default=[],
        metavar="SEED",
        help="add the problems of these seeds, which belong to no half, such as 10 11 12",
    )
    parser.add_argument(
        "--no-hindsight", action="store_true", help="do not search for the best window in hindsight"
    )
    parser.add_argument(
        "--chance",
        action="store_true",
        help="resample halves from these problems: how likely is one to meet all goals?",
    )
    parser.add_argument("--promises", action="store_true", help="compare with LB-SDA instead")
    options = parser.parse_args()
    if len({*options.further}) < len(options.further):
        parser.error("--further: give each seed once")
    if options.promises and options.chance:
        parser.error("--promises and --chance are two runs")
    if options.promises:
        place = Place(PAGE, "promises")
        check_marks(parser, place)
        place.fill(promises())
        return
    policies = {"AdaptiveLBSDA()": lb.AdaptiveLBSDA()}
    policies |= {f"alertness {c:g}": lb.AdaptiveLBSDA(c) for c in options.alertness}
    hindsight = not options.no_hindsight
    ratios = suite(policies, options.half, options.replications, hindsight, options.further)
    if options.chance:
        print_chances(ratios)
        return
    calm(policies, 50 * options.replications)  # many, because false restarts are rare
    long_calm(policies, options.replications)


if __name__ == "__main__":
    main()
