"""What the policies for rewards that rot share: means over windows of an arm's newest rewards.

Either windows of 1, 2, 4, 8 … rewards are known, in a record of fixed size, or all windows, in a
record with every reward. Which it is shows in the fields, so that compiled code has no trace of the
other kind.
"""

import math
from typing import Any

import numpy as np

from lastblock.core.history import append, block_mean, clear, history_dtype, is_full
from lastblock.kernels.jit import in_kernels, kernel
from lastblock.kit import COUNT, FIRST_ROOM, Layout, Record, unseen, within

LEVELS = 40
"""The number of window sizes, 1, 2, 4 … 2³⁹ rewards."""


@kernel
def extend(s: Record, arm: int, reward: float) -> None:
    """Take in a reward of `arm`.

    Where a block of 2ʲ rewards ends, the window of 2ʲ⁺¹ rewards gets a new mean.
    """
    n = s.pulls[arm]
    s.pulls[arm] = n + 1
    s.mean[arm, 0] = reward
    size = 1
    block = reward  # the sum of the block of `size` rewards that has just ended
    for level in range(LEVELS - 1):
        if n + 1 < 2 * size:  # there is no block before this one
            s.block[arm, level] = block
            return
        pair = s.block[arm, level] + block
        s.mean[arm, level + 1] = pair / (2 * size)
        s.block[arm, level] = block
        # Blocks of level j start at multiples of 2ʲ: two of them make one of the next level.
        if (n + 1) % (2 * size) != 0:
            return
        block = pair
        size *= 2


def window_fields(arms: int, horizon: int | None, all_windows: bool) -> Layout:
    """Return the fields for the rewards of each arm."""
    if all_windows:
        room = FIRST_ROOM if horizon is None else horizon
        history = history_dtype(arms, room)
        most = history["prefix"].shape[1] - 1
        return [("pulls", within(np.int64, 0, most), (arms,)), ("history", history)]
    return [
        ("pulls", COUNT, (arms,)),
        ("block", np.float64, (arms, LEVELS)),  # the newest block of 2ʲ rewards: its sum
        ("mean", np.float64, (arms, LEVELS)),  # of the newest window of 2ʲ rewards
    ]


def clear_windows(s: Record) -> None:
    """Begin without a reward."""
    if "history" in s.dtype.names:
        clear(s.history)


@in_kernels(clear_windows)
def _clear_kernel(s: Any) -> Any:
    return (lambda s: clear(s.history)) if "history" in s.fields else lambda s: None


def take_in(s: Record, arm: int, reward: float) -> None:
    """Take in a reward of `arm`."""
    _append(s, arm, reward) if "history" in s.dtype.names else extend(s, arm, reward)


@kernel
def _append(s: Record, arm: int, reward: float) -> None:
    s.pulls[arm] += 1
    append(s.history, arm, reward)


@in_kernels(take_in)
def _take_in_kernel(s: Any, arm: Any, reward: Any) -> Any:
    return _append if "history" in s.fields else extend


def window_mean(s: Record, arm: int, size: int, level: int) -> float:
    """Return the mean of the newest window of `size` rewards.

    Unless all windows are known, `size` is 2 to the power of `level`.
    """
    return _any_mean(s, arm, size, level) if "history" in s.dtype.names else s.mean[arm, level]


@kernel
def _any_mean(s: Record, arm: int, size: int, level: int) -> float:
    return block_mean(s.history, arm, size)


@in_kernels(window_mean)
def _window_mean_kernel(s: Any, arm: Any, size: Any, level: Any) -> Any:
    if "history" in s.fields:
        return _any_mean
    return lambda s, arm, size, level: s.mean[arm, level]


def no_room(s: Record, arm: int) -> bool:
    """Return whether there is no room for another reward of `arm`."""
    return "history" in s.dtype.names and is_full(s.history, arm)


@in_kernels(no_room)
def _no_room_kernel(s: Any, arm: Any) -> Any:
    if "history" in s.fields:
        return lambda s, arm: is_full(s.history, arm)
    return lambda s, arm: False


# The index of RAW-UCB.


def start_indices(s: Record) -> None:
    """Begin with no index known."""
    _start_all(s) if "history" in s.dtype.names else _start_some(s)


@kernel
def _start_all(s: Record) -> None:
    for k in range(s.window.shape[0]):
        s.window[k] = 1


@kernel
def _start_some(s: Record) -> None:
    for level in range(LEVELS):
        s.shrink[level] = 1.0 / math.sqrt(2.0**level)


@in_kernels(start_indices)
def _start_kernel(s: Any) -> Any:
    return _start_all if "history" in s.fields else _start_some


def set_indices(s: Record, width: float) -> None:
    """Set the index of each arm to the least bound over its windows.

    Where all windows are known, indices that cannot be the largest are bounds from above.
    """
    _indices_of_all(s, width) if "history" in s.dtype.names else _indices_of_some(s, width)


@kernel
def own_width(s: Record, arm: int, width: float) -> float:
    """Return the width of a window of one reward."""
    # Rewards that are out narrow the widths as they would narrow those of UCB.
    return float(width * math.sqrt(s.pulls[arm] / (s.pulls[arm] + s.out[arm])))


@kernel
def _indices_of_some(s: Record, width: float) -> None:
    for k in range(s.arms):
        n = s.pulls[k]
        if n > 0:
            own = own_width(s, k, width)
            lowest = s.mean[k, 0] + own
            level = 1
            while level < LEVELS and n >> level > 0:
                lowest = min(lowest, s.mean[k, level] + own * s.shrink[level])
                level += 1
            s.index[k] = lowest
        else:
            s.index[k] = unseen(s, k)


@kernel
def solve(s: Record, arm: int, own: float) -> None:
    """Find the least bound over all windows of an arm, in a pass over its rewards."""
    lowest = math.inf
    best = 1
    for size in range(1, s.pulls[arm] + 1):
        bound = block_mean(s.history, arm, size) + own / math.sqrt(size)
        if bound < lowest:
            lowest = bound
            best = size
    s.index[arm] = lowest
    s.lowest[arm] = lowest
    s.own[arm] = own
    s.window[arm] = best
    s.solved[arm] = s.pulls[arm]


@kernel
def _indices_of_all(s: Record, width: float) -> None:
    # The index grows with the width: what it was is a bound from below, and the window that was
    # the least one gives a bound from above.
    height = -math.inf
    for k in range(s.arms):
        if s.pulls[k] == 0:
            s.index[k] = unseen(s, k)
            height = max(height, s.index[k])
            continue
        own = own_width(s, k, width)
        if s.solved[k] != s.pulls[k] or own < s.own[k]:
            solve(s, k, own)
        else:
            s.index[k] = block_mean(s.history, k, s.window[k]) + own / math.sqrt(s.window[k])
        height = max(height, s.lowest[k])
    for k in range(s.arms):
        if s.pulls[k] > 0 and s.index[k] >= height:
            own = own_width(s, k, width)
            if own != s.own[k]:
                solve(s, k, own)


@in_kernels(set_indices)
def _set_indices_kernel(s: Any, width: Any) -> Any:
    return _indices_of_all if "history" in s.fields else _indices_of_some
