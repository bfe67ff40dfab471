"""Kernels that need some fields of a record only are compiled once for all records alike."""

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import HEADER, record, state_dtype
from lastblock.core.rounds import come_back, take_arm
from lastblock.kernels.jit import compiled, kernel, kernel_of
from lastblock.kernels.record_arrays import RecordArray

FIRST = [("round", np.int64), ("queue", np.uint32, (3,)), ("checked", np.uint8, (0,))]
SHORT = record([*FIRST, ("end", np.uint8)])
LONG = record([*FIRST, ("sums", np.float64, (9,)), ("end", np.uint8)])
MOVED = record([("first", np.uint64), *FIRST, ("end", np.uint8)])


@kernel_of(("round", "queue"))
def move(s, k):
    s.round += s.queue[k]
    s.queue[k] = 7
    return s.round


@kernel
def move_first(states, k):
    return move(states[0], k)


@kernel_of(("round",))
def read_another(s):
    return s.queue[0]


@kernel
def read_first(states):
    return read_another(states[0])


def filled(kind):
    states = np.zeros(2, kind)
    states[0]["round"], states[0]["queue"] = 1, [4, 5, 6]
    return states


def test_records_that_begin_alike_share_the_code():
    before = len(move.dispatcher.overloads)
    for kind in (SHORT, LONG, MOVED):
        states, twins = filled(kind), filled(kind)
        assert compiled(move_first)(RecordArray(states), 1) == move_first(twins, 1) == 6
        assert states.tobytes() == twins.tobytes()
    assert len(move.dispatcher.overloads) == before + 2


def test_other_fields_cannot_be_read():
    assert read_first(filled(SHORT)) == 4
    with pytest.raises(KeyError, match="queue"):
        compiled(read_first)(RecordArray(filled(SHORT)))


def test_policies_share_what_handles_rounds():
    @kernel
    def ask_and_lose(states):
        s = states[0]
        arm = take_arm(s)
        come_back(s, arm)
        return arm

    known = len(take_arm.dispatcher.overloads)
    for policy in (lb.UCB1(), lb.LBSDALM(), lb.KLUCB()):
        states = np.zeros(1, state_dtype(policy, 5))
        assert set(HEADER) - set(states.dtype.names) == {"checked"}
        states[0].queue[0] = 3
        assert compiled(ask_and_lose)(RecordArray(states)) == 3
        assert (states[0].taken, states[0].out[3]) == (1, 0)
    assert len(take_arm.dispatcher.overloads) <= known + 1


@kernel
def copy_sums(states):
    s = states[0]
    s.old = s.sums
    s.sums[1] = 9.0
    return s.old[1] + s.end


def test_an_array_is_copied_into_another_one():
    kind = record([("sums", np.float64, (3,)), ("old", np.float64, (3,)), ("end", np.uint8)])
    states, twins = np.zeros(1, kind), np.zeros(1, kind)
    states["sums"] = twins["sums"] = [1.0, 2.0, 3.0]
    assert compiled(copy_sums)(RecordArray(states)) == copy_sums(twins) == 2.0
    assert states.tobytes() == twins.tobytes()
