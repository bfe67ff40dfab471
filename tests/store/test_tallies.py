"""Decisions and rewards counted by time, on both kinds of store."""

from collections import Counter

import pytest

import lastblock as lb

ARMS = ["red", "green", "blue"]
MILLISECOND = 1000


def counted(store, length, after):
    """The same counts from every event, one by one."""
    asked, told, total, squares = (Counter() for _ in range(4))
    for event in store.events("button", after=after, limit=100_000):
        key = event.time // length, event.arm
        if event.kind in ("ask", "ask_among"):
            asked[key] += 1
        if event.kind == "tell":
            told[key] += 1
            total[key] += event.value
            squares[key] += event.value * event.value
    return {key: (asked[key], told[key], total[key], squares[key]) for key in asked | told}


def test_the_database_counts_what_the_log_holds(place):
    with lb.Store(place, durability="interval", keep_events=True) as store:
        bandit = store.create("button", lb.LBSDAGM(), ARMS, seed=1)
        for step in range(200):
            decision = bandit.ask(among=["red", "blue"]) if step % 5 == 0 else bandit.ask()
            if step % 9:
                bandit.tell(decision, 0.5 * (step % 4) - 1.0)
        bandit.observe("red", 0.25)  # a reward without a decision
        bandit.add_arm("gold")
        bandit.set_floors(0.1)
        bandit.pause_arm("green")
        bandit.tell(bandit.ask(), 1e200)  # its square is too large for a number
        store.flush()
        last = store.last_event("button")
        for after, most in ((None, 10**6), (150, 10**6), (None, 60)):
            spans = []
            found = store.tally(
                "button",
                length=lambda span, spans=spans: spans.append(span) or 5 * MILLISECOND,
                after=after,
                most=most,
            )
            assert (found.labels, found.until) == ([*ARMS, "gold"], last)
            begin = max(after or 0, last - most)
            events = store.events("button", after=begin, limit=1000)
            assert spans == [events[-1].time - events[0].time]
            assert [each[1:] for each in found.milestones] == [
                ("add_arm", "gold"),
                ("set_floors", None),
                ("pause_arm", "green"),
            ]
            assert found.milestones[0][0] >= events[0].time
            wanted = counted(store, 5 * MILLISECOND, begin)
            got = {(each.stretch, found.labels[each.arm]): each[2:] for each in found.tallies}
            assert got.keys() == wanted.keys()
            for key, counts in got.items():
                if key[1] != "gold":
                    assert counts == pytest.approx(wanted[key])
                else:
                    assert counts[:3] == pytest.approx(wanted[key][:3])
        assert store.tally("button", length=lambda span: MILLISECOND, after=last).tallies == []
        with pytest.raises(lb.StoreError, match="no bandit 'knob'"):
            store.tally("knob", length=lambda span: MILLISECOND)
