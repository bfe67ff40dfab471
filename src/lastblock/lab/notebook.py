"""The HTML that a notebook shows for a result."""

import math
from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING

from lastblock.lab import figures, statistics

if TYPE_CHECKING:
    from lastblock.lab.results import Result

_CELL = "padding:2px 10px;text-align:right;white-space:nowrap"
_FIRST = "padding:2px 10px;text-align:left;white-space:nowrap"
_HEAD = ("policy", "final regret", "± s.e.", "quartiles", "ns/step", "state")


def html(result: "Result") -> str:
    """Return HTML with a table of the final regret and the figure; `Result` calls this."""
    data, size = figures.result_figure(result)._repr_png_()
    picture = (
        f'<img alt="{escape(result.title)}: regret over time" width="{size["width"]}" '
        f'style="max-width:100%" src="data:image/png;base64,{b64encode(data).decode()}" />'
    )
    return f'<div class="lastblock-result">{_table(result)}{picture}</div>'


def _table(result: "Result") -> str:
    size = result.policies.set_index("policy")["state_bytes"]
    pace = result.timing.set_index("policy")["ns_per_step"]
    rows = [_row("th", _HEAD)]
    for line in statistics.summary(result).to_dict("records"):
        policy = str(line["policy"])
        cells = (
            policy,
            f"{line['mean']:,.2f}",
            "–" if math.isnan(line["se"]) else f"{line['se']:.2f}",
            f"{line['q25']:,.1f} – {line['q75']:,.1f}",
            f"{pace[policy]:.1f}",
            _bytes(int(size[policy])),
        )
        rows.append(_row("td", cells))
    return "<table>" + "".join(rows) + "</table>"


def _row(tag: str, cells: tuple[str, ...]) -> str:
    styled = zip(cells, [_FIRST] + [_CELL] * (len(cells) - 1), strict=True)
    inside = "".join(f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell, style in styled)
    return f"<tr>{inside}</tr>"


def _bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} GiB"
