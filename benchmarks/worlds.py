"""Eight policies in six worlds that a user would recognise: ``python -m benchmarks.worlds``.

Draws `docs/images/worlds.png` and fills in the table in `docs/start/which-policy.md`. Policies for
rewards in [0, 1] are wrapped, with the bounds that somebody would guess. `--replications 20` for a
quick look, which writes nothing.
"""

from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

import lastblock as lb
from benchmarks.options import Parser
from benchmarks.pages import Place, check_marks
from lastblock.cli.arguments import whole
from lastblock.drawing.canvas import SMALL, TEXT, Picture
from lastblock.drawing.styles import looks

DOCS = Path(__file__).parent.parent / "docs"
PAGE, FIGURE = DOCS / "start" / "which-policy.md", DOCS / "images" / "worlds.png"
ARMS, HORIZON, REPLICATIONS = 5, 100_000, 200
PERIOD = 20_000
"""Of the seasons, in decisions."""


class World(NamedTuple):
    """What a decision earns."""

    title: str
    environment: Any
    bounds: tuple[float, float] | None = None
    """For policies that need some; None for rewards in [0, 1]."""


def lognormal(mean: float, sigma: float) -> Any:
    """400 quantiles of a lognormal law, scaled to have this mean exactly."""
    quantiles = [NormalDist().inv_cdf((i + 0.5) / 400) for i in range(400)]
    values = np.exp(sigma * np.array(quantiles))
    return mean * values / values.mean()


def basket(rate: float, mean: float) -> lb.Discrete:
    """Most visitors buy nothing; the others' baskets have a heavy tail."""
    values = lognormal(mean, 1.2)
    return lb.Discrete([0.0, *values.tolist()], [1.0 - rate, *[rate / values.size] * values.size])


def latency(mean: float) -> lb.Discrete:
    """Minus milliseconds: now and then a request takes long."""
    values = -lognormal(mean, 0.6)
    return lb.Discrete(values.tolist(), [1.0 / values.size] * values.size)


def rating(five: float, four: float, three: float, two: float) -> lb.Discrete:
    """One to five stars."""
    shares = [1.0 - five - four - three - two, two, three, four, five]
    return lb.Discrete([1.0, 2.0, 3.0, 4.0, 5.0], shares)


def worlds() -> list[World]:
    """Five arms each."""
    seasons = [lb.Sinusoid(0.04, 0.02, period=PERIOD, phase=k / ARMS) for k in range(ARMS)]
    baskets = [(0.030, 50.0), (0.030, 55.0), (0.035, 50.0), (0.025, 60.0), (0.040, 52.0)]
    stars = [
        (0.40, 0.30, 0.15, 0.05),
        (0.42, 0.30, 0.14, 0.05),
        (0.45, 0.28, 0.12, 0.05),
        (0.48, 0.28, 0.12, 0.05),
        (0.35, 0.35, 0.15, 0.05),
    ]
    return [
        World(
            "Click rates, 1 to 5 %",
            lb.Stationary([lb.Bernoulli(p) for p in (0.01, 0.02, 0.03, 0.04, 0.05)]),
        ),
        World(
            "Conversion, about 2 %",
            lb.Stationary([lb.Bernoulli(p) for p in (0.018, 0.019, 0.02, 0.022, 0.024)]),
        ),
        World(
            "Revenue, heavy tail",
            lb.Stationary([basket(rate, mean) for rate, mean in baskets]),
            (0.0, 500.0),
        ),
        World(
            "Latency",
            lb.Stationary([latency(mean) for mean in (100.0, 105.0, 110.0, 120.0, 140.0)]),
            (-1000.0, 0.0),
        ),
        World("Ratings, 1 to 5", lb.Stationary([rating(*shares) for shares in stars]), (1.0, 5.0)),
        World(
            "Seasons, clicks",
            lb.Drifting([lb.Bernoulli(0.04)] * ARMS, means=seasons),
        ),
    ]


def policies(world: World) -> dict[str, Any]:
    """By the names they have in figure and table."""

    def bounded(policy: Any) -> Any:
        if world.bounds is None:
            return policy
        return lb.Binarized(policy, *world.bounds, clip=True)

    return {
        "LBSDAGM()": lb.LBSDAGM(),
        "LBSDA()": lb.LBSDA(),
        "AdaptiveLBSDA()": lb.AdaptiveLBSDA(),
        "SWLBSDA(window=4000)": lb.SWLBSDA(window=4000),
        "LBSDALM()": lb.LBSDALM(),
        "Thompson()": bounded(lb.Thompson()),
        "KLUCB()": bounded(lb.KLUCB()),
        "EpsilonGreedy(0.1)": lb.EpsilonGreedy(0.1),
    }


def random_regret(environment: Any) -> float:
    """Of pulling any arm at random."""
    times = range(0, HORIZON, 100)
    gaps = [environment.best_mean(t) - environment.means(t).mean() for t in times]
    return float(np.mean(gaps)) * HORIZON


Shares = dict[str, dict[str, tuple[float, float]]]
"""World, policy: the regret in per cent of random play's, and its standard error."""


def measure(replications: int) -> Shares:
    """Everybody everywhere."""
    shares: Shares = {}
    for world in worlds():
        whole = random_regret(world.environment) / 100.0
        print(f"\n{world.title}: random play has a regret of {100.0 * whole:.0f}")
        shares[world.title] = {}
        for name, policy in policies(world).items():
            run = lb.simulate(
                policy,
                world.environment,
                horizon=HORIZON,
                replications=replications,
                seed=1,
                times=[HORIZON],
            )
            share = float(run.mean()[-1]) / whole, float(run.standard_error()[-1]) / whole
            shares[world.title][name] = share
            print(f"  {name:<24}{share[0]:>8.2f} % ± {share[1]:.2f}", flush=True)
    return shares


def draw(shares: Shares) -> Picture:
    """A panel a world, a line a policy."""
    picture = Picture(figsize=(10.0, 5.6), layout="constrained")
    panels = picture.subplots(2, 3, sharex=True, sharey=True)
    names = list(next(iter(shares.values())))
    styles = looks(names)
    for panel, (title, found) in zip(panels.flat, shares.items(), strict=True):
        for place, name in enumerate(names):
            share, error = found[name]
            panel.hlines(place, 0.1, share, color=styles[name].colour, alpha=0.35, linewidth=4)
            panel.errorbar(
                share,
                place,
                xerr=2.0 * error,
                color=styles[name].colour,
                marker=styles[name].marker,
                markersize=7,
            )
        panel.axvline(100.0, color="0.6", linewidth=1, linestyle=":")
        panel.set_title(title, fontsize=TEXT)
        panel.set_xscale("log")
        panel.set_xlim(0.5, 200.0)
        panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g} %"))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.set_yticks(range(len(names)), names, fontsize=SMALL)
        panel.grid(axis="x", color="0.9")
        panel.set_axisbelow(True)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    panels[0, 0].invert_yaxis()
    picture.supxlabel("regret, in per cent of random play's", fontsize=TEXT)
    return picture


def table(shares: Shares) -> list[str]:
    """In Markdown."""
    names = list(next(iter(shares.values())))
    lines = ["| | " + " | ".join(f"`{name}`" for name in names) + " |", "|---" * 9 + "|"]
    for title, found in shares.items():
        best = min(share for share, _ in found.values())
        cells = [
            f"**{share:.1f}**" if share <= 1.1 * best else f"{share:.1f}"
            for share, _ in found.values()
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = Parser("worlds", __doc__, "about a minute on two cores, once compiled")
    parser.add_argument(
        "--replications",
        type=whole(2),
        default=REPLICATIONS,
        metavar="N",
        help="runs of each policy in each world (default: %(default)s)",
    )
    replications = parser.parse_args().replications
    place, is_quick = Place(PAGE, "worlds"), replications != REPLICATIONS
    if not is_quick:
        check_marks(parser, place)
    shares = measure(replications)
    if not is_quick:
        draw(shares).save(FIGURE)
        place.fill(table(shares))


if __name__ == "__main__":
    main()
