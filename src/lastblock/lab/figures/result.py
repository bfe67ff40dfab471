"""The figures of results, one panel for each, and the policies to draw in them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lastblock.drawing.styles import looks_together
from lastblock.lab.figures.curves import draw_best_arm, draw_regret
from lastblock.lab.figures.distributions import draw_histogram, draw_tail
from lastblock.lab.figures.panels import in_panels
from lastblock.lab.figures.sweeps import draw_sweep
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastblock.drawing.canvas import Picture
    from lastblock.lab.results import Result

KINDS = {
    "regret": draw_regret,
    "best-arm": draw_best_arm,
    "histogram": draw_histogram,
    "tail": draw_tail,
    "sweep": draw_sweep,
}
"""What draws a panel of a figure, by the words that choose it."""


def result_figure(
    results: "Result | Sequence[Result]",
    path: str | Path | None = None,
    *,
    kind: str = "regret",
    policies: Sequence[str] | None = None,
    width: float | None = None,
    beside: "Sequence[Result]" = (),
) -> "Picture":
    """Draw results, one panel for each.

    Parameters
    ----------
    results
        One result or several.
    path
        A file to write the figure to; its name ends in .png, .svg or .pdf. None writes none.
    kind
        One of `KINDS`; see `Result.plot`.
    policies
        The labels of the policies to draw; by default all. Each looks as in the whole figure.
    width
        The width of the figure in inches, for a paper: 3.25 for a column, say. Letters are then
        smaller than usual, but readable without scaling the figure.
    beside
        Other results of the same report. A policy looks the same in all of them, if each is drawn
        beside the others.

    Returns
    -------
    Picture
        The figure.

    Raises
    ------
    ResultError
        If `results` is empty, or one has no sweep to draw.
    ValueError
        If `kind` or a policy is unknown, `path` has another ending, or `width` is no width of a
        figure.
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(KINDS)}")
    each = list(results) if isinstance(results, Sequence) else [results]
    wanted = _checked(policies, [label for result in each for label in result.labels])
    report = list({id(part): part for part in (*beside, *each)}.values())
    looks = looks_together([part.policy_names for part in report])
    found = {id(part): look for part, look in zip(report, looks, strict=True)}

    def draw(panel: "Axes", result: "Result") -> None:
        shown = {k: look for k, look in found[id(result)].items() if wanted is None or k in wanted}
        if not shown:
            raise ValueError(f"policies: {result.name} has none of them; it has: {result.labels}")
        KINDS[kind](panel, result, shown)

    return in_panels(each, path, draw, (6.6, 4.3), width)


def _checked(policies: Sequence[str] | None, known: Sequence[str]) -> Sequence[str] | None:
    """Return the labels, or raise a ValueError if there are none or one is unknown."""
    if policies is None:
        return None
    if isinstance(policies, str) or not policies:
        raise ValueError(f"policies={policies!r} must be a list of labels; give at least one")
    for label in policies:
        if label not in known:
            raise ValueError(
                f"policies: there is no {label!r}; {advice(str(label), list(dict.fromkeys(known)))}"
            )
    return policies
