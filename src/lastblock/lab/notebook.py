"""The HTML that a notebook shows for a result."""

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING

from lastblock.lab import figures, statistics

if TYPE_CHECKING:
    from lastblock.lab.results import Result


def html(result: "Result") -> str:
    """Return HTML with a table of the final regret and the figure; `Result` calls this."""
    data, size = figures.result_figure(result)._repr_png_()
    picture = (
        f'<img alt="{escape(result.title)}: regret over time" width="{size["width"]}" '
        f'style="max-width:100%" src="data:image/png;base64,{b64encode(data).decode()}" />'
    )
    frame = statistics.summary(result).drop(columns=["low", "high"])
    for more in (result.timing, result.policies):
        frame = frame.merge(more.astype({"policy": str}), on="policy")
    shown = frame[["policy", "mean", "se", "q25", "q75", "ns_per_step", "state_bytes"]]
    table = shown.to_html(index=False, border=0, float_format="{:,.2f}".format, na_rep="–")
    return f'<div class="lastblock-result">{table}{picture}</div>'
