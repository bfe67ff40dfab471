"""A PostgreSQL server that goes and comes back, is killed, or has no room."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from databases import fetch
from lives import NAME, live, new_bandit
from postgres_server import Server, account
from refusals import said

import lastblock as lb
from lastblock.store import unwritten
from lastblock.store.opening import open_storage
from lastblock.store.unwritten import take_in
from processes import run_trial
from trials import short_and_long

TRIALS = Path(__file__).parent / "postgres_trials.py"


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


def test_closing_waits_for_the_server_and_keeps_what_it_does_not_take(
    mortal, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    url, twin = mortal.url(schema="closing"), new_bandit()
    with lb.Store(url) as store:
        new_bandit(store.create, name=NAME)
    for comes_back in (True, False):
        store = lb.Store(url, durability="interval", interval=60.0)
        for each in (store.bandit(NAME), twin):
            each.tell_many(each.ask(5000), [1.0] * 5000)
        mortal.stop()
        if comes_back:
            with ThreadPoolExecutor(1) as thread:
                closing = thread.submit(store.close)
                while not list(tmp_path.iterdir()):
                    assert not closing.done()
                mortal.start()
                closing.result()
            assert list(tmp_path.iterdir()) == []
            continue
        monkeypatch.setattr(unwritten, "CLOSING", 0.5)
        text = said(store.close)
        (file,) = tmp_path.iterdir()
        assert f"; the last 10000 events are in the file {str(file)!r}: add them" in text
        assert file.stat().st_mode & 0o777 == 0o600
        with pytest.raises(lb.StoreError, match="is closed"):
            store.names()
        mortal.start()
        fetch(url, "UPDATE owners SET expires = now()")  # its lease ends in ten seconds
    for count in (10_000, 0):
        storage = open_storage(url, keep_events=False, sync=True)
        assert take_in(storage, file) == {NAME: count}
        storage.close()
    with lb.Store(url) as again:
        assert again.bandit(NAME).to_bytes() == twin.to_bytes()
        assert again.bandit(NAME).ask().id == twin.ask().id


@short_and_long("kills", 2, 8)
def test_kills_of_the_server(kills):
    """`python tests/store/postgres_trials.py server_kills 50` does it 50 times."""
    result = run_trial(TRIALS, "server_kills", kills)
    assert all(each["steps"] >= 5 * kills // 2 for each in result.values())


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
