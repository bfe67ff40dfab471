"""Curves in a panel: lines with markers, and their names to the right of their ends."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy.typing as npt

from lastblock.drawing.styles import PALE, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOUND = Look("#000000", "", (3.5, 2.0))
"""The look of a bound."""
_FAR = 4.0  # a curve may leave the panel if its top is this many times the next one's
_LONGEST_NAME = 32  # characters
_LABEL_POINTS = 13.5  # distance from one name to the next


class Curve(NamedTuple):
    """A curve of a panel, with its band from `low` to `high`."""

    label: str
    look: Look
    t: npt.NDArray[Any]
    y: npt.NDArray[Any]
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]


def draw_with_bands(panel: "Axes", curves: Sequence[Curve]) -> None:
    """Draw curves as lines, and the range from `low` to `high` of each as a band."""
    for i, curve in enumerate(curves):
        panel.fill_between(
            curve.t, curve.low, curve.high, alpha=0.16, linewidth=0, color=curve.look.colour
        )
        draw_line(panel, curve, i / len(curves))


def draw_bound(panel: "Axes", label: str, t: npt.NDArray[Any], y: npt.NDArray[Any]) -> Curve:
    """Draw a bound as a black dashed line, and return it as a curve."""
    panel.plot(t, y, color="black", linewidth=1.2, dashes=BOUND.dash)
    return Curve(label, BOUND, t, y, y, y)


def draw_line(panel: "Axes", curve: Curve, turn: float) -> None:
    """Draw a curve; its markers are shifted by `turn` of their distance, apart from others'."""
    every = 0.14  # of the panel's diagonal
    stroke(panel, curve.look, curve.t, curve.y, markevery=(0.02 + turn * every, every))


def stroke(panel: "Axes", look: Look, x: Any, y: Any, **options: Any) -> None:
    """Draw a line with this colour, marker and dash; a pale one gets a dark edge."""
    figure: Any = panel.figure
    scale = figure.scale
    if look.colour == PALE:
        under = {key: value for key, value in options.items() if key != "markevery"}
        panel.plot(x, y, color="0.35", linewidth=3.0 * scale, zorder=3, **under)
    if look.dash:
        options["dashes"] = look.dash
    panel.plot(
        x,
        y,
        color=look.colour,
        linewidth=1.8 * scale,
        marker=look.marker,
        markersize=(7.5 if look.marker in "PX*" else 5.5) * scale,
        markeredgecolor="0.35" if look.colour == PALE else "white",
        markeredgewidth=0.6 * scale,
        zorder=3,
        **options,
    )


def time_axis(panel: "Axes", horizon: int, changes: Sequence[int]) -> None:
    """Let the time run from 0 to `horizon`, with a dotted line at each change."""
    from matplotlib.ticker import EngFormatter, MaxNLocator  # noqa: PLC0415  # optional, and slow to import

    for change in changes:
        panel.axvline(change, color="0.45", linestyle=(0, (1, 2)), linewidth=1.1, zorder=1)
    panel.set_xlim(0, horizon)
    panel.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if horizon >= 100_000:
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))


def write_names(panel: "Axes", curves: Sequence[Curve], number: Callable[[Curve], str]) -> None:
    """Write the name of each curve, with a sample of its line, to the right of its end.

    Names are moved up or down where they would overlap. `number` returns the text after a name.
    """
    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    bottom, top = panel.get_ylim()
    ends = [float((curve.y[-1] - bottom) / (top - bottom)) for curve in curves]
    figure: Any = panel.figure
    rows = figure.axes[0].get_subplotspec().get_gridspec().nrows
    height = (figure.get_figheight() / rows - 1.1 * figure.scale) * 72.0  # about, in points
    points = _LABEL_POINTS * figure.scale
    gap = min(points / height, 1.0 / len(curves))
    size = 10.0 * figure.scale * min(1.0, gap * height / points)
    for curve, end, place in zip(curves, ends, spread_apart(ends, gap), strict=True):
        beyond = end > 1.0
        across: dict[str, Any] = {"transform": panel.transAxes, "clip_on": False}
        line = [1.005, 1.035], [min(end, 1.0), place]
        panel.plot(*line, color="0.6", linewidth=0.8, **across)
        stroke(panel, curve.look, [1.035, 1.07, 1.105], [place] * 3, markevery=[1], **across)
        note = " ↑ off the scale" if beyond else ""
        panel.text(
            1.12,
            place,
            f"{canvas.written_as(curve.label, _LONGEST_NAME)}{number(curve)}{note}",
            transform=panel.transAxes,
            fontsize=size,
            verticalalignment="center",
            parse_math=False,
        )


def spread_apart(heights: Sequence[float], gap: float) -> list[float]:
    """Return the places in [0, 1], at least `gap` apart, nearest to `heights` in least squares.

    The places are in the same order as the heights.
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    blocks: list[list[float]] = []  # sum and number of the heights that are pushed together
    for rank, i in enumerate(order):
        blocks.append([min(heights[i], 1.0) - rank * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, size = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += size
    levels = [total / size for total, size in blocks for _ in range(int(size))]
    highest = 1.0 - (len(heights) - 1) * gap
    places = [0.0] * len(heights)
    for rank, i in enumerate(order):
        places[i] = min(max(levels[rank], 0.0), highest) + rank * gap
    return places


def ceiling(tops: Sequence[float]) -> float:
    """Return the top of the panel: above all curves, but for a few far above the others."""
    ordered = sorted(tops)
    kept = len(ordered)
    while kept > 2 and kept - 1 > len(ordered) / 2 and ordered[kept - 1] > _FAR * ordered[kept - 2]:
        kept -= 1
    return ordered[kept - 1] * (1.04 if kept == len(ordered) else 1.3)


def short_number(value: float) -> str:
    """Return `value` with three significant digits, or all those before the decimal point."""
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{min(2, max(0, digits))}f}"
