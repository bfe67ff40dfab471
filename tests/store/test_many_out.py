"""Decisions that nobody answers: a call costs the same however many are out."""

import pytest
from databases import fetch, view_of
from lives import NAME, new_bandit

import lastblock as lb
from lastblock.store import recovery
from lastblock.store.sqlite_view import SQLiteView

MANY = 8000


class Steps:
    """Counts the steps of SQLite's machine within a connection, in hundreds."""

    def __init__(self, connection):
        self._connection = connection

    def __enter__(self):
        self.count = 0
        self._connection.set_progress_handler(self._step, 100)
        return self

    def _step(self):
        self.count += 1
        return 0

    def __exit__(self, *error):
        self._connection.set_progress_handler(None, 0)


@pytest.mark.parametrize("keep_events", [False, True])
def test_a_snapshot_costs_what_happened_since_the_last_one(path, keep_events):
    with lb.Store(path, keep_events=keep_events, snapshot_every=10**9) as store:
        bandit = new_bandit(store.create, name=NAME, floor=0.1)

        def live():
            for _ in range(50):
                bandit.tell(bandit.ask(), 1.0)
            bandit.tell(bandit.pending[0] if bandit.pending else bandit.ask(), 1.0)
            bandit.ask(50)
            with Steps(store._storage._connection) as steps:
                store.snapshot(NAME)
            ((body,),) = fetch(path, "SELECT length(snapshot) FROM bandits")
            return steps.count, body

        few, small = live()
        bandit.ask(MANY)
        store.snapshot(NAME)
        for _ in range(3):
            many, large = live()
            assert many < 1.5 * few
            assert large < small + 20  # a longer number of decisions
        assert store.verify(NAME) > (MANY if keep_events else -1)
        data = bandit.to_bytes()
    with lb.Store(path) as store:
        assert store.bandit(NAME).to_bytes() == data


@pytest.mark.parametrize("what", ["verify", "export"])
def test_the_log_beside_the_file_stays_small_while_others_read(path, tmp_path, monkeypatch, what):
    """A long export or verification lets go of its moment again and again."""
    monkeypatch.setattr(recovery, "PART", 500)
    monkeypatch.setattr("lastblock.store.export.PART", 500)
    log = path.with_name("shop.db-wal")
    with lb.Store(path, durability="never", keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        for _ in range(10_000):
            bandit.tell(bandit.ask(), 1.0)
        store.flush()
        sizes = []
        real = {name: getattr(SQLiteView, name) for name in ("part", "rows")}

        def beside(name):
            """Somebody writes in each transaction of whoever reads."""

            def read(self, *arguments):
                result = real[name](self, *arguments)
                bandit.ask(5000)  # some 250 kB
                store.flush()
                sizes.append(log.stat().st_size)
                return result

            return read

        for name in real:
            monkeypatch.setattr(SQLiteView, name, beside(name))
        if what == "verify":
            assert store.verify(NAME) == 20_000
        else:
            assert store.export(NAME, tmp_path / "log.parquet", "events") == 20_000
        assert len(sizes) >= 40  # in one transaction it would be 10 MB
        assert max(sizes) < 5_000_000


def test_events_that_are_dropped_while_they_are_read(place, tmp_path, monkeypatch):
    """Whoever keeps them cannot keep another owner from pruning; then it is said what happened."""
    monkeypatch.setattr("lastblock.store.export.PART", 50)
    with lb.Store(place, keep_events=True, snapshot_every=20) as store:
        bandit = new_bandit(store.create, name=NAME)
        for _ in range(100):
            bandit.tell(bandit.ask(), 1.0)
    view = view_of(place)
    real = view.rows

    def read(self, *arguments):
        result = real(self, *arguments)
        with lb.Store(place) as other:
            other.snapshot(NAME)
        return result

    with lb.Store(place, keep_events=True) as store:
        monkeypatch.setattr(view, "rows", read)
        with pytest.raises(lb.StoreError, match="events were dropped while they were read; to"):
            store.export(NAME, tmp_path / "log.parquet")
    assert not (tmp_path / "log.parquet").exists()
