"""What code is compiled for: the types that numba finds, though most are looked up."""

from typing import NamedTuple

import numpy as np
import pytest

import lastblock as lb
from lastblock.kernels import jit
from lastblock.live.bandit import desk_of

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")


class Pair(NamedTuple):
    first: object
    second: object


def values():
    live = desk_of(lb.Bandit(lb.LBSDAGM(), 3, seed=1)).live
    other = desk_of(lb.Bandit(lb.SWLBSDA(window=9), 3, seed=1)).live
    yield from (live.states, other.states, live.told, live.planned, live.policy, other.policy)
    table = np.zeros((4, 3))
    yield from (table, table.T, table[::2], table[0], table.astype(np.float32), table[:0])
    yield from (np.zeros(2, ">f8"), np.frombuffer(bytes(16)))
    fields = [("a", "i1"), ("b", "f8")]
    yield from (np.zeros(1, np.dtype(fields, align=True)), np.zeros(1, fields))
    yield np.zeros(1, fields).view(np.recarray)
    yield from (1, True, 1.0, 2**62, 2**63, -(2**63), np.int64(1), np.float32(1.0), "text", None)
    yield from ((1, 2.0), Pair(1, 2.0), Pair(1, True), Pair(Pair(1, 1), 2**63), Pair(1, "text"))
    yield from (lb.Restarting(lb.UCB1(), lb.GLR()), lb.Restarting(lb.LBSDAGM(), lb.GLR()))


def test_types_are_those_of_numba():
    typeof = jit.numba().typeof
    for _ in range(2):  # the second time they are looked up
        for value in values():
            try:
                expected = typeof(value)
            except Exception as error:
                with pytest.raises(type(error)):
                    jit.signature_of(value)
                continue
            assert jit.signature_of(value) == (expected,), value
