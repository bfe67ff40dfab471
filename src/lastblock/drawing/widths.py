"""The width of a figure, in inches."""

from lastblock.support.checks import number

NARROWEST, WIDEST = 2.0, 40.0


def check_width(width: float | None) -> float | None:
    """Return the width of a figure in inches; raise a `ValueError` if no figure can have it."""
    if width is None:
        return None
    inches = number(width, "width")
    if not NARROWEST <= inches <= WIDEST:
        raise ValueError(
            f"width={inches:g} must lie between {NARROWEST:g} and {WIDEST:g} inches; a column of a "
            "paper has about 3.25"
        )
    return inches
