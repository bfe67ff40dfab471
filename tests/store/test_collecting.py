"""Several rewards of a decision in a store: each is an event, and nothing counts twice."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from databases import fetch, given
from lives import NAME, new_bandit

import lastblock as lb
from lastblock.store.opening import is_postgres
from processes import run_trial
from trials import short_and_long

TRIALS = Path(__file__).parent / "store_trials.py"


def test_a_retried_reward_counts_once(place):
    with lb.Store(place, snapshot_every=3) as store:
        bandit = new_bandit(store.create, name=NAME, rewards="sum")
        token = bandit.ask().token
        for _ in range(3):
            bandit.tell(token, 2.0, key="order 1")
        bandit.tell(token, 2.0)
        bandit.tell(bandit.ask(), 0.0)
        bandit.ask(5)
    with lb.Store(place, snapshot_every=3) as store:
        store.tell(token, 2.0, key="order 1")
        with pytest.raises(lb.KeyReusedError, match=r"with the reward 2\.0 before, now with 3\.0"):
            store.tell(token, 3.0, key="order 1")
        bandit = store.bandit(NAME)
        for _ in range(2):
            assert bandit.close(token) == 4.0
    with lb.Store(place, snapshot_every=3) as store:
        store.tell(token, 2.0, key="order 1")  # once more, after it was closed
        with pytest.raises(lb.ExpiredDecisionError, match="was closed") as error:
            store.tell(token, 2.0, key="order 2")
        assert (error.value.outcome, error.value.reward) == ("closed", 4.0)


def test_a_window_by_the_clock(place, now):
    with lb.Store(place) as store:
        bandit = new_bandit(store.create, name=NAME, rewards="max")
        bought, left = bandit.ask(2)
        store.tell(bought.token, 3.0)
        now[0] += 7_200_000_001
        store.tell(bought.token, 5.0)  # late, but nobody has closed it
        gone = bandit.expire(older_than=timedelta(hours=2), reward=0.0)
        assert [old.id for old in gone] == [bought.id, left.id]
        told = fetch(place, "SELECT decision, reward FROM events WHERE kind = 1 ORDER BY event")
        assert told == [(0, 5.0), (1, 0.0)]


def test_deferred_rewards_are_told_in_the_order_in_which_windows_end(place, now):
    hour = 3_600_000_000
    with lb.Store(place, snapshot_every=3) as store:
        bandit = new_bandit(store.create, name=NAME)
        shown_later, bought, _ = (each.token for each in bandit.ask(3))
        now[0] += hour
        bandit.activate(shown_later)
        for _ in range(2):
            store.tell(shown_later, 0.5, defer=True)
            store.tell(bought, 1.0, defer=True)
    with lb.Store(place) as store:
        bandit = store.bandit(NAME)
        for _ in range(2):
            store.tell(bought, 1.0)
            with pytest.raises(lb.ToldOtherwiseError):
                store.tell(bought, 0.0)
            with pytest.raises(lb.SettledDecisionError):
                bandit.activate(bought)
            bandit.expire(older_than=timedelta(hours=2), reward=0.0)
            now[0] += 3 * hour
        told = fetch(place, "SELECT decision, reward FROM events WHERE kind = 1 ORDER BY event")
        assert told == [(1, 1.0), (2, 0.0), (0, 0.5)]


def test_the_log_has_it_all(place, tmp_path):
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    with lb.Store(place, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME, rewards="sum")
        decision = bandit.ask(key="a")
        other = bandit.ask()
        bandit.activate(decision)
        bandit.tell(decision, 1.0, key="b")
        bandit.tell(decision, 2.0)
        bandit.close(decision.token)
        bandit.close(other, reward=0.0)
        assert store.export(NAME, tmp_path / "log.parquet") == 2
        assert store.export(NAME, tmp_path / "events.parquet", "events") == 9
    rows = pq.read_table(tmp_path / "log.parquet").to_pylist()
    assert [row["reward"] for row in rows] == [3.0, 0.0]
    assert [row["key"] for row in rows] == ["a", None]
    assert [row["asked"] for row in rows] == [decision.time, other.time]
    events = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert [row["kind"] for row in events] == [
        *("ask", "remember", "ask", "activate", "partial", "partial"),
        *("tell", "remember", "tell"),
    ]
    partial = [json.loads(row["extra"]) for row in events if row["kind"] == "partial"]
    assert partial == [[1.0, "b"], [2.0, None]]
    kinds = fetch(place, "SELECT kind FROM log ORDER BY event")
    assert [kind for (kind,) in kinds] == [row["kind"] for row in events]


@short_and_long("kills", {"sqlite": 4, "postgres": 2}, {"sqlite": 30, "postgres": 10})
def test_kills_with_retries(place, kills):
    """`python tests/store/store_trials.py retries PLACE 300 5` kills it 300 times."""
    number = kills["postgres" if is_postgres(place) else "sqlite"]
    assert run_trial(TRIALS, "retries", given(place), number, 5)["steps"] > 1
