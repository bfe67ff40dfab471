"""A bandit has one owner whatever its file is called; nothing is written to a file that left."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest
from databases import fetch
from lives import NAME, live, new_bandit, skip_lost

import lastblock as lb
from lastblock.store import owners
from processes import run_python


@pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
def test_files_are_private_whatever_the_umask_and_open_ones_are_named_once(path, caplog):
    before = os.umask(0)
    try:
        with lb.Store(path) as store:
            new_bandit(store.create, name=NAME).ask()
            store.flush()
            modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    finally:
        os.umask(before)
    names = [f"{path.name}{side}" for side in ("", "-wal", "-shm")]
    assert modes == dict.fromkeys(names, 0o600)
    assert not caplog.records
    path.chmod(0o640)
    for _ in range(2):
        lb.Store(path).close()
    (record,) = caplog.records
    assert f"can open '{path}' (mode 640)" in record.getMessage()
    assert "run chmod 600 on it" in record.getMessage()


def test_a_symbolic_link_leads_to_the_same_owner(path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)
        link.symlink_to(path)
        with (
            lb.Store(link) as other,
            pytest.raises(lb.StoreError, match="is open in another Store of this process"),
        ):
            other.bandit(NAME)
    with lb.Store(link) as store:
        store.bandit(NAME).ask()
        assert (tmp_path / "shop.db-wal").exists()
    with lb.Store(path) as store:
        assert store.bandit(NAME).asked == 1


def test_a_hard_link_is_refused(path):
    other = path.with_name("other.db")
    with lb.Store(path) as store:
        bandit = new_bandit(store.create, name=NAME)
        os.link(path, other)
        for _ in range(2):
            with pytest.raises(lb.StoreError, match=r"has 2 names \(hard links\), and SQLite"):
                lb.Store(other)
        bandit.ask()  # whoever had it before goes on
    other.unlink()
    with lb.Store(path) as store:
        assert store.bandit(NAME).asked == 1


def test_a_moved_file_keeps_its_owner(path):
    moved = path.with_name("moved.db")
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)
        path.rename(moved)
        with (
            pytest.raises(lb.StoreError, match="is open under another name, since it was moved"),
        ):
            lb.Store(moved)
        moved.rename(path)
        with lb.Store(path) as other, pytest.raises(lb.StoreError, match="is open in another"):
            other.bandit(NAME)


def test_a_second_store_of_a_process_takes_no_locks_away(path):
    """Closing a handle of a file gives up all locks on it: those of others must not go."""
    before = set(owners._parked), set(owners._using)  # of stores that other tests have not closed
    with lb.Store(path) as store:
        bandit = new_bandit(store.create, name=NAME)
        for _ in range(3):
            lb.Store(path).close()
        fetch(path, "SELECT * FROM bandits")  # as anybody's tool, in a process of its own or not
        script = (
            "import sqlite3, sys\n"
            "connection = sqlite3.connect(sys.argv[1], timeout=0)\n"
            "connection.execute('PRAGMA journal_mode = DELETE')\n"
        )
        assert "database is locked" in run_python("-c", script, path).stderr
        bandit.ask()
    assert set(owners._parked) <= before[0]
    assert set(owners._using) <= before[1]


@pytest.mark.parametrize("durability", ["always", "interval"])
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "restored"])
def test_the_next_commit_notices_that_the_file_left(path, durability, how):
    twin = new_bandit()
    store = lb.Store(path, durability=durability)
    bandit = new_bandit(store.create, name=NAME)
    live([bandit, twin], range(20))
    store.flush()
    asked, old = bandit.asked, path.with_name("old.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(old)) as copy:
        source.backup(copy)
    live([bandit, twin], range(20, 30))
    store.flush()
    moved = path.with_name("moved.db")
    path.rename(moved)
    if how == "restored":
        old.rename(path)
    if how == "deleted":
        moved.unlink()
    if how == "replaced":
        with lb.Store(path.with_name("new.db")) as new:
            new_bandit(new.create, name=NAME).ask()
        path.with_name("new.db").rename(path)
    before = bandit.to_bytes()
    gone = "was deleted, moved or replaced while it was open; put it back, or close the store"
    if durability == "interval":
        bandit.ask()  # acknowledged before anybody could know
    with pytest.raises(lb.StoreError, match=gone):
        (store.flush if durability == "interval" else bandit.ask)()
    for action in (bandit.ask, lambda: bandit.tell(bandit.pending[0], 1.0), bandit.reseed):
        with pytest.raises(lb.StoreError, match=gone):
            action()
    with pytest.raises(lb.StoreError, match=gone):
        new_bandit(store.create, name="other")
    if durability == "always":
        store.close()
    else:  # what was acknowledged cannot be written
        with pytest.raises(lb.StoreError, match=gone):
            store.close()
        store.close()
    if how == "moved":
        with lb.Store(moved) as again:
            assert before == twin.to_bytes()
            skip_lost(twin, again.bandit(NAME))  # an ask was acknowledged and is lost
            assert again.bandit(NAME).to_bytes() == twin.to_bytes()
    if how == "replaced":
        with lb.Store(path) as again:
            assert again.bandit(NAME).asked == 1
            assert again.verify(NAME) == 1
    if how == "restored":
        with lb.Store(path) as again:
            assert again.bandit(NAME).asked == asked
    if how == "deleted":
        assert not path.exists()


def test_what_was_committed_is_in_the_moved_file_at_once(path):
    """And nothing is left in the log that another file could get; a file put back goes on."""
    store = lb.Store(path)
    bandit, twin = new_bandit(store.create, name=NAME), new_bandit()
    live([bandit, twin], range(20))
    moved = path.with_name("moved.db")
    path.rename(moved)
    with pytest.raises(lb.StoreError, match="put it back"):
        bandit.ask()
    assert path.with_name("shop.db-wal").stat().st_size == 0
    copy = path.with_name("copy.db")
    shutil.copy(moved, copy)  # as if the process were killed now
    with lb.Store(copy) as again:
        assert again.bandit(NAME).to_bytes() == twin.to_bytes()
    moved.rename(path)
    live([bandit, twin], range(20, 40))
    store.close()
    with lb.Store(path) as again:
        assert again.bandit(NAME).to_bytes() == twin.to_bytes()


def test_the_next_commit_notices_that_the_log_left(path):
    with lb.Store(path) as store:
        bandit = new_bandit(store.create, name=NAME)
        bandit.ask()
        path.with_name("shop.db-wal").unlink()
        with pytest.raises(
            lb.StoreError,
            match=r"shop\.db-wal or shop\.db-shm, which belongs to .* was deleted, moved",
        ):
            bandit.ask()
        before = bandit.to_bytes()
    with lb.Store(path) as store:
        assert store.bandit(NAME).to_bytes() == before


def test_a_file_in_the_place_of_an_open_one_does_not_get_its_log(path):
    """Whoever opens it before the owner of the old one has noticed is refused."""
    with lb.Store(path.with_name("new.db")) as new:
        new_bandit(new.create, name=NAME).ask(3)
    data = path.with_name("new.db").read_bytes()
    store = lb.Store(path)
    bandit, twin = new_bandit(store.create, name=NAME), new_bandit()
    live([bandit, twin], range(20))
    path.rename(path.with_name("moved.db"))
    path.with_name("new.db").rename(path)
    with pytest.raises(
        lb.StoreError, match=r"still open and still uses the log shop\.db-wal; close"
    ):
        lb.Store(path)
    assert path.read_bytes() == data
    store.close()
    with lb.Store(path) as again:
        assert again.bandit(NAME).asked == 3
    with lb.Store(path.with_name("moved.db")) as again:
        assert again.bandit(NAME).to_bytes() == twin.to_bytes()
