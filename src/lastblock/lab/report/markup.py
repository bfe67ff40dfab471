"""Pieces of HTML: readable numbers, tables that can be sorted, small drawings of intervals.

Every text that comes from a user goes through `escape`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from lastblock.drawing.numbers import show
from lastblock.drawing.styles import PALE, SHAPES, Look, looks_together

_LONG = 20  # characters; a longer label takes two lines


_LINE_WIDTH = 2.1  # pixels, as in the style sheet


class Style(NamedTuple):
    """How a policy is drawn, in the page's terms."""

    colour: str
    marker: str
    dash: str
    pale: bool


def styles_together(reports: Sequence[Mapping[str, str]]) -> list[dict[str, Style]]:
    """Return the styles of policies in each of several figures; see `looks_together`.

    Each mapping has the name of the policy for each label. Black is light in dark mode.
    """
    return [
        {label: _style(look) for label, look in looks.items()} for looks in looks_together(reports)
    ]


def _style(look: Look) -> Style:
    return Style(
        "var(--ink)" if look.colour == "#000000" else look.colour,
        SHAPES[look.marker],
        " ".join(f"{_LINE_WIDTH * width:g}" for width in look.dash),
        look.colour == PALE,
    )


class Column(NamedTuple):
    """The head of a column in a table."""

    title: str
    note: str = ""
    """The text that appears when the mouse points at the head."""
    left: bool = False
    """Whether cells are aligned to the left."""
    fixed: bool = False
    """Whether readers cannot sort by this column."""


class Cell(NamedTuple):
    """A cell of a table."""

    html: str
    """What the cell shows."""
    value: float | None = None
    """The number to sort by."""
    numeric: bool = True
    """Whether to sort by `value`; otherwise by the text."""


def text(value: object) -> Cell:
    """Return a cell with text."""
    return Cell(escape(str(value)), numeric=False)


def number(value: float | None, digits: int = 4) -> Cell:
    """Return a cell with a number, as `show` writes it."""
    return Cell(show(value, digits), value)


def p_value(value: float) -> str:
    """Return a p-value as text; a bound if it is very small."""
    if math.isnan(value):
        return "–"
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    name: str,
    caption: str,
    *,
    classes: Sequence[str] = (),
) -> str:
    """Return a table that readers can sort; its first column heads the rows.

    Parameters
    ----------
    columns, rows
        The heads, and the cells row by row.
    name
        The name of the table for screen readers.
    caption
        The caption, as HTML.
    classes
        The CSS class of each row, "" for none.
    """
    heads = "".join(_head(column) for column in columns)
    body = []
    for i, row in enumerate(rows):
        cells = "".join(
            _cell("th" if k == 0 else "td", cell, columns[k].left) for k, cell in enumerate(row)
        )
        marked = f' class="{classes[i]}"' if i < len(classes) and classes[i] else ""
        body.append(f"<tr{marked}>{cells}</tr>")
    return (
        f'<div class="scroll" role="group" tabindex="0" aria-label="{escape(name)}">'
        f'<table class="sortable"><caption><span>{caption}</span></caption>'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{chr(10).join(body)}\n</tbody></table></div>"
    )


def _head(column: Column) -> str:
    note = f' title="{escape(column.note)}"' if column.note else ""
    side = ' class="left"' if column.left else ""
    fixed = " data-fixed" if column.fixed else ""
    return f'<th scope="col"{side}{note}{fixed}>{escape(column.title)}</th>'


def _cell(tag: str, cell: Cell, left: bool) -> str:
    scope = ' scope="row"' if tag == "th" else ""
    side = ' class="left"' if left else ""
    value = ""
    if cell.numeric:
        missing = cell.value is None or math.isnan(cell.value)
        value = f' data-value="{"" if missing else _sortable(cell.value or 0.0)}"'
    return f"<{tag}{scope}{side}{value}>{cell.html}</{tag}>"


def _sortable(value: float) -> str:
    """Return a number as JavaScript reads it."""
    return f"{value:.9g}".replace("inf", "Infinity")


def policy(label: str, style: Style) -> Cell:
    """Return a cell with the label of a policy and the marker of its curve."""
    key = (
        f'<svg class="key{" pale" * style.pale}" width="14" height="14" viewBox="-7 -7 14 14" '
        f'aria-hidden="true" style="--c:{style.colour}"><use href="#mark-{style.marker}"/></svg>'
    )
    shown = escape(label)
    width = "label long" if len(label) > _LONG else "label"
    return Cell(
        f'<span class="{width}" title="{shown}">{key}<span>{shown}</span></span>', numeric=False
    )


class Rail(NamedTuple):
    """The scale that all intervals of a table share."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> "Rail":
        """Return a scale that includes 0 and all finite values."""
        finite = [value for value in values if math.isfinite(value)]
        return cls(min([0.0, *finite]), max([0.0, *finite]))

    def at(self, value: float) -> str:
        """Return where a value lies in the drawing, in pixels."""
        span = self.high - self.low
        return f"{4.0 + 152.0 * ((value - self.low) / span if span > 0.0 else 0.5):.1f}"


def interval(
    rail: Rail,
    mean: float,
    confidence: tuple[float, float],
    colour: str,
    quartiles: tuple[float, float] | None = None,
) -> Cell:
    """Draw the mean as a dot, its confidence interval as a line, and the quartiles as a bar."""
    parts = ['<line class="rail" x1="0" x2="160" y1="9" y2="9"/>']
    if rail.low < 0.0:
        parts.append(f'<line class="zero" x1="{rail.at(0)}" x2="{rail.at(0)}" y1="0" y2="18"/>')
    if quartiles is not None and all(map(math.isfinite, quartiles)):
        low, high = (float(rail.at(q)) for q in quartiles)
        parts.append(
            f'<rect class="quartiles" x="{low:.1f}" width="{max(1.0, high - low):.1f}" '
            'y="3.5" height="11" rx="2"/>'
        )
    if all(map(math.isfinite, confidence)):
        low_at, high_at = map(rail.at, confidence)
        parts.append(f'<line class="confidence" x1="{low_at}" x2="{high_at}" y1="9" y2="9"/>')
    if math.isfinite(mean):
        parts.append(f'<circle class="mean" cx="{rail.at(mean)}" cy="9" r="3.6"/>')
    return Cell(
        f'<svg class="interval" viewBox="0 0 160 18" aria-hidden="true" style="--c:{colour}">'
        f"{''.join(parts)}</svg>",
        mean,
    )


def badge(words: str, kind: str) -> str:
    """Return words that stand out; `kind` is the CSS class."""
    return f'<span class="badge {kind}">{escape(words)}</span>'


def code(block: str) -> str:
    """Return a block of code that readers can copy."""
    return f'<div class="code"><pre tabindex="0">{escape(block)}</pre></div>'


def details(title: str, inside: str) -> str:
    """Return a part that opens by a click; `title` is text, `inside` is HTML."""
    return f"<details><summary>{escape(title)}</summary><div>{inside}</div></details>"


def embedded(data: Any) -> str:
    """Return data as JSON that is safe inside a <script> element."""
    plain = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        plain = plain.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json">{plain}</script>'


def rounded(values: Sequence[float], digits: int = 5) -> list[float | int | None]:
    """Return values with `digits` significant digits, for JSON; None where one is not finite."""
    return [_rounded(float(value), digits) for value in values]


def _rounded(value: float, digits: int) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short
