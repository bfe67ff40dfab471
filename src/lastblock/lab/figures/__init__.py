"""Figures of results, drawn with matplotlib, which is imported when a figure is drawn."""

from lastblock.lab.figures.curves import best_arm_figure, means_figure, regret_figure
from lastblock.lab.figures.distributions import histogram_figure, tail_figure
from lastblock.lab.figures.sweeps import sweep_figure
from lastblock.lab.figures.takeover import takeover_figure

KINDS = {
    "regret": regret_figure,
    "best-arm": best_arm_figure,
    "histogram": histogram_figure,
    "tail": tail_figure,
    "sweep": sweep_figure,
}
"""The figures of a result, by the words that choose them."""

__all__ = [
    "KINDS",
    "best_arm_figure",
    "histogram_figure",
    "means_figure",
    "regret_figure",
    "sweep_figure",
    "tail_figure",
    "takeover_figure",
]
