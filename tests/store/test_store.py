"""Bandits that survive: a store's bandit is an ordinary bandit, with one owner and a log."""

import gc
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from databases import given
from lives import ARMS, NAME, live, new_bandit

import lastblock as lb
from processes import run_trial

TRIALS = Path(__file__).parent / "store_trials.py"


def test_a_growing_record_is_replayed(place):
    bandit_options = {"arms": 2, "seed": 7}
    twin = lb.Bandit(lb.LBSDA(), **bandit_options)
    with lb.Store(place, durability="never") as store:
        bandit = store.create(NAME, lb.LBSDA(), **bandit_options)
        size = bandit.state_size
        for each in (bandit, twin):
            asked = each.ask(1100)
            each.tell_many(asked[:1000], [1.0] * 1000)
            each.tell_many(asked[1000:], [1.0] * 100)
            while max(each.pulls.values()) < 1100:
                each.tell(each.ask(), 1.0)
        assert bandit.to_bytes() == twin.to_bytes()
        assert bandit.state_size > size
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def test_a_store_lives_as_long_as_its_bandits(place):
    bandit = new_bandit(lb.Store(place, durability="interval").create, name=NAME)
    live([bandit], range(20))
    data = bandit.to_bytes()
    del bandit
    gc.collect()
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == data


def test_threads_share_a_store(place):
    with lb.Store(place, durability="interval", snapshot_every=500) as store:
        bandits = [new_bandit(store.create, name=f"bandit {i}") for i in range(3)]

        def play():
            for _ in range(400):
                for bandit in bandits:
                    bandit.tell(bandit.ask(), 1.0)

        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(play) for _ in range(4)]:
                done.result()
        data = [bandit.to_bytes() for bandit in bandits]
    with lb.Store(place) as store:
        again = [store.bandit(f"bandit {i}") for i in range(3)]
        assert [bandit.to_bytes() for bandit in again] == data
        assert [sum(bandit.pulls.values()) for bandit in again] == [1600] * 3


def test_one_owner_at_a_time(place):
    with lb.Store(place) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(20))
        errors = run_trial(TRIALS, "owner", given(place))
        for error in errors:
            assert f"'button' in {store._storage.label} is open in process {os.getpid()}" in error
        assert "run one worker process with threads (gunicorn: -w 1 --threads 8)" in errors[-1]
        other = lb.Store(place)
        with pytest.raises(lb.StoreError, match="is open in another Store of this process"):
            other.bandit(NAME)
        assert sum(other.bandit("other").pulls.values()) > 0
        live([bandit], range(20, 30))
        store.release(NAME)
        with pytest.raises(lb.StoreError, match="'button' was released"):
            bandit.ask()
        mine = other.bandit(NAME)
        assert mine.to_bytes() == bandit.to_bytes()
        mine.ask()
        other.close()
        assert store.bandit(NAME).to_bytes() == mine.to_bytes()


def test_four_processes_begin_at_once(place):
    assert run_trial(TRIALS, "together", given(place)) == [True, True, True, True, 4]


def test_get_or_create(place):
    with lb.Store(place) as store:
        bandit = new_bandit(store.get_or_create, name=NAME)
        assert store.get_or_create(NAME, lb.LBSDALM(), ARMS, seed=2) is bandit
        bandit.ask()
    with lb.Store(place) as store:
        bandit = new_bandit(store.get_or_create, name=NAME)
        assert bandit.asked == 1
        bandit.retire_arm("red")
        bandit.add_arm("gold")
        assert new_bandit(store.get_or_create, name=NAME) is bandit
