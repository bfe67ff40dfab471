"""Figures in the paper's layout: mean regret as a line, quartiles as a band."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastblock.lab.scenario import Scenario
from lastblock.simulation import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito's palette: distinct for colour-blind eyes and in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def regret_figure(results: Sequence[tuple[Scenario, Mapping[str, Run]]], path: str | Path) -> Path:
    """Draw one panel a scenario and write the figure; the suffix of the path says how."""
    import matplotlib.pyplot as plt  # an optional dependency, and slow to import  # noqa: PLC0415

    path = Path(path)
    columns = min(2, len(results))
    rows = -(-len(results) // columns)
    size = (5.2 * columns, 3.9 * rows)
    figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="tight")
    for panel in panels.flat[len(results) :]:
        panel.set_visible(False)
    for panel, (scenario, runs) in zip(panels.flat, results, strict=False):
        _draw_panel(panel, scenario, runs)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    plt.close(figure)
    return path


def _draw_panel(panel: "Axes", scenario: Scenario, runs: Mapping[str, Run]) -> None:
    for i, (name, run) in enumerate(runs.items()):
        style: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)]}
        panel.fill_between(
            run.times, run.quantile(0.25), run.quantile(0.75), alpha=0.15, linewidth=0, **style
        )
        panel.plot(
            run.times,
            run.mean(),
            label=name,
            marker=MARKERS[i % len(MARKERS)],
            markevery=0.15,
            markersize=5,
            linewidth=1.8,
            **style,
        )
    for change in scenario.environment.changes:
        panel.axvline(change, color="0.6", linestyle=":", linewidth=1)
    panel.set_title(scenario.title)
    panel.set_xlabel("time step")
    panel.set_ylabel("regret")
    panel.set_xlim(0, scenario.horizon)
    panel.set_ylim(0, None)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, loc="upper left")
