"""The figure of evaluations: mean reward over the events of the log."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lastblock.drawing import canvas
from lastblock.drawing.lines import Curve, draw_bound, draw_with_bands, time_axis, write_names
from lastblock.drawing.styles import Look, looks
from lastblock.drawing.widths import check_width
from lastblock.replay.evaluation import Evaluation

WIDTH, HEIGHT = 6.6, 4.3
"""The usual size of the figure, in inches."""

_FEW = 0.05  # of a curve's matches; before, means jump too far to draw


def draw_evaluations(
    evaluations: Mapping[str, Evaluation], path: str | Path | None, width: float | None
) -> canvas.Picture:
    """Draw evaluations on one log as one figure, and write it to a file if `path` is not None."""
    if path is not None:
        canvas.kind_of(path)  # a wrong suffix fails before the work
    picture, (panel,) = canvas.panels(1, WIDTH, HEIGHT, check_width(width))
    first = next(iter(evaluations.values()))
    n = first.replications
    about = f"events matched so far, {n:,} passes; band: middle half" if n > 1 else "one pass"
    title = f"Replay of {first.events:,} events"
    canvas.dress(panel, title, about, "events of the log", "mean reward")
    names = {label: type(made.policy).__name__ for label, made in evaluations.items()}
    curves = [_curve(label, look, evaluations[label]) for label, look in looks(names).items()]
    draw_with_bands(panel, curves)
    ends = np.array([first.times[0], first.times[-1]])
    curves.append(draw_bound(panel, "best arm", ends, np.full(2, first.best_mean)))
    late = [c.y[c.t > 0.2 * first.events] for c in curves] + [np.array([first.best_mean])]
    values = np.concatenate([each[np.isfinite(each)] for each in late])
    low, high = float(values.min()), float(values.max())
    room = 0.15 * (high - low) or 0.1 * abs(high) or 1.0
    panel.set_ylim(low - room, high + room)
    time_axis(panel, first.events, [])
    write_names(panel, curves, lambda curve: f"  {curve.y[-1]:.4g}")
    if path is not None:
        picture.save(path)
    return picture


def _curve(label: str, look: Look, evaluation: Evaluation) -> Curve:
    """Return the mean of all passes with the quartiles of single passes, where enough match."""
    enough = evaluation.matched.min(axis=0) >= max(1.0, _FEW * evaluation.matched[:, -1].min())
    passes = evaluation.reward[:, enough] / evaluation.matched[:, enough]
    low, high = np.quantile(passes, [0.25, 0.75], axis=0)
    return Curve(label, look, evaluation.times[enough], evaluation.curve()[enough], low, high)
