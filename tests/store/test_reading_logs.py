"""Events from the log, and explanations of past decisions, on both kinds of store."""

import pytest

import lastblock as lb

ARMS = ["red", "green", "blue"]


def live(bandit, steps, explanations=None, without=None):
    for step in range(steps):
        decision = bandit.ask(without=without)
        if explanations is not None:
            explanations[decision.id] = bandit.explain()
        bandit.tell(decision, float(step * 7 % 5 == 0))


def test_past_decisions_are_explained_as_they_were(place):
    explanations = {}
    with lb.Store(place, durability="interval", keep_events=True, snapshot_every=40) as store:
        bandit = store.create("button", lb.LBSDAGM(), ARMS, seed=1)
        live(bandit, 60, explanations)
    with lb.Store(place, durability="interval", keep_events=True, snapshot_every=40) as store:
        bandit = store.bandit("button")
        bandit.add_arm("gold")
        live(bandit, 60, explanations)
        bandit.retire_arm("red")
        live(bandit, 20, explanations)
        live(bandit, 20, explanations, without=["green"])
        for id in list(explanations)[::17]:
            assert store.explain("button", id) == explanations[id], id
        with pytest.raises(lb.UnknownDecisionError):
            store.explain("button", 10_000_000)


def test_decisions_that_were_not_kept_cannot_be_explained(place):
    with lb.Store(place, durability="interval", snapshot_every=40) as store:
        bandit = store.create("button", lb.LBSDAGM(), ARMS, seed=1)
        live(bandit, 60)
        store.snapshot("button")
        with pytest.raises(lb.UnknownDecisionError, match="keep_events=True"):
            store.explain("button", 3)


def test_events_are_read_in_parts(place):
    with lb.Store(place, durability="interval", keep_events=True) as store:
        bandit = store.create("button", lb.LBSDAGM(), ARMS, seed=1, floor=0.1)
        first = bandit.ask()
        bandit.tell(first, 0.5)
        bandit.add_arm("gold")
        second = bandit.ask()
        bandit.forget(second)
        store.flush()
        found = store.events("button")
        assert [each.event for each in found] == [1, 2, 3, 4, 5]
        assert [each.kind for each in found] == ["ask", "tell", "add_arm", "ask", "forget"]
        assert [each.id for each in found] == [first.id, first.id, None, second.id, second.id]
        assert found[0].value == first.probability
        assert found[1].value == 0.5
        assert [each.arm for each in found[:4]] == [first.arm, first.arm, "gold", second.arm]
        assert found[2].extra == '"gold"'
        assert store.events("button", after=3, limit=1) == found[3:4]
        assert store.events("button", after=9) == []
        assert store.last_event("button") == 5
        with pytest.raises(lb.StoreError, match="no bandit 'other'"):
            store.events("other")
