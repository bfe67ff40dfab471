"""Figures in the paper's layout: mean regret as a line, quartiles as a band.

There is no legend: the name of each curve stands to its right, at the height of its end.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lastblock.drawing.lines import (
    Curve,
    ceiling,
    draw_bound,
    draw_line,
    draw_with_bands,
    short_number,
    stroke,
    time_axis,
    write_names,
)
from lastblock.drawing.styles import looks as looks_of
from lastblock.lab.figures.panels import Looks, in_panels
from lastblock.support.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastblock.drawing.canvas import Picture
    from lastblock.lab.results import Result
    from lastblock.lab.scenario import Scenario

_TIMES_OF_MEANS = 501


def means_figure(
    scenarios: "Scenario | Sequence[Scenario]",
    path: str | Path | None = None,
    *,
    width: float | None = None,
) -> "Picture":
    """Draw the means of the arms over time, one panel for each scenario.

    `path`, `width`, result and errors are those of `result_figure`.
    """
    return in_panels(scenarios, path, _draw_means, (6.0, 3.2), width)


def draw_regret(panel: "Axes", result: "Result", looks: Looks) -> None:
    """Draw the regret over time."""
    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    n = result.replications
    about = f"mean of {n:,} replications; band: quartiles" if n > 1 else "one replication"
    if result.lai_robbins is not None:
        about += f"; Lai–Robbins bound: {short_number(result.lai_robbins)} log t"
    canvas.dress(panel, result.title, about, "time step", "regret")
    curves = _curves(result, looks, "mean", "q25", "q75")
    draw_with_bands(panel, curves)
    tops = [float(max(curve.y.max(), curve.high.max())) for curve in curves]
    if result.lai_robbins is not None:
        times = np.geomspace(1, result.horizon, 200)
        bound = result.lai_robbins * np.log(times)
        curves.append(draw_bound(panel, "Lai–Robbins", times, bound))
        tops.append(float(bound[-1]))
    panel.set_ylim(0.0, ceiling(tops) or 1.0)
    time_axis(panel, result.horizon, result.changes)
    write_names(panel, curves, lambda curve: f"  {short_number(curve.y[-1])}")


def draw_best_arm(panel: "Axes", result: "Result", looks: Looks) -> None:
    """Draw over time the share of the pulls that chose a best arm."""
    from matplotlib.ticker import PercentFormatter  # noqa: PLC0415  # optional, and slow to import

    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    n = result.replications
    about = f"share of all pulls, {n:,} replications" if n > 1 else "one replication"
    canvas.dress(panel, result.title, about, "time step", "pulls of a best arm")
    shares = _curves(result, looks, "best_share", "best_share", "best_share")
    curves = [_by_hundredths(curve) for curve in shares]
    for i, curve in enumerate(curves):
        draw_line(panel, curve, i / len(curves))
    panel.set_ylim(0.0, 1.02)
    panel.yaxis.set_major_formatter(PercentFormatter(1.0))
    time_axis(panel, result.horizon, result.changes)
    write_names(panel, curves, lambda curve: f"  {curve.y[-1]:.0%}")


def _draw_means(panel: "Axes", scenario: "Scenario") -> None:
    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    environment: Any = scenario.environment
    horizon, changes = scenario.horizon, list(environment.changes)
    if not hasattr(environment, "means"):
        raise ResultError(
            f"scenario {scenario.name!r}: {environment!r} has no method `means`; give it one, "
            "or draw another scenario"
        )
    phases = getattr(environment, "phases", None)
    times = np.unique(np.linspace(0, horizon, _TIMES_OF_MEANS).astype(np.int64))
    families = {type(arm).__name__ for arms in phases or [environment.arms] for arm in arms}
    about = f"{environment.n_arms} arms: {', '.join(sorted(families))}"
    canvas.dress(panel, scenario.title or scenario.name, about, "time step", "mean reward")
    # Each change occurs three times: the old mean, NaN to break the line, and the new mean.
    t = np.sort(np.concatenate([times, changes, changes, changes]))
    means = np.array([environment.means(int(time)) for time in t])
    for change in changes:
        first = int(np.searchsorted(t, change))
        means[first] = environment.means(change - 1)
        means[first + 1] = np.nan
    styles = looks_of([f"arm {k + 1}" for k in range(environment.n_arms)])
    curves = [
        Curve(name, look, t, y, y, y)
        for (name, look), y in zip(styles.items(), means.T, strict=True)
    ]
    every = max(1, t.size // 8)
    for i, curve in enumerate(curves):
        turn = round((i + 0.5) / len(curves) * every)
        stroke(panel, curve.look, curve.t, curve.y, markevery=(turn, every))
    low, high = float(np.nanmin(means)), float(np.nanmax(means))
    room = 0.12 * (high - low) or 1.0
    panel.set_ylim(low - room, high + room)
    time_axis(panel, horizon, changes)
    _note_deviations(panel, phases, [0, *changes, horizon])
    write_names(panel, curves, lambda curve: "")


def _note_deviations(panel: "Axes", phases: Any, edges: Sequence[int]) -> None:
    """Write the standard deviation over each phase, if it changes and all arms share it."""
    spreads = [{getattr(arm, "std", math.nan) for arm in arms} for arms in phases or ()]
    values = [spread.pop() if len(spread) == 1 else math.nan for spread in spreads]
    if len(set(values)) < 2 or any(math.isnan(value) for value in values):
        return
    for value, (start, end) in zip(values, pairwise(edges), strict=True):
        panel.annotate(
            f"σ = {value:g}",
            ((start + end) / 2, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -2),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=9,
            color="0.35",
        )


def _curves(result: "Result", looks: Looks, y: str, low: str, high: str) -> list[Curve]:
    curves = []
    for label, look in looks.items():
        frame = result.curves[result.curves["policy"] == label]
        columns = (frame[name].to_numpy(dtype=np.float64) for name in ("t", y, low, high))
        curves.append(Curve(label, look, *columns))
    return curves


def _by_hundredths(curve: Curve) -> Curve:
    """Return the shares over hundredths of the time; over fewer pulls they are too noisy."""
    hundredths = np.floor(100 * curve.t / curve.t[-1])
    last = np.flatnonzero(np.diff(hundredths, append=np.inf) > 0)  # the last time in each
    pulls = np.cumsum(curve.y * np.diff(curve.t, prepend=0.0))[last]
    t = curve.t[last]
    share = np.diff(pulls, prepend=0.0) / np.diff(t, prepend=0.0)
    return Curve(curve.label, curve.look, t, share, share, share)
