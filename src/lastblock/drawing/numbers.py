"""Numbers as readers want them, in reports and on pages."""

import math

_THIN = "\u202f"  # a narrow space that does not break


def show(value: float | None, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, or more if its whole part has more.

    An infinite number is a delay, and shown as “never”.
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "never"
    size = abs(value)
    if size == 0.0:
        return "0"
    if 0.01 <= size < 1e15:
        decimals = max(0, digits - 1 - max(0, math.floor(math.log10(size))))
        shown = f"{size:,.{decimals}f}".replace(",", _THIN)
    else:
        shown = f"{size:.{digits - 1}g}"
    return f"−{shown}" if value < 0 else shown


def count(value: int) -> str:
    """Return a whole number as text, in groups of three digits."""
    return f"{value:,}".replace(",", _THIN)


def percent(value: float | None) -> str:
    """Return a share as whole percent."""
    if value is None or math.isnan(value):
        return "–"
    return f"{100.0 * value:.0f}{_THIN}%".replace("-0\u202f", "0\u202f").replace("-", "−")
