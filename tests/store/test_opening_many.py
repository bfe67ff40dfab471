"""Many bandits are opened at once, as they would be one after the other."""

import pytest
from databases import fetch
from lives import change, facts, new_bandit

import lastblock as lb
from lastblock.store import postgres_view
from lastblock.store import store as stores
from lastblock.store.storage import DamagedError

NAMES = [f"bandit {k}" for k in range(5)]


@pytest.fixture
def filled(place, monkeypatch):
    """A store with five bandits, of which one has a snapshot and one has had nothing."""
    monkeypatch.setattr(stores, "TOGETHER", 2)
    with lb.Store(place, durability="never") as store:
        for k, name in enumerate(NAMES):
            bandit = new_bandit(store.create, name=name)
            for step in range(30 if k else 0):
                change(bandit, 100 * k + step)
            if k:
                bandit.ask(key=f"key {k}")
            if k == 3:
                store.snapshot(name)
                bandit.tell_many(bandit.pending, [1.0] * len(bandit.pending))
    return place


@pytest.mark.parametrize("ahead", [10, 1000])
def test_all_are_as_they_would_be_one_by_one(filled, ahead, monkeypatch):
    monkeypatch.setattr(postgres_view, "MOST_AHEAD", ahead)  # of most bandits events are read later
    with lb.Store(filled) as store:
        single = {name: (facts(b := store.bandit(name)), b.pending) for name in NAMES}
    with lb.Store(filled) as store:
        first = store.bandit(NAMES[2])
        opened = store.bandits([*NAMES, NAMES[1]])
        assert list(opened) == NAMES
        assert opened[NAMES[2]] is first
        assert {name: (facts(b), b.pending) for name, b in opened.items()} == single
        again = opened[NAMES[1]].ask(key="key 1")
        assert store.read_token(again.token)[1] == again.id
        late = opened[NAMES[4]].pending
        opened[NAMES[4]].tell_many(late, [1.0] * len(late))
        for name in NAMES:
            store.verify(name)


def test_those_of_others_are_left_out(filled):
    with lb.Store(filled) as one, lb.Store(filled) as other:
        one.bandit(NAMES[1])
        assert list(other.bandits(NAMES)) == [name for name in NAMES if name != NAMES[1]]
        assert one.bandits(NAMES).keys() == {NAMES[1]}
        other.release(NAMES[0])
        assert one.bandits(NAMES).keys() == {NAMES[0], NAMES[1]}


def test_an_unknown_name_opens_none_and_a_damaged_bandit_all_others(filled):
    with lb.Store(filled) as store:
        with pytest.raises(lb.StoreError, match="has no bandit 'nobody'"):
            store.bandits([NAMES[0], "nobody"])
        (_, _, (number,), _, _) = fetch(filled, "SELECT bandit FROM bandits ORDER BY bandit")
        fetch(filled, f"DELETE FROM events WHERE bandit = {number} AND event = 2")
        with pytest.raises(DamagedError, match=r"'bandit 2'.* is damaged") as caught:
            store.bandits(NAMES)
        assert caught.value.reasons == {NAMES[2]: str(caught.value)}
        with lb.Store(filled) as other:
            assert other.bandits([name for name in NAMES if name != NAMES[2]]) == {}
            other.delete(NAMES[2])
        assert store.names() == tuple(name for name in NAMES if name != NAMES[2])


def test_snapshots_of_all_that_are_open(place):
    with lb.Store(place, durability="never") as store:
        for k, name in enumerate(NAMES):
            bandit = new_bandit(store.create, name=name)
            for _ in range(k):
                bandit.tell(bandit.ask(), 1.0)
        store.release(NAMES[4])
        assert store.snapshot_all(behind=2) == 2  # asks and tells are two events each
        assert store.snapshot_all(behind=2) == 0
        assert store.snapshot_all() == 1
    events = dict(fetch(place, "SELECT name, last_event FROM bandits"))
    assert events == {name: 2 * k if k < 4 else 0 for k, name in enumerate(NAMES)}
