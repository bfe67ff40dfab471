"""Colours, markers and dashes of curves, the same in every figure and in the report."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

# The palette of Okabe & Ito, which colour-blind readers can tell apart. In grey print the markers
# and dashes distinguish the curves.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
SHAPES = {
    "o": "circle",
    "s": "square",
    "^": "up",
    "v": "down",
    "D": "diamond",
    "P": "plus",
    "X": "cross",
    "*": "star",
}
"""The names of the markers' shapes, on pages."""

DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 1.5), (2.0, 1.2), (6.0, 1.5, 1.5, 1.5))
"""Lengths of dashes and gaps in turn, in line widths; empty for a solid line."""

PALE = COLOURS[6]
"""A colour too light for white paper; lines in it get a dark edge."""


class Look(NamedTuple):
    """The colour, marker and dash of a curve; `looks` makes them."""

    colour: str
    marker: str
    dash: tuple[float, ...]


_Entry: TypeAlias = tuple[str, str]
"""What has one look: a policy, with its label if some figure has the policy twice."""

_KNOWN = {
    "LBSDA": 0,
    "SWLBSDA": 8,
    "LBSDALM": 5,
    "LBSDAGM": 21,
    "AdaptiveLBSDA": 6,
    "Thompson": 9,
    "SlidingWindowThompson": 1,
    "DiscountedThompson": 4,
    "UCB1": 3,
    "KLUCB": 10,
    "SWUCB": 18,
    "SWKLUCB": 2,
    "DUCB": 15,
    "DKLUCB": 7,
    "CUSUMUCB": 11,
    "MUCB": 13,
    "GLRKLUCB": 26,
    "EXP3S": 14,
    "OracleRestart": 23,
}
"""The places of policies that are often drawn together, so that their colours differ there."""


def looks(curves: Sequence[str] | Mapping[str, str]) -> dict[str, Look]:
    """Return a look for each label; up to 32 of them are all different.

    Parameters
    ----------
    curves
        The labels alone, for looks in this order. Or a mapping from labels to names of policies:
        a policy then looks the same in every figure. Only where a figure has another policy of
        that colour does one that is not in our list, or is there twice, take a free colour.

    Returns
    -------
    dict
        The look of each label, in the given order.
    """
    if not isinstance(curves, Mapping):
        return {label: _look(i) for i, label in enumerate(curves)}
    return looks_together([curves])[0]


def looks_together(figures: Sequence[Mapping[str, str]]) -> list[dict[str, Look]]:
    """Return the looks of policies in several figures of one report.

    A label of a policy looks the same in all of them, whichever policies are beside it. Where a
    policy has other labels in other figures, it looks the same there, too, unless some figure has
    it twice, with two sets of parameters say.

    Parameters
    ----------
    figures
        For each figure a mapping from labels to names of policies.

    Returns
    -------
    list of dict
        For each figure the look of each label, in the given order.
    """
    places: dict[_Entry, int] = {}
    twice = {name for figure in figures for name, n in Counter(figure.values()).items() if n > 1}

    def curves(figure: Mapping[str, str]) -> list[_Entry]:
        return [(label if name in twice else "", name) for label, name in figure.items()]

    entries = list(dict.fromkeys(entry for figure in figures for entry in curves(figure)))
    beside: dict[_Entry, set[_Entry]] = {entry: set() for entry in entries}
    for figure in figures:
        together = curves(figure)
        for entry in together:
            beside[entry].update(other for other in together if other != entry)

    def taken(others: Iterable[_Entry]) -> set[int]:
        return {places[other] for other in others if other in places}

    for entry in entries:
        home = _KNOWN.get(entry[1])
        if home is not None and home not in taken(beside[entry]):
            places[entry] = home
    for entry in entries:
        if entry not in places:
            elsewhere = taken(other for other in entries if other[1] != entry[1])
            places[entry] = _free_place(_home(entry[1]), taken(beside[entry]), elsewhere)
    return [
        {label: _look(places[entry]) for label, entry in zip(figure, curves(figure), strict=True)}
        for figure in figures
    ]


def _look(place: int) -> Look:
    lap, colour = divmod(place, len(COLOURS))
    return Look(COLOURS[colour], MARKERS[colour], DASHES[(colour + lap) % len(DASHES)])


def _home(name: str) -> int:
    """Return the place of a policy: ours if we have one, else one by its name alone."""
    size = len(COLOURS) * len(DASHES)
    return _KNOWN.get(name, zlib.crc32(name.encode()) % size)


def _free_place(home: int, taken: set[int], elsewhere: set[int]) -> int:
    """Return `home`, or the next place after it with a colour, or at least a look, that is free.

    `taken` are the places in the same figure, `elsewhere` those of other policies in the report. We
    avoid the latter, too, where there is a choice.
    """
    colours, size = len(COLOURS), len(COLOURS) * len(DASHES)
    used = {place % colours for place in taken}
    near = [(home + step) % size for step in range(size)]
    free = [place for place in near if place % colours not in used]
    fresh = [place for place in free if place not in elsewhere]
    return (fresh or free or [place for place in near if place not in taken] or near)[0]
