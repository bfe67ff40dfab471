"""The figure of runs: mean regret over time, and its quartiles."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lastblock.drawing import canvas
from lastblock.drawing.lines import (
    Curve,
    ceiling,
    draw_with_bands,
    short_number,
    time_axis,
    write_names,
)
from lastblock.drawing.names import short_names
from lastblock.drawing.styles import looks
from lastblock.drawing.widths import check_width

if TYPE_CHECKING:
    from lastblock.simulation.run import Run

WIDTH, HEIGHT = 6.6, 4.3
"""The usual size of the figure, in inches."""


def draw_runs(
    runs: "Sequence[Run]", path: str | Path | None, width: float | None
) -> canvas.Picture:
    """Draw runs as one figure, and write it to a file if `path` is not None."""
    first = runs[0]
    for run in runs[1:]:
        if (run.horizon, run.environment.changes) != (first.horizon, first.environment.changes):
            raise ValueError(
                f"others: the run of {run.policy} has the horizon {run.horizon} and the changes "
                f"{list(run.environment.changes)}, this one {first.horizon} and "
                f"{list(first.environment.changes)}; give runs in the same environment"
            )
    if path is not None:
        canvas.kind_of(path)  # a wrong suffix fails before the work
    picture, (panel,) = canvas.panels(1, WIDTH, HEIGHT, check_width(width))
    n = min(run.replications for run in runs)
    about = f"mean of {n:,} replications; band: quartiles" if n > 1 else "one replication"
    canvas.dress(panel, str(first.environment), about, "time step", "regret")
    labels = short_names([run.policy for run in runs])
    names = {k: type(run.policy).__name__ for k, run in zip(labels, runs, strict=True)}
    curves = [
        Curve(label, look, run.times, run.mean(), run.quantile(0.25), run.quantile(0.75))
        for (label, look), run in zip(looks(names).items(), runs, strict=True)
    ]
    draw_with_bands(panel, curves)
    tops = [float(max(curve.y.max(), curve.high.max())) for curve in curves]
    panel.set_ylim(0.0, ceiling(tops) or 1.0)
    time_axis(panel, first.horizon, first.environment.changes)
    write_names(panel, curves, lambda curve: f"  {short_number(curve.y[-1])}")
    if path is not None:
        picture.save(path)
    return picture
