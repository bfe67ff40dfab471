"""The last rewards of each arm: the sum of any of its newest blocks in O(1), without drift.

=====================  ============================================================================
`history_dtype`        the type of the field: room for so many rewards of each arm
`clear`                forget everything
`append`               add the newest reward; a full history loses its oldest
`block_sum`            the sum of the last n rewards, 0 ≤ n ≤ ``h.kept[arm]``
`block_mean`           their mean, for n ≥ 1
`forget_oldest`        keep one reward less
`forget_if`            the same if it is due, without a branch
`held`                 plain Python: what the method ``held`` of a policy returns
`is_full`              whether the next reward would push an older one out
`span_sum`             the sum of n rewards from any place, while none has been pushed out
`any_span_at_most`     whether some block of n rewards has a sum of at most a bound
`LARGEST_RINGS`        the most bytes that the rewards of all arms may take
=====================  ============================================================================

A policy with a history keeps it in a field, and hands the field over::

    ("history", history.history_dtype(arms, rewards=100))     in `layout`
    history.clear(s.history)                                  in `start`
    history.append(s.history, arm, reward)                    in `observe`
"""

from lastblock.core.history import (
    LARGEST_RINGS,
    any_span_at_most,
    append,
    block_mean,
    block_sum,
    clear,
    forget_if,
    forget_oldest,
    held,
    history_dtype,
    is_full,
    span_sum,
)

__all__ = [
    "LARGEST_RINGS",
    "any_span_at_most",
    "append",
    "block_mean",
    "block_sum",
    "clear",
    "forget_if",
    "forget_oldest",
    "held",
    "history_dtype",
    "is_full",
    "span_sum",
]
