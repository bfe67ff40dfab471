"""Colours, markers and dashes of curves, the same in every figure and in the report."""

from collections.abc import Sequence
from typing import NamedTuple

# The palette of Okabe & Ito, which colour-blind readers can tell apart. In grey print the markers
# and dashes distinguish the curves.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 1.5), (2.0, 1.2), (6.0, 1.5, 1.5, 1.5))
"""Lengths of dashes and gaps in turn, in line widths; empty for a solid line."""

PALE = COLOURS[6]
"""A colour too light for white paper; lines in it get a dark edge."""


class Look(NamedTuple):
    """The colour, marker and dash of a curve; `looks` makes them."""

    colour: str
    marker: str
    dash: tuple[float, ...]


def looks(labels: Sequence[str]) -> dict[str, Look]:
    """Return a look for each label; up to 32 of them are all different."""
    found = {}
    for i, label in enumerate(labels):
        lap, place = divmod(i, len(COLOURS))
        found[label] = Look(COLOURS[place], MARKERS[place], DASHES[(place + lap) % len(DASHES)])
    return found
