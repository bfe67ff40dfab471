"""The oracle's random numbers are the library's."""

import numpy as np
import pytest

from lastblock import random
from oracle.stream import Stream


@pytest.mark.parametrize("role", [random.POLICY, random.ENVIRONMENT])
@pytest.mark.parametrize("replication", [0, 1, 12_345])
def test_words_are_the_same(replication, role):
    state = np.empty(random.STREAM_WORDS, dtype=np.uint64)
    random.seed_stream(state, random.key_of([3, 14]), replication, role)
    twin = Stream([3, 14], replication, role)
    assert [int(random.next_word(state)) for _ in range(200)] == [twin.word() for _ in range(200)]


def test_numbers_are_the_same():
    state = np.empty(random.STREAM_WORDS, dtype=np.uint64)
    random.seed_stream(state, random.key_of(7), 0, random.POLICY)
    twin = Stream(7)
    for n in range(1, 200):
        assert random.uniform(state) == twin.uniform()
        assert random.below(state, n) == twin.below(n)
