"""The part of a report on how the final regret is distributed: drawings as SVG, and a table."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from lastblock.drawing import numbers
from lastblock.lab import distributions
from lastblock.lab.figures.distributions import is_wide
from lastblock.lab.intervals import Sample
from lastblock.lab.report import markup
from lastblock.lab.report.markup import Cell, Column, Style

if TYPE_CHECKING:
    from lastblock.lab.results import Result

_WIDTH, _LEFT, _RIGHT = 900.0, 150.0, 16.0
_ROW, _TAIL, _AXIS = 38.0, 250.0, 40.0
_LONGEST = 20  # letters of a label
_MOST_POINTS = 160


def distribution(result: "Result", styles: dict[str, Style]) -> str:
    """Return a histogram for each policy, the tails, and a table of quantiles."""
    regrets = {label: result.final_regret(label) for label in styles}
    if result.replications < 2:
        return ""
    caption = (
        "The worst 1 % is the share of all regret that comes from the worst hundredth of the "
        "replications: 1 % if all are alike. Where it is large, means need many replications."
    )
    columns = [
        Column("Policy", left=True),
        Column("Mean", "mean regret at the horizon"),
        Column("Median"),
        Column("90 %", "a tenth of the replications had more regret"),
        Column("99 %", "a hundredth of the replications had more regret"),
        Column("Largest"),
        Column("Worst 1 %", "share of all regret in the worst hundredth of the replications"),
    ]
    rows = [
        [
            markup.policy(row["policy"], styles[row["policy"]]),
            *(markup.number(row[name]) for name in ("mean", "median", "q90", "q99", "max")),
            Cell(numbers.percent(row["worst_share"]), row["worst_share"]),
        ]
        for row in distributions.tails(result).to_dict("records")
    ]
    return (
        "<h3>Distribution of the final regret</h3>\n"
        f"{_histograms(regrets, styles)}\n{_tails(regrets, styles)}\n"
        f"{markup.table(columns, rows, 'Tail of the final regret', caption)}"
    )


def _histograms(regrets: dict[str, Sample], styles: dict[str, Style]) -> str:
    bins = distributions.histogram(regrets)
    at = _scale(float(bins.edges[0]), float(bins.edges[-1]), _LEFT, _WIDTH - _RIGHT)
    bottom = _ROW * len(regrets) + 8.0
    parts = _axis(bins.edges[0], bins.edges[-1], at, 4.0, bottom)
    for row, (label, style) in enumerate(styles.items()):
        base = 4.0 + _ROW * (row + 1)
        counts = bins.counts[label]
        tops = base - 0.84 * _ROW * counts / max(1, counts.max())
        steps = [(at(bins.edges[0]), base)]
        for low, high, top in zip(bins.edges[:-1], bins.edges[1:], tops, strict=True):
            steps += [(at(low), top), (at(high), top)]
        steps.append((at(bins.edges[-1]), base))
        mean = float(regrets[label].mean())
        beyond = bins.beyond[label]
        more = ""
        if beyond:
            more = f"; {beyond} more, up to {numbers.show(float(regrets[label].max()))}"
            parts.append(
                f'<text x="{_WIDTH - _RIGHT}" y="{base - 8:.1f}" text-anchor="end">+{beyond} →'
                f" {numbers.show(float(regrets[label].max()))}</text>"
            )
        words = f"{label}: {regrets[label].size} replications, mean {numbers.show(mean)}{more}"
        parts.append(
            f'<path class="bars" style="--c:{style.colour}" d="M{_path(steps)}Z">'
            f"<title>{escape(words)}</title></path>"
            f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{base:.1f}" '
            f'y2="{base:.1f}"/>{_name(label, base)}'
        )
        if mean <= bins.edges[-1]:
            parts.append(_mark(style, at(mean), base))
    return _drawing(parts, bottom + _AXIS, "Histogram of the final regret of each policy")


def _tails(regrets: dict[str, Sample], styles: dict[str, Style]) -> str:
    samples = list(regrets.values())
    wide = is_wide(samples)
    high = max(float(x.max()) for x in samples)
    low = min(float(np.median(x)) for x in samples) / 4.0 if wide else 0.0
    at = _scale(low, high if high > low else low + 1.0, _LEFT, _WIDTH - _RIGHT, wide)
    n = max(x.size for x in samples)
    up = _scale(1.0 / n, 1.0, 12.0 + _TAIL, 12.0, True)
    parts = _axis(low, high, at, 12.0, 12.0 + _TAIL, wide)
    for power in range(math.ceil(math.log10(n))):
        share = 10.0**-power
        y = up(share)
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{100 * share:g} %</text>'
        )
    for label, style in styles.items():
        values, shares = distributions.tail(regrets[label])
        inside = values >= low
        values, shares = _thinned(values[inside], shares[inside])
        points = [(at(x), up(y)) for x, y in zip(values, shares, strict=True)]
        dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
        d = _path(points)
        if style.pale:
            parts.append(f'<path class="edge" d="M{d}"/>')
        parts.append(
            f'<path class="line" style="--c:{style.colour}"{dash} d="M{d}">'
            f"<title>{escape(label)}: share of replications with at least so much regret</title>"
            "</path>"
        )
        parts += [_mark(style, *points[i]) for i in {len(points) // 2, len(points) - 1}]
    parts.append(
        f'<text x="{_LEFT - 8}" y="{12 + _TAIL + 20:.1f}" text-anchor="end">share with ≥ …</text>'
    )
    return _drawing(parts, 12.0 + _TAIL + _AXIS, "Tail of the final regret of each policy")


def _thinned(x: Sample, y: Sample) -> tuple[Sample, Sample]:
    """Return at most some points, evenly spread over the logarithms of the shares."""
    if x.size <= _MOST_POINTS:
        return x, y
    wanted = np.geomspace(y[0], y[-1], _MOST_POINTS)
    kept = np.unique(np.searchsorted(-y, -wanted).clip(0, y.size - 1))
    return x[kept], y[kept]


def _scale(
    low: float, high: float, start: float, end: float, logarithmic: bool = False
) -> Callable[[float], float]:
    """Return a function from values to pixels."""
    if not logarithmic:
        return lambda value: start + (float(value) - low) / (high - low) * (end - start)
    ratio = math.log(high / low)
    return lambda value: start + math.log(float(value) / low) / ratio * (end - start)


def _axis(
    low: float,
    high: float,
    at: Callable[[float], float],
    top: float,
    bottom: float,
    logarithmic: bool = False,
) -> list[str]:
    """Return the axis of regrets with its numbers."""
    parts = [
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom:.1f}" '
        f'y2="{bottom:.1f}"/>'
    ]
    for value in _ticks(float(low), float(high), logarithmic):
        x = at(value)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'
            f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">'
            f"{numbers.show(value, 1)}</text>"
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{bottom + 35:.1f}" text-anchor="middle">regret</text>')
    return parts


def _ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    if logarithmic:
        powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        return [10.0**power for power in powers]
    step = 10.0 ** math.floor(math.log10((high - low) / 2.0)) if high > low else 1.0
    while (high - low) / step > 8.0:
        step *= 2.0 if (high - low) / step <= 16.0 else 5.0
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _name(label: str, base: float) -> str:
    shown = label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
    return f'<text x="{_LEFT - 8}" y="{base:.1f}" text-anchor="end">{escape(shown)}</text>'


def _mark(style: Style, x: float, y: float) -> str:
    pale = " pale" * style.pale
    return (
        f'<g class="{pale.strip()}" style="--c:{style.colour}" '
        f'transform="translate({x:.1f} {y:.1f})">'
        f'<use class="marker" href="#mark-{style.marker}"/></g>'
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _drawing(parts: Sequence[str], height: float, name: str) -> str:
    return (
        f'<div class="still"><svg viewBox="0 0 {_WIDTH:g} {height:g}" role="img" '
        f'aria-label="{escape(name)}">{"".join(parts)}</svg></div>'
    )
