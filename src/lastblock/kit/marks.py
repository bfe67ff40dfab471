"""Sums of about the last n rewards of each arm, for any n, in O(log T) numbers.

=====================  ============================================================================
`marks_dtype` *        the type of the field, for so many marks a level and a horizon
`clear_marks`          forget everything
`clear_arm`            forget the rewards of one arm
`take_in`              add the newest reward, also to an array of the sums of all rewards
`begin_block`          the mark from which the last n rewards are counted
`block_sum`            the sum of the rewards since that mark
`is_at_least`          whether one mean is at least another one, without rounding
`is_full`              whether an arm has as many rewards as fit: for `full`
`half_of`              half the marks of a level: for `begin_block`
`levels_of`            how many levels there are: likewise
`Block`                which mark to take: the nearest one, the one before or the one after
`BlockWord`            the same as a word
=====================  ============================================================================

A policy with marks keeps them in a field, and hands the field over::

    ("marks", marks.marks_dtype(arms, 8, horizon))                         in `layout`
    marks.clear_marks(s.marks)                                             in `start`
    marks.take_in(s.marks, s.sums, arm, reward, marks.Block.NEAR)          in `observe`
"""

from lastblock.core.marks import (
    Block,
    BlockWord,
    begin_block,
    block_sum,
    clear_arm,
    clear_marks,
    half_of,
    is_at_least,
    is_full,
    levels_of,
    marks_dtype,
    take_in,
)

__all__ = [
    "Block",
    "BlockWord",
    "begin_block",
    "block_sum",
    "clear_arm",
    "clear_marks",
    "half_of",
    "is_at_least",
    "is_full",
    "levels_of",
    "marks_dtype",
    "take_in",
]
