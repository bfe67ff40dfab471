"""The figure of sweeps: final regret against a parameter, beside the other policies."""

from typing import TYPE_CHECKING

import numpy as np

from lastblock.drawing.lines import Curve, ceiling, short_number, stroke, write_names
from lastblock.lab.figures.panels import Looks
from lastblock.support.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastblock.lab.results import Result

_WIDE = 8.0  # a ratio of the largest value to the smallest that needs a logarithmic axis


def draw_sweep(panel: "Axes", result: "Result", looks: Looks) -> None:
    """Draw the final regret at each value of a sweep; other policies are horizontal lines."""
    if not result.sweeps:
        raise ResultError(
            f"{result.name} has no sweep; run it with --sweep, or write "
            "{ sweep = [ … ] } for a parameter in its file"
        )
    from lastblock.drawing import canvas  # noqa: PLC0415  # slow to import

    table = result.sweep_table()
    names = dict.fromkeys(table["parameter"])
    n = result.replications
    about = f"mean of {n:,} replications; band: 95 % interval" if n > 1 else "one replication"
    canvas.dress(panel, result.title, about, ", ".join(names), "regret at the horizon")
    values = table["value"].to_numpy(dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    wide = low > 0.0 and high > _WIDE * low
    if wide:
        panel.set_xscale("log")
    curves = []
    for sweep in result.sweeps:
        shown = [label for label in sweep.labels if label in looks]
        if not shown:
            continue
        rows = table[(table["sweep"] == sweep.label) & table["policy"].isin(shown)]
        x, y, bottom, top = (
            rows[c].to_numpy(dtype=np.float64) for c in ("value", "mean", "low", "high")
        )
        curve = Curve(sweep.label, looks[shown[0]], x, y, bottom, top)
        panel.fill_between(x, bottom, top, alpha=0.16, linewidth=0, color=curve.look.colour)
        stroke(panel, curve.look, x, y)
        curves.append(curve)
    fixed = set(looks) - {label for sweep in result.sweeps for label in sweep.labels}
    for label, look in looks.items():
        if label in fixed:
            mean = float(result.final_regret(label).mean())
            ends = np.array([low, high])
            flat = np.array([mean, mean])
            dashed = look._replace(dash=look.dash or (1.0, 1.0))
            stroke(panel, dashed, ends, flat)
            curves.append(Curve(label, dashed, ends, flat, flat, flat))
    tops = [float(np.nanmax([c.y.max(), *c.high[np.isfinite(c.high)]])) for c in curves]
    panel.set_ylim(0.0, ceiling(tops) or 1.0)
    panel.set_xlim(low, high)
    write_names(panel, curves, lambda curve: f"  {short_number(float(curve.y.min()))}")
