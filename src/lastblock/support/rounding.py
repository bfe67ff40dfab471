"""Numbers to as many digits as their errors give a meaning to."""

import math

_DIGITS = 2  # of an error


def rounded(value: float, error: float) -> tuple[str, str]:
    """A number and its standard error, both to the second significant digit of the error.

    Parameters
    ----------
    value, error
        The number may be negative. An error that is 0 or NaN says nothing of the digits.

    Returns
    -------
    tuple of str
        The number, and the error: "" where it is NaN.

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
    """How many decimals an error of two digits has; negative for whole tens, None if unknown."""
    if not (math.isfinite(error) and error > 0.0):
        return None
    # Rounding may give it one digit more: 0.0996 is 0.10.
    place = math.floor(math.log10(float(f"{error:.{_DIGITS - 1}e}")))
    return min(12, _DIGITS - 1 - place)


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals; with a negative number of them in whole tens."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "-∞"
    shown = f"{round(value, decimals):.{max(0, decimals)}f}"
    return shown.removeprefix("-") if float(shown) == 0.0 else shown
