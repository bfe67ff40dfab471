"""Figures with one panel for each thing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from lastblock.drawing.styles import Look
from lastblock.drawing.widths import check_width
from lastblock.support.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lastblock.drawing.canvas import Picture

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
