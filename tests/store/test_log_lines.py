"""What lastblock tells its logger when it opens a bandit: what it recovers and compiles."""

import logging

import pytest

import lastblock as lb
from lastblock.kernels import jit
from lastblock.live import event_replay


@pytest.mark.parametrize("few", [10, 1000])
def test_opening_a_bandit(few, path, caplog, monkeypatch):
    """Few events are repeated in plain Python; for many of them we compile, and say so."""
    with lb.Store(path, durability="never") as store:
        bandit = store.create("button", lb.LBSDAGM(), arms=3, seed=1)
        for decision in bandit.ask(20):
            bandit.tell(decision, 1.0)
    monkeypatch.setattr(event_replay, "FEW", few)
    monkeypatch.setattr(event_replay, "_repeated", {})
    monkeypatch.setattr(event_replay, "specialised_before", lambda *_: None)
    caplog.set_level(logging.INFO, "lastblock")
    with lb.Store(path) as store:
        assert store.bandit("button").to_bytes() == bandit.to_bytes()
    (opened,) = [line for line in caplog.messages if line.startswith("opened")]
    assert opened.endswith("shop.db': 40 events since its snapshot")
    compiled = [line for line in caplog.messages if "to repeat 40 events" in line]
    assert len(compiled) == (few == 10 and not jit.DISABLED)
