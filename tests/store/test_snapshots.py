"""Snapshots of a store's bandits, and the events that they make superfluous."""

import logging
from contextlib import suppress

from databases import count
from lives import NAME, live, new_bandit

import lastblock as lb
from lastblock.store import sqlite
from lastblock.store.group_commit import Groups
from lastblock.store.storage import Snapshot

DURABILITIES = ["always", "interval", "never"]


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


def test_snapshots_that_come_while_a_group_is_written(caplog):
    """Neither those of a group that fails are lost, nor those that come meanwhile."""
    written, meanwhile = [], []

    def write(rows, snapshots):
        while meanwhile:
            groups.put([row(3)], [snapshot(3), snapshot(9, bandit=2)])
            if meanwhile.pop():
                raise OSError("the disk is full")
        written.append((rows, snapshots))

    def row(event):
        return 1, event, 0, 0, event, 0, None

    def snapshot(event, bandit=1):
        return Snapshot(bandit, event, 0, "{}", "", b"")

    caplog.set_level(logging.INFO, "lastblock")
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
    assert caplog.messages == [
        "a group of events could not be written; trying again: the disk is full",
        "the group of 3 events that could not be written is written",
    ]
