"""Diminishing exploration: forced pulls that become rarer the longer nothing has changed.

Pull number n since the last alarm is forced with a frequency of about α / √n. All K arms are pulled
in turn in sessions, which begin at the pulls u₁ = ⌈(K / 4α)²⌉ and then (√u + K / 2α)², rounded up
(Li, Hsieh & Huang, 2024), but not before the session before is over.
"""

import math

from lastblock.kit import Range, kernel


@kernel
def first_session(arms: int, alpha: float) -> int:
    """Return the number of pulls between an alarm and the first session."""
    root = arms / (4.0 * alpha)
    return math.ceil(root * root)


@kernel
def session_at(begin: int, age: int, arms: int, alpha: float) -> int:
    """Return where the session begins that is going on or comes next, from that of an earlier one.

    `age` is the number of pulls since the last alarm.
    """
    while begin + arms <= age:
        root = math.sqrt(begin) + arms / (2.0 * alpha)
        begin = max(begin + arms, math.ceil(root * root))
    return begin


ALPHA = Range(1e-6, 1000.0, unit="with diminishing=True")
"""What α may be."""
