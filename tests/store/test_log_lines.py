"""What lastblock tells its logger: what was opened, recovered, written again, noticed, compiled."""

import logging
import threading

import pytest

import lastblock as lb
from lastblock.kernels import jit
from lastblock.live import event_replay
from lastblock.store.group_commit import Groups
from lastblock.support.errors import StoreError

POLICY = lb.LBSDAGM()


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "lastblock")
    return caplog


def stored(path, events):
    """Make a bandit with this number of events in a file."""
    with lb.Store(path, durability="never") as store:
        bandit = store.create("button", POLICY, arms=3, seed=1)
        for decision in [bandit.ask() for _ in range(events // 2)]:
            bandit.tell(decision, 1.0)
        return bandit.to_bytes()


@pytest.mark.parametrize("few", [10, 1000])
def test_opening_a_bandit(few, tmp_path, lines, monkeypatch):
    """Few events are repeated in plain Python; for many of them we compile, and say so."""
    before = stored(tmp_path / "shop.db", 40)
    monkeypatch.setattr(event_replay, "FEW", few)
    monkeypatch.setattr(event_replay, "_repeated", {})
    monkeypatch.setattr(event_replay, "specialised_before", lambda *_: None)
    lines.clear()
    with lb.Store(tmp_path / "shop.db") as store:
        assert store.bandit("button").to_bytes() == before
    (opened,) = [line for line in lines.messages if line.startswith("opened")]
    assert opened.endswith("shop.db': 40 events since its snapshot")
    compiled = [line for line in lines.messages if "to repeat 40 events" in line]
    assert len(compiled) == (few == 10 and not jit.DISABLED)


def test_a_group_that_fails_and_is_written_later(lines):
    fails, done = [OSError("the disk is full")], threading.Event()

    def write(rows, snapshots):
        if fails:
            raise fails.pop()
        done.set()

    groups = Groups(write, 0.001)
    groups.put([(1, 1, 0, 0, 0, 0, None)], [])
    with pytest.raises(StoreError, match="the disk is full"):
        groups.flush()
    groups.flush()
    groups.close()
    assert lines.messages == [
        "a group of events could not be written; trying again: the disk is full",
        "the group of 1 events that could not be written is written",
    ]
