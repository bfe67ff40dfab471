"""Times of decisions in a store: decisions expire by the clock, and replays read none."""

from datetime import UTC, datetime, timedelta

import pytest
from databases import fetch
from lives import NAME, change, facts, new_bandit

import lastblock as lb
from lastblock.live import clock

HOUR = 3_600_000_000
BEGIN = 1_700_000_000_000_000


def utc(microseconds):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)


def test_decisions_expire_by_the_clock(place, now):
    with lb.Store(place, snapshot_every=6) as store:
        bandit = new_bandit(store.create, name=NAME)
        asked = []
        for _ in range(8):
            asked.append(bandit.ask())
            now[0] += HOUR
        bandit.tell(asked[2], 1.0)
        assert bandit.expire(older_than=timedelta(hours=9)) == ()
        gone = bandit.expire(older_than=timedelta(hours=6, microseconds=-1), reward=0.0)
        assert [old.id for old in gone] == [asked[0].id, asked[1].id]
        assert gone[0].time == utc(BEGIN)
        for decision in asked[:2]:
            with pytest.raises(
                lb.ExpiredDecisionError, match="waits for no reward any more: it has expired"
            ):
                store.tell(decision.token, 1.0)
    with lb.Store(place, snapshot_every=6) as store:
        bandit = store.bandit(NAME)
        gone = bandit.expire(older_than=timedelta(hours=3))  # more than three
        assert [old.id for old in gone] == [decision.id for decision in asked[3:5]]
        assert sum(bandit.pulls.values()) == 3
        with pytest.raises(lb.ExpiredDecisionError, match="it has expired"):
            store.tell(asked[3].token, 1.0)
        assert len(bandit.expire(older_than=0)) == 2  # by number, as before
        store.verify(NAME)
        with pytest.raises(ValueError, match="must not be negative"):
            bandit.expire(older_than=timedelta(-1))


def test_a_clock_that_is_put_back(place, now):
    with lb.Store(place) as store:
        bandit = new_bandit(store.create, name=NAME)
        first = bandit.ask()
        now[0] -= 5 * HOUR
        second = bandit.ask()
        assert second.time == first.time
        now[0] += HOUR  # time goes on from there
        assert bandit.ask().time == utc(BEGIN + HOUR)
        assert len(bandit.expire(older_than=timedelta(minutes=30), reward=0.0)) == 2
    now[0] -= 100 * HOUR
    with lb.Store(place) as store:
        bandit = store.bandit(NAME)
        fourth = bandit.ask()
        assert fourth.time == utc(BEGIN + HOUR)
        now[0] += 2 * HOUR
        assert len(bandit.expire(older_than=timedelta(hours=1))) == 2
        store.snapshot(NAME)
    now[0] -= 100 * HOUR
    with lb.Store(place) as store:
        assert store.bandit(NAME).ask().time == utc(BEGIN + 3 * HOUR)
        times = [time for (time,) in fetch(place, "SELECT time FROM events ORDER BY event")]
        assert times == sorted(times)


def test_replays_read_no_clock(place, now, monkeypatch):
    with lb.Store(place, keep_events=True, snapshot_every=13) as store:
        bandit = new_bandit(store.create, name=NAME, remember=timedelta(minutes=90))
        for step in range(60):
            now[0] += HOUR // 10
            change(bandit, step)
            bandit.ask(key=f"key {step}")
            bandit.expire(older_than=timedelta(hours=1), reward=0.0)
        state = facts(bandit)

        def stopped():
            raise AssertionError("a replay has read the clock")

        monkeypatch.setattr(clock, "time_ns", stopped)
        assert store.verify(NAME) > 120
    with lb.Store(place, keep_events=True) as store:
        assert facts(store.bandit(NAME)) == state


def test_activation_starts_the_clock_again(place, now):
    with lb.Store(place, snapshot_every=3) as store:
        bandit = new_bandit(store.create, name=NAME)
        ahead, shown, told = bandit.ask(3)
        bandit.tell(told.token, 1.0)
        now[0] += 5 * HOUR
        bandit.activate(shown.token)
        bandit.activate(shown)
        with pytest.raises(lb.SettledDecisionError, match="told already"):
            bandit.activate(told.token)
        now[0] += HOUR
        assert [pending.time for pending in bandit.pending] == [ahead.time, utc(BEGIN + 5 * HOUR)]
        state = facts(bandit)
    with lb.Store(place, snapshot_every=3) as store:
        bandit = store.bandit(NAME)
        assert facts(bandit) == state
        gone = bandit.expire(older_than=timedelta(hours=2))
        assert [old.id for old in gone] == [ahead.id]
        now[0] += 2 * HOUR
        assert [old.id for old in bandit.expire(older_than=timedelta(hours=2))] == [shown.id]
        assert not bandit._desk.ledger.activated
        with pytest.raises(lb.ExpiredDecisionError, match="it has expired"):
            bandit.activate(shown.token)
