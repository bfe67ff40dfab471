"""A store on PostgreSQL: what a file does not have. Leases, lost connections, migrations."""

import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from databases import count, fetch
from lives import change, new_bandit
from postgres_server import Server, account

import lastblock as lb
from lastblock.store import postgres, postgres_schema
from lastblock.store.postgres_connections import read_address
from lastblock.store.postgres_leases import clock
from lastblock.store.postgres_schema import Migration, newest
from lastblock.support.errors import StoreError

NAME = "button"
TRIALS = Path(__file__).parent / "postgres_trials.py"


def live(bandits, steps):
    for step in steps:
        for bandit in bandits:
            change(bandit, step)


def trial(name, *arguments):
    command = [sys.executable, TRIALS, name, *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def said(action):
    """The one line of a `StoreError`."""
    with pytest.raises(lb.StoreError) as caught:
        action()
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)


# Wrong addresses.


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://shop:secret@localhost:x/shop", "cannot be reached ("),
        ("postgresql://shop:secret@localhost/shop?colour=red", "has no valid URL (invalid URI"),
        ("postgresql://localhost/shop?schema=Big", "schema='Big' must be a name of lower-case"),
        ("postgresql://localhost/shop?schema=a;b", "must be a name of lower-case"),
        (f"postgresql://localhost/shop?schema={'x' * 64}", "of up to 63 characters"),
        ("mysql://localhost/shop", "no store on 'mysql://'; give the path of a file, or postgres"),
        ("postgresql://shop:secret@127.0.0.1:1/shop", "cannot be reached (connection to server at"),
        ("postgresql://no-such-host.invalid/shop", "cannot be reached ("),
    ],
)
def test_wrong_urls(url, message):
    assert message in said(lambda: lb.Store(url))


def test_a_server_that_refuses(server):
    refused = said(lambda: lb.Store(server.url(password="wrong")))
    assert refused.endswith("refuses user and password; check them in the URL")
    refused = said(lambda: lb.Store(server.url(user="nobody")))
    assert refused.endswith("refuses user and password; check them in the URL")
    refused = said(lambda: lb.Store(server.url("no_such")))
    assert "does not exist (" in refused
    assert refused.endswith("create the database with createdb, or correct the URL")


def test_a_user_without_rights(server):
    server.execute("CREATE ROLE guest LOGIN PASSWORD 'secret'")
    guest = server.url(user="guest", schema="of_others")
    refused = said(lambda: lb.Store(guest))
    assert "may not create it; ask the database's owner for: CREATE SCHEMA of_others" in refused
    with lb.Store(server.url(schema="of_others")) as store:
        new_bandit(store.create, name=NAME)
    assert "refuses this user (permission denied for" in said(lambda: lb.Store(guest).names())


def test_labels_hide_passwords():
    label = read_address("postgres://shop:secret@db:5433/shop?sslmode=disable&schema=a").label
    assert label == "the store 'postgres://shop@db:5433/shop?sslmode=disable&schema=a'"
    assert "hidden" not in read_address("postgresql:///shop?host=/run&password=hidden").label


def test_psycopg_is_optional():
    script = (
        "import sys\n"
        "sys.modules['psycopg'] = None\n"
        "import lastblock as lb\n"
        "try:\n"
        "    lb.Store('postgresql://localhost/shop')\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    assert "needs psycopg" in done.stdout
    assert "pip install 'lastblock[postgres]'" in done.stdout


# The schema.


def test_a_newer_schema(url):
    lb.Store(url).close()
    fetch(url, "INSERT INTO migrations (number, name) VALUES (99, 'future')")
    for action in (lambda: lb.Store(url), lambda: migrated(url)):
        assert f"has schema 99, this lastblock reads up to {newest()}; upgrade" in said(action)


def test_a_schema_that_was_upgraded_meanwhile(url):
    with lb.Store(url) as store:
        new_bandit(store.create, name=NAME)
        store.release(NAME)
        fetch(url, "INSERT INTO migrations (number, name) VALUES (99, 'future')")
        assert "has schema 99, this lastblock reads up to" in said(lambda: store.bandit(NAME))


def migrated(url):
    connections = postgres.Connections(read_address(url), "test")
    try:
        return postgres_schema.migrate(connections)
    finally:
        connections.close()


def test_an_older_schema_is_migrated_when_nobody_uses_it(url, monkeypatch):
    every, last = postgres_schema.migrations(), newest()
    more = [Migration(last + 1, "one", "SELECT 1"), Migration(last + 2, "two", "SELECT 1")]
    with lb.Store(url) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(20))
        monkeypatch.setattr(postgres_schema, "migrations", lambda: every + more)
        older = f"has schema {last}, this lastblock needs {last + 2}; close it everywhere and run"
        assert older in said(lambda: lb.Store(url))
        assert f"is open in process {os.getpid()} on " in said(lambda: migrated(url))
        live([bandit], range(20, 25))  # it goes on
    assert migrated(url) == more
    assert migrated(url) == []
    with lb.Store(url) as store:
        assert store.bandit(NAME).to_bytes() == bandit.to_bytes()
    assert fetch(url, "SELECT count(*) FROM log") == [(count(url),)]


def test_tables_of_others(server):
    server.execute("CREATE SCHEMA customers; CREATE TABLE customers.bandits (name text)")
    refused = said(lambda: lb.Store(server.url(schema="customers")))
    assert refused.endswith("give another one at the end of the URL: ?schema=NAME")


def test_nothing_of_a_session_stays(url):
    """So that a pooler of connections may give them to others after each transaction."""
    with lb.Store(url) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(20))
        store.verify(NAME)
        storage = store._storage
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert fetch(url, locks) == [(0,)]
        reader = storage._connections._ready()
        for connection in (storage._writer.get(), reader):
            ((path,),) = connection.execute("SHOW search_path")
            ((name,),) = connection.execute("SHOW application_name")
            assert connection.execute("SELECT name FROM pg_prepared_statements").fetchall() == []
            assert "lastblock" not in name
            assert path == '"$user", public'
        storage._connections.give(reader)


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

        threads = [threading.Thread(target=play, args=(bandit,)) for bandit in bandits]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(groups) == count(url) == 8 * 40
        assert len(groups) < sum(groups) / 2


def test_a_refusal_is_for_those_whom_it_concerns(url):
    """Two bandits share a commit, and one of them was taken over: the other one goes on."""
    with lb.Store(url) as store, lb.Store(url) as other:
        mine, stale = (new_bandit(store.create, name=name) for name in ("mine", "stale"))
        expire(url)
        other.bandit("stale").ask()
        rows = [(store._journals[n].number, 1, 0, 0, 0, 0, None) for n in ("mine", "stale")]
        calls = [postgres_call([row]) for row in rows]
        store._groups._commit(calls)
        assert calls[0].error is None
        assert "'stale' in " in str(calls[1].error)
        assert "was taken over by another Store of this process" in str(calls[1].error)
        mine._desk._is_unsure = True  # the row was written beside it
        assert mine.tell_many((), ()) is None
        assert mine.asked == 1
        assert "was taken over" in said(stale.ask)


def postgres_call(rows):
    from lastblock.store.shared_commit import _Call  # noqa: PLC0415  # here alone

    return _Call(rows, ())


@pytest.mark.parametrize("durability", ["always", "interval"])
@pytest.mark.parametrize("is_committed", [True, False])
def test_a_commit_of_which_nobody_hears(url, durability, is_committed, monkeypatch):
    """The connection breaks just before or after it: each event is written once."""
    real, hits = postgres.last_rows, []

    def last_rows(connection, queries):
        if queries.startswith("COMMIT") and len(hits) < 3:
            hits.append(queries)
            if is_committed:
                real(connection, queries)
            connection.close()
            raise postgres.psycopg.OperationalError("the server is gone")
        return real(connection, queries)

    options = {"durability": durability, "snapshot_every": 7, "keep_events": True}
    twin = new_bandit()
    with lb.Store(url, **options) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit, twin], range(20))
        store.flush()
        monkeypatch.setattr(postgres, "last_rows", last_rows)
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
        mine = other.bandit(NAME)
        assert mine.to_bytes() == bandit.to_bytes()
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


def test_the_bandits_of_a_process_that_was_killed_are_free_at_once(url):
    """On the same machine: elsewhere they are free when their leases end."""
    script = (
        "import os, signal, sys\n"
        "import lastblock as lb\n"
        "store = lb.Store(sys.argv[1])\n"
        "store.create('button', lb.LBSDALM(), arms=['red', 'green', 'blue'], seed=7).ask()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", script, url], env=environment, check=False)
    with lb.Store(url) as store:
        assert store.bandit(NAME).asked == 1
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


def test_stopped_owners_that_wake_up_later():
    """`python tests/store/postgres_trials.py takeovers 50` does it with leases of 10 seconds."""
    result = trial("takeovers", 4, 2)
    assert result["takeovers"] == result["stale owners told so"] == 4


# The server goes, and comes back.


@pytest.fixture(scope="module")
def mortal(server):
    made = Server()
    yield made
    made.close()


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_server_that_goes_and_comes_back(mortal, durability):
    url, twin = mortal.url(schema=f"s_{durability}"), new_bandit()
    store = lb.Store(url, durability=durability)
    bandit = new_bandit(store.create, name=NAME)
    live([bandit, twin], range(30))
    store.flush()
    mortal.stop()
    if durability == "interval":
        live([bandit, twin], range(30, 31))  # acknowledged before anybody could know
        said(store.flush)
    for action in (bandit.ask, bandit.reseed, store.names, lambda: store.verify(NAME)):
        assert "; c" in said(action)  # check …, or calls go on …
    if durability == "interval":
        said(store.close)  # it stays open: what was acknowledged is not written yet
    mortal.start()
    live([bandit, twin], range(31, 60))
    assert bandit.to_bytes() == twin.to_bytes()
    assert store.names() == (NAME,)
    mortal.stop()
    mortal.start()
    live([bandit, twin], range(60, 90))  # nobody noticed
    store.close()
    with lb.Store(url) as again:
        assert again.bandit(NAME).to_bytes() == twin.to_bytes()


def test_kills_of_the_server():
    """`python tests/store/postgres_trials.py server_kills 50` does it 50 times."""
    result = trial("server_kills", 4)
    assert all(each["steps"] > 20 for each in result.values())


@pytest.fixture
def small_disk(tmp_path_factory, mortal):
    """A tablespace on a disk of its own, with little room."""
    folder = mortal.folder / "small"
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("this user cannot mount a small disk")
    owner = account()
    os.chown(folder, owner["user"], owner["group"])
    mortal.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
    yield mortal.url(schema="small")
    mortal.execute("DROP SCHEMA small CASCADE")
    mortal.execute("DROP TABLESPACE small")
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_full_database(small_disk, durability):
    url, twin = small_disk, new_bandit()
    lb.Store(url).close()
    fetch(url, "ALTER TABLE events SET TABLESPACE small")
    full = "cannot grow: the server's disk is full; free some space and call again"
    with lb.Store(url, durability=durability, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit, twin], range(20))
        store.flush()
        for each in (bandit, twin):
            each.ask(3000)
        store.flush()
        if durability == "interval":
            bandit.ask(6000)  # acknowledged, and kept in memory until there is room
            twin.ask(6000)
            assert full in said(store.flush)
        for _ in range(2):
            assert full in said(lambda: bandit.ask(6000))
            assert bandit.to_bytes() == twin.to_bytes()
        fetch(url, "ALTER TABLE events SET TABLESPACE pg_default")
        for each in (bandit, twin):
            each.ask(3000)
        assert bandit.to_bytes() == twin.to_bytes()
    with lb.Store(url) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()
