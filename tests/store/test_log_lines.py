"""What lastblock tells its logger when it opens a bandit: what it recovers and compiles."""

import logging

import pytest

import lastblock as lb
from lastblock.kernels import jit
from lastblock.live import event_replay

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
