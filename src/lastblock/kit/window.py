"""A sliding window over the last rewards of all arms together, with counts and sums per arm.

=====================  ============================================================================
`window_dtype`         the type of the field: room for so many rewards
`clear`                forget everything
`slide`                take in a reward; the one of `window` rewards ago falls out
`window_sum`           the sum of the arm's rewards within the window; ``w.pulls[arm]`` counts them
`held`                 plain Python: what the method ``held`` of a policy returns
`check_window`         raise a `ValueError` if a policy cannot have such a window
`check_window_fits`    raise a `ValueError` if it is too small for the number of arms
`LONGEST_WINDOW`       the longest window there can be
=====================  ============================================================================
"""

from lastblock.core.window import (
    LONGEST_WINDOW,
    check_window,
    check_window_fits,
    clear,
    held,
    slide,
    window_dtype,
    window_sum,
)

__all__ = [
    "LONGEST_WINDOW",
    "check_window",
    "check_window_fits",
    "clear",
    "held",
    "slide",
    "window_dtype",
    "window_sum",
]
