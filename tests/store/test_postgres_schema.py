"""Stores on PostgreSQL: wrong addresses, and the schema with its migrations."""

import os

import pytest
from databases import count, fetch
from lives import NAME, live, new_bandit
from refusals import said

import lastblock as lb
from lastblock.store import postgres, postgres_schema, schema
from lastblock.store.postgres_connections import read_address
from lastblock.store.schema import Migration, migrations, newest
from processes import run_python

# Wrong addresses.


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://shop:secret@localhost:x/shop", "cannot be reached ("),
        ("postgresql://shop:secret@localhost/shop?colour=red", "has no valid URL (invalid URI"),
        ("postgresql://localhost/shop?schema=Big", "schema='Big' must be a name of lower-case"),
        ("postgresql://localhost/shop?schema=a;b", "must be a name of lower-case"),
        (f"postgresql://localhost/shop?schema={'x' * 64}", "of up to 63 characters"),
        ("postgresql://shop:secret@127.0.0.1:1/shop", "cannot be reached (connection to server at"),
        (
            "postgres://shop:secret@127.0.0.1:1/shop?sslmode=disable&schema=a",
            "the store 'postgres://shop@127.0.0.1:1/shop?sslmode=disable&schema=a' cannot be",
        ),
        ("postgresql:///shop?host=/no/such&password=secret", "cannot be reached ("),
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
    done = run_python("-c", script)
    assert done.returncode == 0, done.stderr
    assert "needs psycopg" in done.stdout
    assert "pip install 'lastblock[postgres]'" in done.stdout


# The schema.


def test_a_schema_that_was_upgraded_meanwhile(url):
    newer = f"has format 99, this lastblock reads up to {newest('postgresql')}; upgrade"
    with lb.Store(url) as store:
        new_bandit(store.create, name=NAME)
        store.release(NAME)
        fetch(url, "INSERT INTO migrations (number, name) VALUES (99, 'future')")
        for action in (lambda: store.bandit(NAME), lambda: lb.Store(url), lambda: migrated(url)):
            assert newer in said(action)


def migrated(url):
    connections = postgres.Connections(read_address(url), "test")
    try:
        return postgres_schema.migrate(connections)
    finally:
        connections.close()


def test_an_older_schema_is_migrated_when_nobody_uses_it(url, monkeypatch):
    every, last = migrations("postgresql"), newest("postgresql")
    more = [Migration(last + 1, "one", "SELECT 1"), Migration(last + 2, "two", "SELECT 1")]
    with lb.Store(url) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(20))
        for module in (schema, postgres_schema):
            monkeypatch.setattr(module, "migrations", lambda database: every + more)
        older = f"has format {last}, this lastblock needs {last + 2}; close it everywhere and run"
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
