"""Figures of results, drawn with matplotlib, which is imported when a figure is drawn."""

from lastblock.lab.figures.curves import best_arm_figure, means_figure, regret_figure
from lastblock.lab.figures.takeover import takeover_figure

__all__ = ["best_arm_figure", "means_figure", "regret_figure", "takeover_figure"]
