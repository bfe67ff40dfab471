"""Drawings of a bandit's log over time, as SVG: traffic as stacked bars, means as lines."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.drawing.styles import looks
from lastblock.support.intervals import normal_reach

WIDTH, HEIGHT = 900.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 10.0, 10.0, 34.0
_THIN = "\u202f"


class ShownArms(NamedTuple):
    """An arm, or several arms together, as the drawings show them."""

    name: str
    colour: str
    dash: str


class Mark(NamedTuple):
    """A moment at which something changed."""

    at: float
    """The decision."""
    words: str


def shown_arms(names: Sequence[str]) -> list[ShownArms]:
    """Return a colour and a dash for each name; black is light in dark mode."""
    found = []
    for name, look in zip(names, looks([str(i) for i in range(len(names))]).values(), strict=True):
        colour = "var(--ink)" if look.colour == "#000000" else look.colour
        found.append(ShownArms(name, colour, " ".join(f"{2.1 * width:g}" for width in look.dash)))
    return found


def legend(shown: Sequence[ShownArms]) -> str:
    """Return the names with their colours."""
    items = "".join(
        f'<li><svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true" '
        f'style="--c:{arms.colour}"><rect width="14" height="14" rx="3" fill="{arms.colour}"/>'
        f"</svg>{escape(arms.name)}</li>"
        for arms in shown
    )
    return f'<ul class="arms">{items}</ul>'


def traffic(
    shown: Sequence[ShownArms],
    starts: Sequence[int],
    asked: npt.NDArray[np.int64],
    marks: Sequence[Mark],
    name: str,
) -> str:
    """Draw the share of each of these in the decisions of each stretch.

    Parameters
    ----------
    shown
        The arms, alone or together.
    starts
        The first decision of each stretch, and the one after the last.
    asked
        The decisions, (stretches, shown).
    marks
        What changed.
    name
        The name of the drawing for screen readers.
    """
    frame = _Frame(starts[0], starts[-1], 0.0, 1.0)
    parts = frame.grid([0.0, 0.25, 0.5, 0.75, 1.0], lambda share: f"{100 * share:.0f}{_THIN}%")
    totals = asked.sum(axis=1)
    for row, total in enumerate(totals.tolist()):
        below = 0.0
        x, end = frame.x(starts[row]), frame.x(starts[row + 1])
        for arms, count in zip(shown, asked[row].tolist(), strict=True):
            if count == 0:
                continue
            share = count / total
            top, bottom = frame.y(below + share), frame.y(below)
            words = f"{arms.name}: {100 * share:.1f} % of decisions {starts[row]:,} to "
            words += f"{starts[row + 1] - 1:,}"
            parts.append(
                f'<rect class="share" style="--c:{arms.colour}" x="{x:.2f}" y="{top:.2f}" '
                f'width="{max(0.3, end - x):.2f}" height="{bottom - top:.2f}">'
                f"<title>{escape(words)}</title></rect>"
            )
            below += share
    return frame.drawn([*parts, *frame.marks(marks)], name)


def means(
    shown: Sequence[ShownArms],
    starts: Sequence[int],
    told: npt.NDArray[np.float64],
    marks: Sequence[Mark],
    name: str,
    confidence: float,
) -> str:
    """Draw the mean of all rewards so far, with an interval for a single look.

    Parameters
    ----------
    shown, starts, marks, name
        As for `traffic`.
    told
        Count, sum and sum of squares of the rewards, (stretches, 3, shown).
    confidence
        The confidence of the intervals.
    """
    counts, sums, squares = np.cumsum(told, axis=0).transpose(1, 0, 2)
    with np.errstate(all="ignore"):
        mean = sums / counts
        variance = np.maximum(0.0, squares / counts - mean * mean)
        reach = normal_reach(confidence) * np.sqrt(variance / counts)
    reach[~(counts > 1)] = np.nan
    known = mean[np.isfinite(mean)]
    if known.size == 0:
        return ""
    # The first few rewards of an arm would stretch the scale, so their bands are cut off.
    low, high = float(known.min()), float(known.max())
    room = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
    frame = _Frame(starts[0], starts[-1], low - room, high + room)
    ticks = frame.ticks()
    parts = frame.grid(ticks, lambda value: f"{value:.4g}")
    ends = starts[1:]
    for place, arms in enumerate(shown):
        points = [
            (frame.x(end), frame.y(m), frame.y(m - r), frame.y(m + r))
            for end, m, r in zip(ends, mean[:, place], reach[:, place], strict=True)
            if math.isfinite(m)
        ]
        if not points:
            continue
        style = f'style="--c:{arms.colour}"'
        band = [(x, up) for x, _, _, up in points if math.isfinite(up)]
        band += [(x, down) for x, _, down, _ in reversed(points) if math.isfinite(down)]
        if band:
            parts.append(f'<path class="band" {style} d="M{_path(band)}Z"/>')
        line = [(x, y) for x, y, _, _ in points]
        dash = f' stroke-dasharray="{arms.dash}"' if arms.dash else ""
        parts.append(
            f'<path class="line" {style}{dash} d="M{_path(line)}">'
            f"<title>{escape(arms.name)}</title></path>"
        )
    return frame.drawn([*parts, *frame.marks(marks)], name)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.2f} {y:.2f}" for x, y in points)


class _Frame:
    """The scales of a drawing, and what lies behind the curves."""

    def __init__(self, first: float, last: float, low: float, high: float) -> None:
        self._first, self._last, self._low, self._high = first, max(last, first + 1), low, high

    def x(self, decision: float) -> float:
        share = (decision - self._first) / (self._last - self._first)
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        if not math.isfinite(value):
            return value
        share = min(1.0, max(0.0, (value - self._low) / (self._high - self._low)))
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def ticks(self) -> list[float]:
        """Return about five round values within the scale."""
        step = 10.0 ** math.floor(math.log10((self._high - self._low) / 2.0))
        while (self._high - self._low) / step > 6.0:
            step *= 2.0
        first = math.ceil(self._low / step)
        return [k * step for k in range(first, math.floor(self._high / step) + 1)]

    def grid(self, values: Sequence[float], shown: Callable[[float], str]) -> list[str]:
        """Return the lines of some values with their numbers, and the axis of decisions."""
        parts = []
        for value in values:
            y = self.y(value)
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.2f}" y2="{y:.2f}"/>'
                f'<text x="{LEFT - 6}" y="{y + 4:.2f}" text-anchor="end">'
                f"{escape(shown(value))}</text>"
            )
        bottom = HEIGHT - BOTTOM
        parts.append(
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
        )
        for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
            decision = self._first + share * (self._last - self._first)
            words = f"{round(decision):,}".replace(",", _THIN)
            words = f"decision {words}" if share == 0.5 else words
            parts.append(
                f'<text x="{self.x(decision):.2f}" y="{bottom + 20}" text-anchor="{anchor}">'
                f"{words}</text>"
            )
        return parts

    def marks(self, marks: Sequence[Mark]) -> list[str]:
        """Return a dashed line for each change within the scale."""
        return [
            f'<line class="change" x1="{self.x(mark.at):.2f}" x2="{self.x(mark.at):.2f}" '
            f'y1="{TOP}" y2="{HEIGHT - BOTTOM}"><title>{escape(mark.words)}</title></line>'
            for mark in marks
            if self._first <= mark.at <= self._last
        ]

    def drawn(self, parts: Sequence[str], name: str) -> str:
        """Return the drawing."""
        return (
            f'<div class="plot"><svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
            f'aria-label="{escape(name)}">{"".join(parts)}</svg></div>'
        )
