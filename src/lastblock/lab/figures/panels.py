"""Figures with one panel for each result, and the policies to draw in them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from lastblock.drawing.styles import Look, looks_together
from lastblock.drawing.widths import check_width
from lastblock.support.errors import ResultError
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastblock.drawing.canvas import Picture
    from lastblock.lab.results import Result

T = TypeVar("T")
Looks: TypeAlias = dict[str, Look]
"""The look of each policy to draw, by its label."""


def in_panels(
    given: T | Sequence[T],
    path: str | Path | None,
    draw: "Callable[[Axes, T], None]",
    size: tuple[float, float],
    total: float | None,
) -> "Picture":
    """Draw one panel of this size for each of the results or scenarios in `given`."""
    from lastblock.drawing import canvas  # matplotlib is optional, and slow to import  # noqa: PLC0415

    things: list[T] = list(given) if isinstance(given, Sequence) else [given]
    if not things:
        raise ResultError("there is nothing to draw; give at least one result or scenario")
    if path is not None:
        canvas.kind_of(path)  # a wrong suffix fails before the work
    picture, panels = canvas.panels(len(things), *size, check_width(total))
    for panel, thing in zip(panels, things, strict=True):
        draw(panel, thing)
    if path is not None:
        picture.save(path)
    return picture


def each_policy(
    draw: "Callable[[Axes, Result, Looks], None]",
    results: "Result | Sequence[Result]",
    policies: Sequence[str] | None,
    beside: "Sequence[Result]",
) -> "Callable[[Axes, Result], None]":
    """Return a function that draws these policies of a result; by default all.

    A policy looks the same in all panels, and as in figures of the results `beside`.
    """
    each = list(results) if isinstance(results, Sequence) else [results]
    wanted = _checked(policies, [label for result in each for label in result.labels])
    report = list({id(part): part for part in (*beside, *each)}.values())
    looks = looks_together([part.policy_names for part in report])
    found = {id(part): look for part, look in zip(report, looks, strict=True)}

    def drawn(panel: "Axes", result: "Result") -> None:
        all_looks = found[id(result)]
        some = {k: look for k, look in all_looks.items() if wanted is None or k in wanted}
        if not some:
            raise ValueError(f"policies: {result.name} has none of them; it has: {result.labels}")
        draw(panel, result, some)

    return drawn


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
