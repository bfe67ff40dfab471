"""A store has the code that repeats its events compiled before somebody waits for it."""

import numpy as np
import pytest

import lastblock as lb
from lastblock.live import event_replay
from lastblock.live.bandit import desk_of
from lastblock.live.event_replay import FEW, MANY, repeat_soon
from lastblock.store import journal


def test_many_events_have_their_loop_compiled_in_the_background(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(journal, "repeat_soon", lambda live: asked.append(live) or object())
    with lb.Store(tmp_path / "s.db", durability="never") as store:
        bandit = store.create("b", lb.UCB1(), 2, seed=1)
        first, second, *_ = bandit.ask(FEW)
        assert asked == []  # plain Python repeats so few
        bandit.tell(first, 1.0)
        bandit.tell(second, 1.0)
        assert asked == [desk_of(bandit).live]


def test_the_loop_that_is_compiled_is_the_one_that_repeats():
    bandit = lb.Bandit(lb.UCB1(), 2, seed=1)
    live = desk_of(bandit).live
    kernel = repeat_soon(live)
    kernel.wait()
    run, places = np.zeros((FEW + 1, 4)), np.arange(2)
    used = event_replay._kernel(event_replay._arguments(live, run, 0, places), FEW + 1)
    assert used is (kernel.code or event_replay.plain(event_replay.relive))


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_the_few_events_of_many_bandits_are_many(is_on_disk, monkeypatch):
    """Compiled code is loaded when it is worth it; to compile must be worth more."""
    monkeypatch.setattr(event_replay, "_repeated", {})
    monkeypatch.setattr(event_replay, "is_kept", lambda *_: is_on_disk)
    arguments = event_replay._arguments(
        desk_of(lb.Bandit(lb.UCB1(), 2, seed=1)).live, np.zeros((FEW, 4)), 0, np.arange(2)
    )
    assert not event_replay._is_due(arguments, FEW)
    assert event_replay._is_due(arguments, 1) == is_on_disk
    assert not event_replay._is_due(arguments, 1)  # if it could not be loaded, it is not now
    event_replay._is_due(arguments, MANY - FEW - 2)
    assert event_replay._is_due(arguments, 1)
