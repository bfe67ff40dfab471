"""What is read is of one moment, although others write."""

import threading

import pytest
from databases import count, view_of
from lives import NAME, live, new_bandit

import lastblock as lb
from lastblock.store.opening import is_postgres


@pytest.mark.parametrize("keep_events", [False, True])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("method", ["names", "snapshot", "last", "part", "rows", "arms"])
def test_what_is_read_is_of_one_moment(place, tmp_path, monkeypatch, keep_events, own, method):
    """Between any two reads the bandit lives on, and its events are pruned."""
    view = view_of(place)
    real, hits = getattr(view, method), []

    def read(self, *arguments, **options):
        result = real(self, *arguments, **options)
        first = 100 + 10 * len(hits)
        hits.append(method)
        live([bandit], range(first, first + 9))
        store.snapshot(NAME)
        live([bandit], [first + 9])
        return result

    with lb.Store(place, keep_events=keep_events) as store:
        bandit = new_bandit(store.create, name=NAME, floor=0.1)
        live([bandit], range(50))
        events = count(place)
        log = tmp_path / "log.parquet"
        with store if own else lb.Store(place, keep_events=keep_events) as reader:
            monkeypatch.setattr(view, method, read)
            assert reader.verify(NAME) >= (events if keep_events else 0)
            assert reader.export(NAME, log, "events") >= (events if keep_events else 0)
            reader.export(NAME, log)
            monkeypatch.undo()
            assert hits
            reader.verify(NAME)


def test_a_thread_writes_while_it_is_verified(place, tmp_path):
    with lb.Store(place, durability="interval", interval=0.001, snapshot_every=20) as store:
        bandit = new_bandit(store.create, name=NAME)
        stop = threading.Event()

        def play():
            while not stop.is_set():
                bandit.tell(bandit.ask(), 1.0)

        thread = threading.Thread(target=play)
        thread.start()
        try:
            with lb.Store(place) as other:
                for _ in range(4 if is_postgres(place) else 15):
                    for each in (store, other):
                        each.verify(NAME)
                        each.export(NAME, tmp_path / "log.parquet")
        finally:
            stop.set()
            thread.join()
        assert store.verify(NAME) <= 21


def test_a_file_that_was_replaced(path):
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)
        path.rename(path.with_name("moved.db"))
        for _ in range(2):
            with pytest.raises(lb.StoreError, match="was deleted, moved or replaced while it was"):
                store.verify(NAME)
            path.write_bytes(b"")
        path.with_name("moved.db").rename(path)
        assert store.verify(NAME) == 0
