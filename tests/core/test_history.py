"""The ring of cumulative sums against plain lists: exact on whole numbers, no drift on others."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lastblock.core.history import (
    STRETCH,
    append,
    block_mean,
    block_sum,
    clear,
    forget_oldest,
    history_dtype,
    is_full,
)
from lastblock.kernels.jit import compiled

# Python itself would run them uncompiled.
append, block_sum, clear, forget_oldest, is_full = map(
    compiled, (append, block_sum, clear, forget_oldest, is_full)
)

RING = 64  # the smallest ring; a short list laps it


def new_history(rewards, arms=2):
    # The record may hold anything before it is cleared.
    history = np.empty(1, history_dtype(arms, rewards))
    history.view(np.uint8)[:] = 0x5A
    clear(history[0])
    return history[0]


class Lists:
    """What the ring should do: the last rewards of each arm in a list."""

    def __init__(self, arms, room):
        self.rewards = [[] for _ in range(arms)]
        self.room = room

    def append(self, arm, reward):
        self.rewards[arm].append(reward)
        del self.rewards[arm][: -self.room]

    def forget(self, arm):
        del self.rewards[arm][0]


def operations(rewards):
    """(arm, reward), or (arm, None) to forget; enough of them to lap the ring."""
    return st.lists(
        st.tuples(st.integers(0, 1), st.one_of(rewards, rewards, rewards, st.none())), max_size=400
    )


def follow(steps):
    """The ring and the lists after the same steps."""
    h, lists = new_history(RING - 1), Lists(2, RING - 1)
    for arm, reward in steps:
        if reward is not None:
            append(h, arm, reward)
            lists.append(arm, reward)
        elif h.kept[arm] > 0:
            forget_oldest(h, arm)
            lists.forget(arm)
    return h, lists


@settings(max_examples=60)
@given(operations(st.integers(-(10**12), 10**12).map(float)))
def test_whole_numbers_are_exact(steps):
    h, lists = follow(steps)
    for arm, kept in enumerate(lists.rewards):
        assert h.kept[arm] == len(kept)
        assert is_full(h, arm) == (len(kept) == RING - 1)
        for n in range(len(kept) + 1):
            assert block_sum(h, arm, n) == sum(kept[len(kept) - n :])


@settings(max_examples=60)
@given(operations(st.floats(-1e6, 1e6)))
def test_other_numbers_are_precise(steps):
    h, lists = follow(steps)
    # Entries are rounded sums of at most a ring of rewards; two of them are subtracted.
    largest = max((abs(reward) for _, reward in steps if reward is not None), default=0.0)
    for arm, kept in enumerate(lists.rewards):
        for n in range(1, len(kept) + 1):
            expected = math.fsum(kept[-n:])
            assert block_sum(h, arm, n) == pytest.approx(expected, abs=1e-12 * RING * largest)
            assert block_mean(h, arm, n) == block_sum(h, arm, n) / n


@numba.njit
def append_all(history, rewards):
    for reward in rewards:
        append(history[0], 0, reward)


@pytest.mark.parametrize("rewards_kept", [511, 65_535])
def test_ten_million_rewards_leave_no_drift(rewards_kept):
    history = np.zeros(1, history_dtype(1, rewards_kept))
    h = history[0]
    clear(h)
    rng = np.random.default_rng(2)
    last = rng.normal(1e9, 1e3, size=1_000_000)
    for _ in range(10):
        append_all(history, last)
    assert h.written[0] == 10_000_000
    for n in (1, 2, 10, 100, 511, rewards_kept):
        # A drifting sum of 1e16 would be off by one or more; a ring's is rounded at 1e-16 of it.
        assert block_mean(h, 0, n) == pytest.approx(math.fsum(last[-n:]) / n, rel=1e-9)


def test_rings_longer_than_a_stretch():
    kept = 2 * STRETCH - 1
    history = np.zeros(1, history_dtype(1, kept))
    h = history[0]
    assert h.prefix.shape[1] == 2 * STRETCH
    clear(h)
    rewards = np.random.default_rng(4).integers(0, 1000, size=5 * STRETCH // 2).astype(float)
    sums = np.concatenate([[0.0], np.cumsum(rewards)])  # whole numbers: exact
    done = 0
    # Stop at, just before and just after each boundary, and once in between.
    stops = [1, STRETCH - 1, STRETCH, STRETCH + 1, 2 * STRETCH, 2 * STRETCH + 1, rewards.size]
    for newest in stops:
        append_all(history, rewards[done:newest])
        done = newest
        assert h.kept[0] == min(newest, kept)
        for boundary in (0, STRETCH, 2 * STRETCH):
            for oldest in (boundary - 1, boundary, boundary + 1, boundary + 1000):
                if newest - kept <= oldest <= newest and oldest >= 0:
                    assert block_sum(h, 0, newest - oldest) == sums[newest] - sums[oldest]
        for n in (0, 1, int(h.kept[0])):
            assert block_sum(h, 0, n) == sums[newest] - sums[newest - n]
    assert is_full(h, 0)


def test_a_long_ring_is_precise():
    history = np.zeros(1, history_dtype(1, 2 * STRETCH - 1))
    clear(history[0])
    rewards = np.random.default_rng(5).normal(1e9, 1e3, size=5 * STRETCH // 2)
    append_all(history, rewards)
    for n in (1, 1000, STRETCH // 2, STRETCH // 2 + 1, STRETCH, 2 * STRETCH - 1):
        expected = math.fsum(rewards[-n:]) / n
        # Sums of a stretch reach 1e15, rounded at 1e-16 of that: 0.1 of a mean of 1e9 at worst.
        assert block_mean(history[0], 0, n) == pytest.approx(expected, rel=1e-9)
