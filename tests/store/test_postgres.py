"""A store on PostgreSQL: what a file does not have. Shared commits, and leases."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from databases import count, fetch
from lives import NAME, change, live, new_bandit, skip_lost
from refusals import said

import lastblock as lb
from lastblock.store import postgres, postgres_connections
from lastblock.store.group_commit import _Call
from lastblock.store.postgres_leases import clock
from lastblock.support.errors import StoreError
from processes import run_trial
from trials import short_and_long

TRIALS = Path(__file__).parent / "postgres_trials.py"


def test_connections_that_fail_hold_readers_up_for_a_moment_only(url, monkeypatch):
    """The pool gives up after two of them; a caller that went on waiting would wait in vain."""
    pool = postgres_connections.ConnectionPool
    real, hits = pool._connect, []

    def connect(self, timeout=None):
        hits.append(self)
        if len(hits) <= 2:
            raise postgres.psycopg.OperationalError("server closed the connection")
        return real(self, timeout)

    monkeypatch.setattr(pool, "_connect", connect)
    monkeypatch.setattr(postgres_connections, "AGAIN", 0.3)
    began = time.monotonic()
    lb.Store(url).close()
    assert len(hits) > 2
    assert time.monotonic() - began < 0.5 * postgres_connections.PATIENCE


# Commits.


def test_threads_share_a_commit(url):
    """The calls that come while one commit is under way have the next one together."""
    with lb.Store(url, keep_events=True) as store:
        bandits = [new_bandit(store.create, name=f"bandit {i}") for i in range(8)]
        groups, write = [], store._groups._write

        def counted(rows, snapshots):
            groups.append(len(rows))
            write(rows, snapshots)

        store._groups._write = counted

        def play(bandit):
            for _ in range(20):
                bandit.tell(bandit.ask(), 1.0)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(play, bandits))
        assert sum(groups) == count(url) == 8 * 40
        assert len(groups) < sum(groups) / 2


def test_a_refusal_is_for_those_whom_it_concerns(url):
    """Two bandits share a commit, and one of them was taken over: the other one goes on."""
    with lb.Store(url) as store, lb.Store(url) as other:
        mine, stale = (new_bandit(store.create, name=name) for name in ("mine", "stale"))
        expire(url)
        other.bandit("stale").ask()
        rows = [(store._journals[n].number, 1, 0, 0, 0, 0, None) for n in ("mine", "stale")]
        calls = [_Call([row], ()) for row in rows]
        store._groups._commit(calls)
        assert calls[0].error is None
        assert "'stale' in " in str(calls[1].error)
        assert "was taken over by another Store of this process" in str(calls[1].error)
        mine._desk._is_unsure = True  # the row was written beside it
        assert mine.tell_many((), ()) is None
        assert mine.asked == 1
        assert "was taken over" in said(stale.ask)


def test_a_new_bandit_has_its_holder_at_once(url, monkeypatch):
    """If the process were killed before it takes the lease, others would find who that was."""
    with lb.Store(url) as store, lb.Store(url) as other:
        seen, own = [], postgres.PostgresStorage.own

        def look(storage, bandits):
            seen.append(other.holders()[NAME].holder)
            return own(storage, bandits)

        monkeypatch.setattr(postgres.PostgresStorage, "own", look)
        new_bandit(store.create, name=NAME)
        assert seen == [store.holder]


def break_commits(monkeypatch, hits, most, *, is_committed):
    """Break the connection of that which writes just before or after its next commits."""
    real = postgres.last_rows

    def last_rows(connection, queries):
        if queries.startswith("COMMIT") and len(hits) < most:
            hits.append(queries)
            if is_committed:
                real(connection, queries)
            connection.close()
            raise postgres.psycopg.OperationalError("the server is gone")
        return real(connection, queries)

    monkeypatch.setattr(postgres, "last_rows", last_rows)


@pytest.mark.parametrize("durability", ["always", "interval"])
@pytest.mark.parametrize("is_committed", [True, False])
def test_a_commit_of_which_nobody_hears(url, durability, is_committed, monkeypatch):
    """The connection breaks just before or after it: each event is written once."""
    hits = []
    options = {"durability": durability, "snapshot_every": 7, "keep_events": True}
    twin = new_bandit()
    with lb.Store(url, **options) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit, twin], range(20))
        store.flush()
        break_commits(monkeypatch, hits, 3, is_committed=is_committed)
        for step in range(20, 60):
            before = store._journals[NAME].event
            try:
                change(bandit, step)
                store.flush()
            except lb.StoreError as error:
                refusal = str(error)
                bandit.tell_many((), ())
                if store._journals[NAME].event == before:
                    continue
                assert "cannot be reached (the server is gone)" in refusal
            change(twin, step)
            assert bandit.to_bytes() == twin.to_bytes()
        assert len(hits) == 3
        assert store.verify(NAME) == count(url)
    with lb.Store(url) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_call_of_unknown_outcome_takes_effect_once_if_it_is_made_again(
    url, is_committed, monkeypatch
):
    """Its error says so; the key of an ask and the token of a tell make them the same call."""
    with lb.Store(url, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        tokens = []
        for act in (
            lambda: tokens.append(bandit.ask(key="one").token),
            lambda: bandit.tell(tokens[-1], 1.0),
        ):
            break_commits(monkeypatch, [], 2, is_committed=is_committed)
            assert "whether the call took effect is unknown: make it again" in said(act)
            act()
            act()
        assert tokens[0] == tokens[1]
        assert (bandit.asked, sum(bandit.pulls.values())) == (1, 1)
        assert count(url, where="kind = 0") == count(url, where="kind = 1") == 1
        assert store.verify(NAME) == count(url)


# Owners.


def expire(url):
    fetch(url, "UPDATE owners SET expires = now() - interval '1 s'")


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_stale_owner_cannot_write(url, durability):
    """Not even one that has not noticed: its epoch is not the latest one."""
    with lb.Store(url, durability=durability) as store, lb.Store(url) as other:
        bandit, free = (new_bandit(store.create, name=name) for name in (NAME, "free"))
        live([bandit, free], range(20))
        store.flush()
        epoch = fetch(url, "SELECT epoch FROM owners WHERE bandit = 1")
        expire(url)
        mine, copy = other.bandit(NAME), bandit.copy()
        skip_lost(copy, mine)  # a stale owner may give ids until it learns that it is one
        assert mine.to_bytes() == copy.to_bytes()
        assert fetch(url, "SELECT epoch FROM owners WHERE bandit = 1") == [(epoch[0][0] + 1,)]
        mine.ask()
        before = count(url)
        if durability == "interval":
            bandit.ask()  # acknowledged, since the lease lasts as far as this store knows
            free.ask()
            with suppress(lb.StoreError):  # unless it has been told already
                store.flush()
            store.flush()  # what it had of the others is written
            assert free.asked == store.bandit("free").asked
            before += 1
        for action in (bandit.ask, bandit.reseed, lambda: bandit.ask(3)):
            assert "'button' in " in said(action)
            assert "was taken over by another Store of this process, since this" in said(action)
        assert "is open in another Store of this process" in said(lambda: store.bandit(NAME))
        assert count(url) == before
        live([free], range(20, 30))
        other.close()
        assert store.bandit(NAME).to_bytes() == mine.to_bytes()
        assert store.bandit(NAME) is not bandit


def test_a_stale_owner_does_not_become_what_the_next_one_made(url):
    """After an error it would read itself again: it must not read the events of another."""
    with lb.Store(url) as store, lb.Store(url) as other:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(20))
        expire(url)
        other.bandit(NAME).ask(5)
        bandit._desk._is_unsure = True
        before = bandit.to_bytes()
        assert "was taken over" in said(lambda: bandit.tell_many((), ()))
        assert bandit.to_bytes() == before
        assert "was taken over" in said(bandit.ask)


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_an_owner_that_cannot_renew_stops_deciding(url, durability, monkeypatch):
    """Before the lease ends; it goes on when it can renew it again."""
    with lb.Store(url, durability=durability) as store:
        bandit, twin = new_bandit(store.create, name=NAME), new_bandit()
        live([bandit, twin], range(10))
        leases = store._storage._leases
        with leases._renewing:  # the server does not answer
            ends = leases._until[store._journals[NAME].number]
            ((left,),) = fetch(
                url, "SELECT extract(epoch FROM expires - clock_timestamp())::float8 FROM owners"
            )
            assert 0.0 < left - (ends - clock()) < 2.0
        real = leases._renewed
        monkeypatch.setattr(leases, "_renewed", lambda: broken(store._storage.label))
        monkeypatch.setattr(leases, "_tried", -1e9)
        leases._until[store._journals[NAME].number] = 0.0
        before = bandit.to_bytes()
        for action in (bandit.ask, bandit.reseed):
            assert "has not renewed its leases (does not answer); no bandit decides" in said(action)
            assert bandit.to_bytes() == before == twin.to_bytes()
        monkeypatch.setattr(leases, "_renewed", real)
        leases._tried = -1e9
        live([bandit, twin], range(10, 20))
        assert bandit.to_bytes() == twin.to_bytes()


def broken(label):
    raise StoreError(f"{label} does not answer")


def test_the_bandits_of_another_machine_are_free_when_their_leases_end(url):
    """On the same machine they are free at once when their process was killed."""
    with lb.Store(url) as store:
        new_bandit(store.create, name=NAME)
        store.release(NAME)
        fetch(
            url,
            "UPDATE owners SET holder = 'x', process = 7, host = 'web-2', identity = 'a b 7 c', "
            "expires = now() + interval '1 h'",
        )
        assert "is open in process 7 on web-2; close it there first" in said(
            lambda: store.bandit(NAME)
        )
        assert "is open in process 7 on web-2" in said(lambda: store.delete(NAME))
        expire(url)
        store.bandit(NAME).ask()


@short_and_long("takeovers", 2, 10)
def test_stopped_owners_that_wake_up_later(takeovers):
    """`python tests/store/postgres_trials.py takeovers 50` does it with leases of 10 seconds."""
    result = run_trial(TRIALS, "takeovers", takeovers, 2)
    assert result["takeovers"] == result["stale owners told so"] == takeovers
