"""Round numbers to the digits that their standard errors support."""

import math

_DIGITS = 2  # the significant digits of an error


def rounded(value: float, error: float) -> tuple[str, str]:
    """Return a number and its standard error, rounded to two significant digits of the error.

    Parameters
    ----------
    value
        The number.
    error
        Its standard error. If it is 0 or NaN, the number is shown with four digits.

    Returns
    -------
    tuple of str
        The number and the error; the error is "" if it is NaN.

    Examples
    --------
    >>> rounded(12.3456, 0.0678), rounded(45678.9, 1234.0), rounded(3.14159, float("nan"))
    (('12.346', '0.068'), ('45700', '1200'), ('3.142', ''))
    """
    decimals = decimals_of(error)
    if decimals is None:
        shown = f"{value:.4g}" if math.isfinite(value) and abs(value) < 1e4 else f"{value:.0f}"
        return shown, "" if math.isnan(error) else "0"
    return fixed(value, decimals), fixed(error, decimals)


def decimals_of(error: float) -> int | None:
    """Return the decimals of an error with two digits: −1 for whole tens, None if unknown."""
    if not (math.isfinite(error) and error > 0.0):
        return None
    # Round first, since this may move the leading digit: 0.0996 becomes 0.10.
    place = math.floor(math.log10(float(f"{error:.{_DIGITS - 1}e}")))
    return min(12, _DIGITS - 1 - place)


def fixed(value: float, decimals: int) -> str:
    """Return a number with this many decimals; with −1 decimals, in whole tens."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "-∞"
    shown = f"{round(value, decimals):.{max(0, decimals)}f}"
    return shown.removeprefix("-") if float(shown) == 0.0 else shown
