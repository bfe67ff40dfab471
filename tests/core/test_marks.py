"""Marks against plain lists: the right blocks, exact on whole numbers, no digits lost."""

import math

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastblock as lb
from lastblock.core import resizing
from lastblock.core.layout import record
from lastblock.core.marks import (
    Block,
    begin_block,
    block_sum,
    clear_marks,
    fill_levels,
    half_of,
    is_at_least,
    is_full,
    levels,
    levels_of,
    marks_dtype,
    room_of,
    take_in,
)
from lastblock.kernels.jit import DISABLED, plain
from oracle.lbsdagm import length_of_block, level_of

KINDS = [kind.name.lower() for kind in Block]


def new_marks(marks, horizon=None):
    made = np.empty(1, marks_dtype(1, marks, horizon))
    made.view(np.uint8)[:] = 0x5A  # it may hold anything before it is cleared
    clear_marks(made[0])
    return made


@numba.njit
def take_all(marks, sums, rewards, block):
    for reward in rewards:
        take_in(marks[0], sums, 0, reward, block)


@numba.njit
def block_of(marks, n, level, block):
    m = marks[0]
    place = begin_block(m.written[0], n, level, block, half_of(m), levels_of(m))
    return m.written[0] - place, block_sum(m, 0, place, level, block)


@numba.njit
def blocks_of(marks, levels, block):
    """Lengths and sums for every n up to the number of rewards."""
    found = np.empty((marks[0].written[0], 2))
    for n in range(1, found.shape[0] + 1):
        length, total = block_of(marks, n, levels[n], block)
        found[n - 1, 0] = length
        found[n - 1, 1] = total
    return found


@pytest.mark.parametrize("block", KINDS)
@pytest.mark.parametrize(("marks", "horizon"), [(4, 260), (6, None), (8, 1), (8, None)])
def test_every_block_at_every_time(marks, horizon, block):
    last = 40 if DISABLED else 260
    if horizon == 1:  # the fewest levels, filled up
        last = room_of(marks // 2, levels(marks, 1))
    rewards = np.random.default_rng(1).integers(-9, 10, last).astype(float)
    by_length = np.array([level_of(n, marks, block) for n in range(last + 1)])
    made, sums, kind = new_marks(marks, horizon), np.zeros(1), Block[block.upper()]
    for written in range(1, last + 1):
        take_all(made, sums, rewards[written - 1 : written], kind)
        assert made[0].level[0] == by_length[written]
        assert plain(is_full)(made[0], 0) == (horizon == 1 and written == last)
        assert sums[0] == rewards[:written].sum()
        so_far = np.concatenate([[0.0], np.cumsum(rewards[:written])])
        found = blocks_of(made, by_length, kind)
        lengths = [length_of_block(written, n, marks, block) for n in range(1, written + 1)]
        assert found[:, 0].tolist() == lengths
        assert found[:, 1].tolist() == [so_far[-1] - so_far[-1 - n] for n in lengths]
        assert lengths[:marks] == [*range(1, written + 1)][:marks]
        # Off by half a step or less, or a whole one: a share of n.
        share = 2 / (marks - 3) if block != "near" else 1 / max(3, marks - 2)
        assert all(abs(n - length) <= n * share for n, length in enumerate(lengths, 1))


def test_ten_million_rewards_around_a_billion_lose_no_digits():
    rng = np.random.default_rng(2)
    rewards = rng.normal(1e9, 1e3, 10_000 if DISABLED else 10_000_000)
    made, sums = new_marks(8), np.zeros(1)
    take_all(made, sums, rewards, Block.NEAR)
    assert sums[0] == pytest.approx(math.fsum(rewards), rel=1e-15)
    for level in range(20):
        n = (7 << level) if (7 << level) <= rewards.size else rewards.size
        length, total = block_of(made, n, level + 1, Block.NEAR)
        assert total == pytest.approx(math.fsum(rewards[-length:]), rel=1e-12)


def test_a_billion_rewards_lose_no_digits():
    """As far as 10⁹ rewards can be had in a moment: every mark is as old as the record allows."""
    made, sums = new_marks(8), np.zeros(1)
    m = made[0]
    before = 10**9 - 5000
    # A constant reward c: the sum up to a place p is c · p, less the base at a multiple of 4096.
    c, base = 1e9 + 0.1, before // 4096 * 4096
    m.written[0], m.level[0] = before, levels_of(m) - 1
    m.base[0], m.total[0] = c * base, c * (before - base)
    for level in range(levels_of(m)):
        half = 4
        newest = before - 1 if level == 0 else (before - 1 - (5 << level >> 1)) >> level
        for i in range(newest - (1 + (level == 0)) * half + 1, newest + 1):
            row = level + 1 if level else i % 8 // half
            m.sum[0, row, i % half] = c * ((i << level) - base)
    take_all(made, sums, np.full(5000, c), Block.NEAR)
    assert m.written[0] == 10**9
    assert not plain(is_full)(m, 0)
    assert sums[0] == pytest.approx(c * 10**9, rel=1e-15)
    for level in range(levels_of(m)):
        n = 6 << level
        length, total = block_of(made, n, level, Block.NEAR)
        assert abs(length - n) <= n / 6
        assert total == pytest.approx(c * length, rel=1e-12)


def test_a_block_longer_than_the_marks_reach_back_takes_all_there_is():
    made, sums = new_marks(8), np.zeros(1)
    take_all(made, sums, np.ones(5000 if DISABLED else 100_000), Block.NEAR)
    m = made[0]
    # The same record with fewer levels: as if the highest one were level 3.
    place = begin_block(m.written[0], 4000, 3, Block.NEAR, 4, 4)
    length = m.written[0] - place
    assert 40 <= length <= 48
    assert block_sum(m, 0, place, 3, Block.NEAR) == length


@given(st.integers(0, 2**52), st.integers(1, 2**30), st.integers(0, 2**52), st.integers(1, 2**30))
def test_means_are_compared_exactly(a, n, b, m):
    assert is_at_least(float(a), n, float(b), m) == (a * m >= b * n)
    assert is_at_least(float(a * (n % 2)), n, float(a * (n % 2)), n)
    common = math.gcd(a, n)
    assert is_at_least(float(a), n, float(a // common), n // common)


def test_sizes():
    """For 10⁹ rounds, whatever the number of arms, or for fewer."""
    assert [levels(8, horizon) for horizon in (None, 10**9, 10**5, 44, 45)] == [26, 26, 16, 4, 8]
    for marks, most in [(4, 640), (8, 1024), (16, 2048)]:
        assert lb.state_size(lb.LBSDAGM(marks), arms=4) / 4 <= most


@pytest.mark.parametrize("block", KINDS)
@pytest.mark.parametrize("marks", [4, 8])
def test_a_copy_without_the_horizon_has_all_marks(marks, block):
    """However many rewards the shorter record has had; the base has moved since the first one."""
    kind, room = Block[block.upper()], room_of(marks // 2, levels(marks, 4100))
    rewards = np.random.default_rng(3).integers(-9, 10, room + 4500).astype(float)
    by_length = np.array([level_of(n, marks, block) for n in range(rewards.size + 1)])
    for n in (5, 4500, room):
        full, sums = new_marks(marks), np.zeros(1)
        small, copied = (
            np.zeros(1, record([("inner", record([("marks", marks_dtype(1, marks, horizon))]))]))
            for horizon in (4100, None)
        )
        take_all(full, sums, rewards[:n], kind)
        take_all(small["inner"]["marks"], sums, rewards[:n], kind)
        resizing.copy(small[0], copied[0])
        fill_levels(small[0], copied[0])
        for later in np.array_split(rewards[n:], 2 if DISABLED else 20):
            take_all(full, sums, later, kind)
            take_all(copied["inner"]["marks"], sums, later, kind)
            found = [blocks_of(made, by_length, kind) for made in (full, copied["inner"]["marks"])]
            assert found[0].tolist() == found[1].tolist()
