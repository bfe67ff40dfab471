"""A sliding window over the last rewards of all arms together, with counts and sums per arm.

=====================  ============================================================================
`window_dtype`         the type of the field: room for so many rewards
`clear`                forget everything
`slide`                take in a reward; the one of `window` rewards ago falls out
`window_sum`           the sum of the arm's rewards within the window; ``w.pulls[arm]`` counts them
`held`                 plain Python: what the method ``held`` of a policy returns
`Window`               the type of a parameter that is the length of a window
`FITS_ARMS`            a rule for such a type: the window has room for a reward of every arm
`LONGEST_WINDOW`       the longest window there can be
=====================  ============================================================================
"""

from lastblock.core.window import (
    FITS_ARMS,
    LONGEST_WINDOW,
    Window,
    clear,
    held,
    slide,
    window_dtype,
    window_sum,
)

__all__ = [
    "FITS_ARMS",
    "LONGEST_WINDOW",
    "Window",
    "clear",
    "held",
    "slide",
    "window_dtype",
    "window_sum",
]
