"""The oracle's random numbers are the library's."""

import numpy as np
import pytest

from lastblock.kernels import streams
from oracle.stream import Stream


@pytest.mark.parametrize("role", [streams.POLICY, streams.ENVIRONMENT])
@pytest.mark.parametrize("replication", [0, 1, 12_345])
def test_words_are_the_same(replication, role):
    state = np.empty(streams.STREAM_WORDS, dtype=np.uint64)
    streams.seed_stream(state, streams.key_of([3, 14]), replication, role)
    twin = Stream([3, 14], replication, role)
    assert [int(streams.next_word(state)) for _ in range(200)] == [twin.word() for _ in range(200)]


def test_numbers_are_the_same():
    state = np.empty(streams.STREAM_WORDS, dtype=np.uint64)
    streams.seed_stream(state, streams.key_of(7), 0, streams.POLICY)
    twin = Stream(7)
    for n in range(1, 200):
        assert streams.uniform(state) == twin.uniform()
        assert streams.below(state, n) == twin.below(n)
