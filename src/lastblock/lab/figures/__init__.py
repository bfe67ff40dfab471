"""Figures of results, drawn with matplotlib, which is imported when a figure is drawn."""

from lastblock.lab.figures.curves import means_figure
from lastblock.lab.figures.result import KINDS, result_figure
from lastblock.lab.figures.takeover import takeover_figure

__all__ = ["KINDS", "means_figure", "result_figure", "takeover_figure"]
