"""Marks: the sum of an arm's last n rewards, or nearly n of them, in O(log T) numbers.

No reward is kept. A *mark* is the sum of all rewards up to some place, and younger marks lie
closer together (an exponential histogram: Datar, Gionis, Indyk & Motwani, 2002). On level j the
places are multiples of 2ʲ, and with S marks a level the last S of them are within reach: S lie on
level 0, and S/2 on every other level, since the younger half of its marks lies on the levels below.

Each reward is marked on level 0, and then one mark moves up: to level 1 every second time, to level
2 every fourth time, and so on. A mark waits for its move to level j for X · 2ʲ⁻¹ rewards, where X
is odd, so that the turns of two levels never meet. What does not move up is overwritten in time. A
block of n rewards begins at the mark nearest to where it should, on the lowest level that holds it
for certain.

Sums must not lose digits:

- they count from a *base*, which moves to the newest reward every 2¹² rewards. Young marks are then
  small numbers, and old ones as large as the block that they begin;
- the sum of all rewards up to the base is compensated.

Sums of whole numbers below 2⁵³ are exact. Blocks of n and n' rewards are compared by n' · sum and
n · sum', exactly where the products are close, so that ties are ties.
"""

from enum import IntEnum
from typing import Any, Literal

import numpy as np

from lastblock.core.layout import COUNT, record, within
from lastblock.core.protocol import Record
from lastblock.kernels.bits import trailing_zeros
from lastblock.kernels.exact_sums import two_product, two_sum
from lastblock.kernels.jit import kernel, routine

LONGEST_BLOCK = 2 * 10**8
"""How many rewards the marks reach back. A challenger that has more, of 10⁹ rewards in all, is
about as good as the leader."""

FEWEST_LEVELS = 4

RARE = 13
"""The first level to which marks move so rarely that `move_far` does it, outside the kernel."""

STRETCH = 1 << (RARE - 1)
"""The number of rewards after which the base moves: when a mark moves to a rare level."""

CLOSE = 2.0**-50
"""Products that differ by less than this, relatively, may differ by rounding alone."""


class Block(IntEnum):
    """The mark at which a block begins; users write a word, such as ``block="near"``."""

    NEAR = 0
    LONG = 1
    SHORT = 2

    def __repr__(self) -> str:
        return repr(self.name.lower())


BlockWord = Literal["near", "long", "short"]


def levels(marks: int, horizon: int | None = None) -> int:
    """Return the number of levels that blocks of up to `LONGEST_BLOCK` rewards need.

    Up to a `horizon` of rewards an arm, fewer levels give the same blocks. Their number is a
    multiple of four.
    """
    most = 1 + (-(-LONGEST_BLOCK // (marks - 2)) - 1).bit_length()
    if horizon is None:
        return most
    needed = FEWEST_LEVELS
    while needed < most and room_of(marks // 2, needed) < horizon:
        needed += FEWEST_LEVELS
    return min(needed, most)


def marks_dtype(arms: int, marks: int, horizon: int | None = None) -> np.dtype[Any]:
    """Return the type of a field with `marks` marks, an even number, on each level.

    Level 0 has the first two rows, level j row j + 1. With a `horizon` it may have room for no
    more than so many rewards an arm; see `is_full`.
    """
    rows = (arms, levels(marks, horizon) + 1, marks // 2)
    return record(
        [
            ("written", COUNT, (arms,)),  # rewards
            ("level", within(np.uint8, 0, rows[1] - 2), (arms,)),  # for a block of so many
            ("base", np.float64, (arms,)),  # the sum up to the base …
            ("error", np.float64, (arms,)),  # … what rounding took from it …
            ("total", np.float64, (arms,)),  # … and the sum since then
            ("sum", np.float64, rows),  # of the rewards up to a mark
        ]
    )


@kernel
def clear_marks(m: Record) -> None:
    """Forget everything."""
    for k in range(m.written.shape[0]):
        clear_arm(m, k)


@kernel
def clear_arm(m: Record, arm: int) -> None:
    """Forget all rewards of `arm`."""
    m.written[arm] = 0
    m.level[arm] = 0
    m.base[arm] = 0.0
    m.error[arm] = 0.0
    m.total[arm] = 0.0
    for i in range(m.sum.shape[1]):
        for slot in range(m.sum.shape[2]):
            m.sum[arm, i, slot] = 0.0


@kernel
def half_of(m: Record) -> int:
    """Return the length of a row, half the marks of a level."""
    return int(m.sum.shape[2])


@kernel
def levels_of(m: Record) -> int:
    """Return the number of levels."""
    return int(m.sum.shape[1]) - 1


@kernel
def turn(n: int, size: int) -> int:
    """Return n modulo a size; quicker for a power of two."""
    return n & (size - 1) if size & (size - 1) == 0 else n % size


@kernel
def row_of(level: int, i: int, half: int) -> int:
    """Return the row of mark number `i` of a level."""
    return level + 1 if level > 0 else int(turn(i, 2 * half) >= half)


@kernel
def wait(half: int) -> int:
    """Return how many rewards a mark waits to move to level 1; for level j, 2ʲ⁻¹ times as many.

    The number is odd, so that no two levels move a mark at the same reward. With a smaller one the
    blocks on a level would have to be shorter. With a larger one, which four marks need, a mark
    might be needed before it is moved.
    """
    return max(3, 2 * half - 3)


@kernel
def delay(level: int, half: int) -> int:
    """Return how many rewards come between a mark and its move to a level above the lowest."""
    return (wait(half) << level) >> 1


@kernel
def reach(level: int, half: int, block: Block | BlockWord) -> int:
    """Return the length of the longest block that begins on a level, whichever mark it takes."""
    if level == 0:
        return 2 * half
    return ((2 * half + wait(half) - (2 if block == Block.LONG else 1)) << level) >> 1


@kernel
def room_of(half: int, levels: int) -> int:
    """Return for how many rewards of an arm these levels give the same blocks as more of them."""
    return reach(levels - 1, half, Block.LONG)


@kernel
def is_full(m: Record, arm: int) -> bool:
    """Return whether `arm` has as many rewards as fit into a record made for a horizon."""
    half = half_of(m)
    levels = levels_of(m)
    longest = (2 * half - 2) << (levels - 1)
    if longest >= LONGEST_BLOCK:  # there are all levels
        return False
    return bool(m.written[arm] >= room_of(half, levels))


@kernel
def take_in(m: Record, sums: Any, arm: int, reward: float, block: Block | BlockWord) -> None:
    """Take in a reward of `arm`: mark it, and add it to the arm's entry in `sums`."""
    n: Any = np.int64(m.written[arm])
    half = half_of(m)
    # Every second time a mark moves to level 1, every fourth time one to level 2, and so on: one
    # each time. The marks between those that move stay behind until they are overwritten.
    level = trailing_zeros(n) + 1
    if level < RARE:
        if level < levels_of(m):
            move_up(m, arm, level, (n - delay(level, half)) >> level)
    elif n > 0:
        move_far(m, arm, level, n)
    row = row_of(0, n, half)
    m.sum[arm, row, turn(n, half)] = m.total[arm]
    m.total[arm] += reward
    sums[arm] = m.base[arm] + (m.error[arm] + m.total[arm])
    m.written[arm] = n + 1
    level = int(m.level[arm])
    if n >= reach(level, half, block) and level < levels_of(m) - 1:
        m.level[arm] += 1


@routine
def move_far(m: Record, arm: int, level: int, n: int) -> None:
    """Do what is rarely due: move a mark to a high level, or move the base."""
    if level < levels_of(m):
        move_up(m, arm, level, (n - delay(level, half_of(m))) >> level)
    move_base(m, arm)


@kernel
def move_up(m: Record, arm: int, level: int, i: int) -> None:
    """Move mark number `i` of a level to it, from the level below."""
    half = half_of(m)
    below = row_of(level - 1, 2 * i, half)
    m.sum[arm, level + 1, turn(i, half)] = m.sum[arm, below, turn(2 * i, half)]


@kernel
def move_base(m: Record, arm: int) -> None:
    """Move the base to the newest reward, so that sums count from there."""
    total = m.total[arm]
    base, error = two_sum(m.base[arm], total)
    m.base[arm] = base
    m.error[arm] += error
    m.total[arm] = 0.0
    for row in range(m.sum.shape[1]):
        for i in range(m.sum.shape[2]):
            m.sum[arm, row, i] -= total


@kernel
def begin_block(
    written: int, n: int, level: int, block: Block | BlockWord, half: int, levels: int
) -> int:
    """Return the place of the mark at which a block of n of `written` rewards begins.

    1 ≤ n ≤ written, and `level` is the lowest level that serves n rewards.
    """
    place = written - n
    if level == levels - 1:  # the marks may not reach back so far
        place = max(place, written - ((2 * half + max(3, 2 * half - 3) - 2 << level) >> 1))
    if block == Block.NEAR:
        place += (1 << level) >> 1
    elif block == Block.SHORT:
        place += (1 << level) - 1
    return (place >> level) << level


@kernel
def block_sum(m: Record, arm: int, place: int, level: int, block: Block | BlockWord) -> float:
    """Return the sum of the arm's rewards since the mark that `begin_block` gave for `level`."""
    half = half_of(m)
    written: Any = np.int64(m.written[arm])
    if half == 2 or block == Block.SHORT:  # it may still lie on a level below
        level = level_of(place, level, half, written)
    i = place >> level
    return float(m.total[arm] - m.sum[arm, row_of(level, i, half), turn(i, half)])


@routine
def level_of(place: int, level: int, half: int, written: int) -> int:
    """Return the level of the mark at a place: this one or, if it has not moved yet, one below."""
    while level > 0 and place + delay(level, half) >= written:
        level -= 1
    return level


@kernel
def is_at_least(a: float, n: int, b: float, m: int) -> bool:
    """Return whether a/n ≥ b/m, without rounding."""
    x = a * m
    y = b * n
    if abs(x - y) < CLOSE * abs(x):
        return is_at_least_exactly(a, n, b, m)
    return bool(x >= y)


@routine
def is_at_least_exactly(a: float, n: int, b: float, m: int) -> bool:
    """Return whether a · m ≥ b · n, for products that are close."""
    x, x_error = two_product(a, float(m))
    y, y_error = two_product(b, float(n))
    return bool(x - y >= y_error - x_error)


def fill_levels(old: Record, new: Record) -> None:
    """Mark the levels that `old`, made for a horizon, did not have in `new`, a copy of it.

    Until `old` is full, the only mark that may have moved there is the one before all rewards.
    """
    for name in old.dtype.names or ():
        kind = old.dtype[name].names or ()
        if "level" in kind and "base" in kind:
            arms, rows, _ = old[name].sum.shape
            new[name].sum[:arms, rows:, 0] = old[name].sum[:, -1, :1]
        elif kind:
            fill_levels(old[name], new[name])
