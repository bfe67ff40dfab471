"""Bandits that survive: a store's bandit is an ordinary bandit, with one owner and a log."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from databases import fetch, given
from lives import NAME, live, new_bandit

import lastblock as lb
from processes import run_trial

TRIALS = Path(__file__).parent / "store_trials.py"
DURABILITIES = ["always", "interval", "never"]


# A store's bandit is an ordinary bandit.


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
    import gc  # noqa: PLC0415  # here alone

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

        threads = [threading.Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        data = [bandit.to_bytes() for bandit in bandits]
    with lb.Store(place) as store:
        again = [store.bandit(f"bandit {i}") for i in range(3)]
        assert [bandit.to_bytes() for bandit in again] == data
        assert [sum(bandit.pulls.values()) for bandit in again] == [1600] * 3


# The log.


def test_the_journal_of_a_stores_bandit_is_the_stores(tmp_path):
    with lb.Store(tmp_path / "s.db") as store:
        bandit = store.create("button", lb.LBSDALM(), ["red", "green", "blue"], seed=1)
        for journal in (lambda events: None, None):
            with pytest.raises(ValueError, match=r"attach yours to a copy\(\)"):
                bandit.attach(journal)
        bandit.tell(bandit.ask(), 1.0)
        assert store.verify("button") == 2


def test_events_are_a_log(place, tmp_path):
    with lb.Store(place, durability="interval", keep_events=True, snapshot_every=100) as store:
        bandit = new_bandit(store.create, name=NAME, floor=0.1)
        told = []
        for i in range(300):
            decision = bandit.ask()
            if i % 10 == 3:
                bandit.forget(decision)
            elif i % 10 != 7:
                bandit.tell(decision, i / 4)
                told.append((*decision, i / 4))
        bandit.retire_arm("green")
        bandit.add_arm("grün")
        last = bandit.ask()
        assert store.export(NAME, tmp_path / "log.parquet") == len(told)
        events = store.export(NAME, tmp_path / "events.parquet", "events")
        assert events == 300 + 30 + len(told) + 3
        with pytest.raises(ValueError, match="what='rewards' must be 'decisions' or 'events'"):
            store.export(NAME, tmp_path / "log.parquet", "rewards")
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    table = pq.read_table(tmp_path / "log.parquet").to_pydict()
    columns = ("arm", "decision", "probability", "reward")
    assert list(zip(*(table[name] for name in columns), strict=True)) == told
    assert all(a <= b for a, b in zip(table["asked"], table["told"], strict=True))
    replay = lb.Replay(tmp_path / "log.parquet", propensity="probability")
    rewards = np.array([reward for *_, reward in told])
    assert replay.estimate().ips.value == pytest.approx(rewards.mean())
    table = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert [row["event"] for row in table] == list(range(1, events + 1))
    assert [(row["kind"], row["arm"]) for row in table[-3:]] == [
        ("retire_arm", "green"),
        ("add_arm", "grün"),
        ("ask", last.arm),
    ]
    assert table[-1]["probability"] == last.probability
    rows = fetch(place, f"SELECT bandit, kind, arm FROM log WHERE event = {events - 1}")
    assert rows == [(NAME, "add_arm", "grün")]


# Owners.


def test_one_owner_at_a_time(place):
    with lb.Store(place) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(20))
        errors = run_trial(TRIALS, "owner", given(place))
        for error in errors:
            assert f"'button' in {store._storage.label} is open in process {os.getpid()}" in error
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
    assert run_trial(TRIALS, "together", given(place)) == [True] * 4


def test_names_and_labels_of_any_script(place):
    names = ["👩\u200d🚀", "نمی\u200cخواهم", "क्\u200dष"]  # with joiners and non-joiners
    with lb.Store(place) as store:
        for name in names:
            store.create(name, lb.LBSDALM(), arms=names, seed=7).ask()
    with lb.Store(place) as store:
        assert sorted(store.names()) == sorted(names)
        assert store.bandit(names[0]).pending[0].arm in names


def test_names(place):
    with lb.Store(place) as store:
        with pytest.raises(lb.StoreError, match="no bandit 'button'; it has: none; create one"):
            store.bandit(NAME)
        bandit = new_bandit(store.create, name=NAME)
        with pytest.raises(lb.StoreError, match="no bandit 'buton'; did you mean 'button'"):
            store.bandit("buton")
        with pytest.raises(lb.StoreError, match="has a bandit 'button'; take another name"):
            new_bandit(store.create, name=NAME)
        for name in ("", 3, None):
            with pytest.raises(ValueError, match="must be a string that is not empty"):
                new_bandit(store.create, name=name)
        for name in ("a\nb", "\ud800", "a\u2028b", "\0"):
            with pytest.raises(ValueError, match="; leave it out"):
                new_bandit(store.create, name=name)
        with pytest.raises(ValueError, match="at least 2 arms"):
            store.create("new", lb.LBSDALM(), arms=1)
        assert store.names() == (NAME,)
        store.delete(NAME)
        with pytest.raises(lb.StoreError, match="'button' was released"):
            bandit.ask()
        assert store.names() == ()
        new_bandit(store.create, name=NAME).ask()
        assert store.verify(NAME) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"durability": "sometimes"}, "must be one of always, interval, never"),
        ({"interval": 0}, "must be positive and finite, in seconds"),
        ({"interval": float("nan")}, "interval"),
        ({"snapshot_every": 0}, "at least 1"),
    ],
)
def test_wrong_options(path, options, message):
    with pytest.raises(ValueError, match=message):
        lb.Store(path, **options)
    assert not path.exists()


def test_wrong_places(tmp_path):
    with pytest.raises(lb.StoreError, match="is a folder; give the name of a file"):
        lb.Store(tmp_path)
    with pytest.raises(lb.StoreError, match="its folder does not exist; make it"):
        lb.Store(tmp_path / "no" / "shop.db")
    for place in (None, 5, b"shop.db"):
        with pytest.raises(TypeError, match="is not the place of a store; give the path of a file"):
            lb.Store(place)
    with lb.Store(tmp_path / "shop.db") as store:
        new_bandit(store.create, name=NAME)
        with pytest.raises(FileNotFoundError) as caught:
            store.export(NAME, tmp_path / "no" / "log.parquet")
        assert str(caught.value) == f"there is no folder {tmp_path / 'no'}; make it first"


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_closed_store(place, durability):
    store = lb.Store(place, durability=durability)
    bandit = new_bandit(store.create, name=NAME)
    live([bandit], range(20))
    before = bandit.to_bytes()
    store.close()
    store.close()
    for action in (bandit.ask, lambda: bandit.tell(bandit.pending[0], 1.0), store.names):
        with pytest.raises(lb.StoreError, match="is closed; open it again"):
            action()
        assert bandit.to_bytes() == before
    independent = bandit.copy()
    independent.ask()
