"""How the curves of policies look: the same in every figure and on the page."""

from collections.abc import Sequence
from typing import NamedTuple

# Okabe & Ito's palette: distinct for colour-blind eyes. In grey print markers and dashes tell.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 1.5), (2.0, 1.2), (6.0, 1.5, 1.5, 1.5))
"""On and off, in line widths."""

PALE = COLOURS[6]
"""Too light for white paper: its lines have a dark edge."""


class Look(NamedTuple):
    """Of a curve."""

    colour: str
    marker: str
    dash: tuple[float, ...]


def looks(labels: Sequence[str]) -> dict[str, Look]:
    """A look for each policy; they are all different for up to 32."""
    found = {}
    for i, label in enumerate(labels):
        lap, place = divmod(i, len(COLOURS))
        found[label] = Look(COLOURS[place], MARKERS[place], DASHES[(place + lap) % len(DASHES)])
    return found
