"""Sums of blocks anywhere in a history, also in one that starts again from zero now and then."""

import numpy as np
import pytest

from lastblock.core.history import STRETCH, any_span_at_most, append, clear, history_dtype, span_sum
from lastblock.kernels.jit import DISABLED, entry


@entry
def fill(states, rewards):
    h = states[0]
    clear(h)
    for reward in rewards:
        append(h, 0, reward)


@entry
def sum_of(states, first, n):
    return span_sum(states[0], 0, first, n)


@entry
def any_at_most(states, first, last, n, bound):
    return any_span_at_most(states[0], 0, first, last, n, bound)


LENGTHS = [700, pytest.param(2 * STRETCH + 1000, marks=pytest.mark.skipif(DISABLED, reason="slow"))]


@pytest.mark.parametrize("length", LENGTHS)
def test_spans(length):
    rng = np.random.default_rng(4)
    rewards = rng.integers(-3, 4, length).astype(np.float64)
    states = np.zeros(1, history_dtype(1, length))
    fill(states, rewards)
    edges = [0, 1, 63, length // 3, length - 5]
    if length > STRETCH:
        edges += [STRETCH - 1, STRETCH, STRETCH + 1, 2 * STRETCH - 1, 2 * STRETCH]
    sums = np.concatenate([[0.0], np.cumsum(rewards)])
    for first in edges:
        for end in {*edges, length, *(first + n for n in (1, 2, 300))}:
            if first < end <= length:
                assert sum_of(states, first, end - first) == sums[end] - sums[first]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("n", [1, 7, 400])
def test_the_least_span(length, n):
    rng = np.random.default_rng(5)
    rewards = rng.integers(-3, 4, length).astype(np.float64)
    states = np.zeros(1, history_dtype(1, length))
    fill(states, rewards)
    sums = np.concatenate([[0.0], np.cumsum(rewards)])
    spans = sums[n:] - sums[:-n]
    for first, last in [(0, spans.size), (spans.size // 2, spans.size), (3, 5), (9, 9)]:
        least = spans[first:last].min(initial=np.inf)
        if first < last:
            assert any_at_most(states, first, last, n, least)
        assert not any_at_most(states, first, last, n, min(least, 1e9) - 0.5)
