"""Snapshots of a store's bandits, and the events that they make superfluous."""

from contextlib import suppress

import pytest
from databases import count, fetch
from lives import NAME, live, new_bandit

import lastblock as lb
from lastblock.store import sqlite
from lastblock.store.group_commit import Groups
from lastblock.store.journal import snapshot_of
from lastblock.store.storage import Snapshot

DURABILITIES = ["always", "interval", "never"]


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("every", [1, 7, 10_000])
def test_replaying_everything_gives_the_snapshot(place, durability, every):
    options = {"durability": durability, "snapshot_every": every, "keep_events": True}
    with lb.Store(place, **options) as store:
        bandit = new_bandit(store.create, name=NAME, floor=0.05)
        live([bandit], range(120))
        events = store.verify(NAME)
        live([bandit], range(120, 130))
        store.snapshot(NAME)
        assert store.verify(NAME) > events
    ((body, last, beginning, first),) = fetch(
        place, "SELECT snapshot, last_event, beginning, first_event FROM bandits"
    )
    assert body == snapshot_of(bandit, 0, last).body
    assert (beginning, first) == (snapshot_of(new_bandit(floor=0.05), 0, 0).body, 0)
    assert count(place) == last
    with lb.Store(place, **options) as store:
        assert store.bandit(NAME).to_bytes() == bandit.to_bytes()
        assert store.verify(NAME) == last


def test_old_events_go(place):
    with lb.Store(place, snapshot_every=50, durability="never") as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(200))
        assert store.verify(NAME) < 60
        assert count(place) < 60
        store.snapshot(NAME)
        assert count(place) == 0
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == bandit.to_bytes()


def test_asks_alone_are_pruned_too(place):
    with lb.Store(place, snapshot_every=50, durability="never") as store:
        bandit = new_bandit(store.create, name=NAME)
        for _ in range(120):
            bandit.forget(bandit.ask())
        twin = bandit.copy()
        for each in (bandit, twin):
            each.ask(120)
            each.ask(7)
        store.flush()
        assert count(place) == 7
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def test_the_file_stays_small(path):
    """Ten times the events do not make it larger, nor SQLite's own log beside it."""
    sizes = []
    options = {"durability": "never", "snapshot_every": 2000}
    with lb.Store(path, **options) as store:
        new_bandit(store.create, name=NAME)
    for _ in range(10):
        with lb.Store(path, **options) as store:
            bandit = store.bandit(NAME)
            for _ in range(3000):
                bandit.tell(bandit.ask(), 1.0)
            store.flush()
            assert path.with_name("shop.db-wal").stat().st_size < 5_000_000
        sizes.append(path.stat().st_size)
    assert max(sizes) < 400_000  # all 60 000 events would take 2 MB


def test_a_file_shrinks_when_events_go(path, monkeypatch):
    monkeypatch.setattr(sqlite, "PAGES_FREE", 20)
    with lb.Store(path, durability="never", keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        for _ in range(5000):
            bandit.tell(bandit.ask(), 1.0)
    large = path.stat().st_size
    with lb.Store(path) as store:
        store.snapshot(NAME)
    assert path.stat().st_size < large / 2


def test_of_snapshots_that_wait_only_the_latest_stays(place):
    twin = new_bandit()
    with lb.Store(place, durability="interval", interval=60.0, snapshot_every=1) as store:
        bandit = new_bandit(store.create, name=NAME)
        store.flush()
        live([bandit, twin], range(40))  # from now on the thread waits
        assert len(store._groups._snapshots) == 1
        store.flush()
        assert count(place) <= 1
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


@pytest.mark.parametrize("waits", [False, True], ids=["each is written", "some wait"])
@pytest.mark.parametrize("keep_events", [False, True])
def test_what_is_out_at_a_snapshot(place, waits, keep_events):
    """The storage finds it in the events, but for decisions among some arms."""
    options = {"durability": "interval", "snapshot_every": 5, "keep_events": keep_events}
    twin, out = new_bandit(floor=0.05), []
    some = list(twin.arms)[:2]
    for _ in range(3):
        with lb.Store(place, interval=60.0 if waits else 0.001, **options) as store:
            if NAME in store:
                bandit = store.bandit(NAME)
            else:
                bandit = new_bandit(store.create, name=NAME, floor=0.05)
            assert [(each.arm, each.probability, each.time) for each in bandit.pending] == out
            for turn in range(40):
                for each in (bandit, twin):
                    plain, other, chosen = each.ask(), each.ask(), each.ask(among=some)
                    if turn % 3 == 0:
                        each.tell(plain, 1.0)
                    if turn % 4 == 0:
                        each.tell(chosen, 0.0)
                    if turn % 5 == 0:
                        each.forget(other)
                    if turn == 20:
                        each.observe(some[0], 1.0)
                if not waits:
                    store.flush()
            out = [(each.arm, each.probability, each.time) for each in bandit.pending]
            assert [each[:2] for each in out] == [
                (each.arm, each.probability) for each in twin.pending
            ]


def test_snapshots_that_come_while_a_group_is_written():
    """Neither those of a group that fails are lost, nor those that come meanwhile."""
    written, meanwhile = [], []

    def write(rows, snapshots):
        while meanwhile:
            groups.put([row(3)], [snapshot(3), snapshot(9, bandit=2)])
            if meanwhile.pop():
                raise lb.StoreError("no")
        written.append((rows, snapshots))

    def row(event):
        return 1, event, 0, 0, event, 0, None

    def snapshot(event, bandit=1):
        return Snapshot(bandit, event, 0, "{}", "", b"")

    for fails in (False, True):
        groups = Groups(write, 0.001)
        meanwhile.append(fails)
        groups.put([row(1), row(2)], [snapshot(1), snapshot(2)])
        with suppress(lb.StoreError):  # unless the thread had failed before, and tried again
            groups.flush()
        groups.close()
        assert [each for rows, _ in written for each in rows] == [row(1), row(2), row(3)]
        assert written[-1][1] == [snapshot(3), snapshot(9, bandit=2)]
        assert len(written) == (1 if fails else 2)
        assert fails or written[0][1] == [snapshot(2)]
        written.clear()
