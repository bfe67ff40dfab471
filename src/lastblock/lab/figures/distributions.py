"""Figures of the final regret's distribution: a histogram of each policy, and their tails."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lastblock.drawing.lines import Curve, draw_line, short_number, write_names
from lastblock.lab.distributions import histogram, tail
from lastblock.lab.figures.panels import Looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastblock.lab.results import Result

_WIDE = 20.0  # a ratio of the largest regret to the smallest median that needs a logarithmic axis


def is_wide(regrets: "Sequence[np.ndarray[Any, Any]]") -> bool:
    """Return whether regrets differ so much that only a logarithmic scale shows them all."""
    medians = [float(np.median(x)) for x in regrets]
    return min(medians) > 0.0 and max(float(x.max()) for x in regrets) > _WIDE * min(medians)


def draw_histogram(panel: "Axes", result: "Result", looks: Looks) -> None:
    """Draw a histogram of the final regret for each policy, one above the other.

    The scale ends where 99 % of the replications of every policy do; the figure says how many lie
    beyond.
    """
    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    n = result.replications
    canvas.dress(panel, result.title, f"{_many(n)}; the mark is the mean", "regret", "")
    bins = histogram({label: result.final_regret(label) for label in looks})
    for row, (label, look) in enumerate(reversed(looks.items())):
        heights = bins.counts[label] / max(1, bins.counts[label].max())
        panel.stairs(
            row + 0.86 * heights,
            bins.edges,
            baseline=row,
            fill=True,
            color=look.colour,
            edgecolor="0.35",
            linewidth=0.6,
        )
        mean = float(result.final_regret(label).mean())
        if mean <= bins.edges[-1]:
            panel.plot([mean], [row], marker=look.marker, color=look.colour, markeredgecolor="0.2")
        beyond = bins.beyond[label]
        if beyond:
            words = f"{beyond} → {short_number(result.final_regret(label).max())}"
            panel.text(bins.edges[-1], row + 0.3, words, ha="right", fontsize=canvas.SMALL)
    names = [canvas.written_as(label, 24) for label in reversed(looks)]
    panel.set_yticks(range(len(looks)), names, parse_math=False)
    panel.set_ylim(-0.08, len(looks))
    panel.set_xlim(bins.edges[0], bins.edges[-1])


def draw_tail(panel: "Axes", result: "Result", looks: Looks) -> None:
    """Draw the share of the replications that had at least so much regret at the horizon."""
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415  # optional, and slow to import

    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    regrets = {label: result.final_regret(label) for label in looks}
    about = f"share of {_many(result.replications)} with at least so much regret"
    canvas.dress(panel, result.title, about, "regret", "share")
    curves = []
    for label, look in looks.items():
        x, share = tail(regrets[label])
        curves.append(Curve(label, look, x, share, share, share))
    panel.set_yscale("log")
    top = max(float(x.max()) for x in regrets.values())
    if is_wide(list(regrets.values())):
        panel.set_xscale("log")
        panel.set_xlim(min(float(np.median(x)) for x in regrets.values()) / 4.0, top * 1.1)
    else:
        panel.set_xlim(min(0.0, *(float(x.min()) for x in regrets.values())), top * 1.03 or 1.0)
    panel.set_ylim(0.7 / result.replications, 1.05)
    digits = max(0, math.ceil(math.log10(result.replications)) - 2)
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=digits))
    for i, curve in enumerate(curves):
        draw_line(panel, curve, i / len(curves))
    _name_tails(panel, curves)


def _name_tails(panel: "Axes", curves: Sequence[Curve]) -> None:
    """Write the names beside the panel, those with the longest tails on top."""
    order = sorted(curves, key=lambda curve: float(curve.t[-1]))
    low, high = panel.get_ylim()
    places = np.linspace(0.15, 0.85, len(order)) if len(order) > 1 else [0.5]
    at = [low + (high - low) * place for place in places]
    ends = [c._replace(y=np.array([y])) for c, y in zip(order, at, strict=True)]
    write_names(panel, ends, lambda curve: f"  {short_number(float(curve.t[-1]))}")


def _many(n: int) -> str:
    return f"{n:,} replications" if n > 1 else "one replication"
