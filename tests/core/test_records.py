"""Records in plain Python: fields are attributes, whatever numpy calls its own."""

import copy
import pickle

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.fields import Fields
from lastblock.core.layout import record, state_dtype

POLICY = lb.Restarting(lb.LBSDALM(), lb.MeanShift())


@pytest.fixture
def states():
    return np.zeros(2, state_dtype(POLICY, 3))


def test_fields_are_attributes_of_records_and_of_records_within(states):
    s = states[0]
    s.round = 5
    s.inner.arms = 3
    s.inner.queue[1] = 2
    assert states["round"].tolist() == [5, 0]
    assert states["inner"]["arms"].tolist() == [3, 0]
    assert s.inner.queue.tolist() == [0, 2, 0]
    assert isinstance(s, Fields)
    assert isinstance(s.inner, Fields)


def test_a_field_may_be_called_like_a_method_of_numpy():
    s = np.zeros(1, record([("sum", np.float64), ("item", np.int64)]))[0]
    s.sum = 0.5
    assert (s.sum, s.item) == (0.5, 0)


@pytest.mark.parametrize("name", ["rouns", "sum", "all", "mean"])
def test_what_is_no_field_is_neither_read_nor_set(states, name):
    told = f"the record has no field {name!r}"
    with pytest.raises(AttributeError, match=told):
        getattr(states[0], name)
    with pytest.raises(AttributeError, match=told):
        setattr(states[0], name, 1)
    assert not hasattr(states[0], name)


def test_records_are_pickled_and_copied(states):
    states["round"] = [1, 2]
    for again in (pickle.loads(pickle.dumps(states)), copy.deepcopy(states)):
        assert again.dtype == states.dtype
        assert type(again[1]) is type(states[1])
        assert again[1].round == 2
    assert pickle.loads(pickle.dumps(states[1])).round == 2
