"""Documents beside the bandits, and word that events are written, on both kinds of store."""

import threading

import pytest

import lastblock as lb
from store.databases import count


def test_a_document_is_written_only_over_the_expected_version(place):
    with lb.Store(place) as store:
        notes = store.documents
        assert notes.put("keys", "one", 1, expected=3) is None
        assert notes.all("keys") == {}
        assert notes.put("keys", "one", 1, expected=0) == 1
        assert notes.put("keys", "one", 2, expected=0) is None
        assert notes.put("keys", "one", 2, expected=2) is None
        assert notes.put("keys", "one", {"π": [1, None]}, expected=1) == 2
        assert notes.put("keys", "two", "text") == 1
        assert notes.put("keys", "two", "more") == 2
        assert notes.put("else", "one", 1) == 1
    with lb.Store(place) as store:
        notes = store.documents
        assert notes.all("keys") == {"one": (2, {"π": [1, None]}), "two": (2, "more")}
        assert notes.drop("keys", "one")
        assert not notes.drop("keys", "one")
        assert notes.all("keys").keys() == {"two"}
        assert notes.all("else")["one"].value == 1
        assert store.names() == ()


@pytest.mark.parametrize("durability", ["always", "interval", "never"])
def test_word_comes_when_events_are_written(place, durability):
    with lb.Store(place, durability=durability, interval=60.0) as store:
        bandit = store.create("button", lb.LBSDAGM(), ["red", "green", "blue"], seed=1)
        for _ in range(3):
            bandit.tell(bandit.ask(), 1.0)
        told, heard = threading.Event(), []
        store.when_written(lambda error: (heard.append((error, count(place))), told.set()))
        assert told.wait(30)
        assert heard == [(None, 6)]
        store.when_written(heard.append)
        assert heard[1:] == [None]
        assert store.backlog == (0, None)


def test_word_comes_of_a_failure_and_the_events_stay(tmp_path, monkeypatch):
    with lb.Store(tmp_path / "shop.db", durability="interval", interval=60.0) as store:
        bandit = store.create("button", lb.LBSDAGM(), ["red", "green", "blue"], seed=1)
        groups, write = store._groups, store._groups._write

        def fail(rows, snapshots):
            raise lb.StoreError("the disk is full")

        groups._write = fail
        bandit.ask()
        told, heard = threading.Event(), []
        store.when_written(lambda error: (heard.append(str(error)), told.set()))
        assert told.wait(30)
        assert heard == ["the disk is full"]
        assert store.backlog == (1, "the disk is full")
        groups._write = write
        store.flush()
        assert store.backlog == (0, None)
        assert count(tmp_path / "shop.db") == 1
