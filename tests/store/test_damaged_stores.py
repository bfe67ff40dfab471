"""Full disks and damaged files: one line, and nothing is changed."""

import tempfile
from pathlib import Path

import pytest
from databases import fetch
from lives import NAME, new_bandit

import lastblock as lb
from processes import run_trial

TRIALS = Path(__file__).parent / "store_trials.py"


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_disk_that_takes_no_more(tmp_path, durability):
    result = run_trial(TRIALS, "full", tmp_path, durability)
    assert result["steps"] > 60
    assert all("\n" not in error for error in result["errors"])
    (error,) = result["errors"]
    assert error.startswith(f"the store {str(tmp_path / 'shop.db')!r} cannot be read or written")


def test_a_full_disk(path):
    with lb.Store(path, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        connection = store._storage._connection
        ((pages,),) = connection.execute("PRAGMA page_count")
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        for _ in range(20):
            bandit.ask(5)
        before = bandit.to_bytes()
        with pytest.raises(lb.StoreError, match=r"cannot grow: the disk is full; free some space"):
            bandit.ask(1000)
        assert bandit.to_bytes() == before
        with pytest.raises(lb.StoreError, match="the disk is full"):
            new_bandit(store.create, name="x" * 10_000)
        assert store.names() == (NAME,)
        connection.execute("PRAGMA max_page_count = 1000000")
        bandit.ask(20)


def test_a_file_that_may_not_be_written():
    with tempfile.TemporaryDirectory() as folder:  # where nobody can get to
        file, new, hidden = run_trial(TRIALS, "read_only", folder)
    assert f"the store {folder + '/shop.db'!r} is read-only; change its permissions" in file
    assert "closed/shop.db' cannot be used: Permission denied" in new
    assert "hidden/shop.db': Permission denied" in hidden


def prepared(path):
    with lb.Store(path, durability="never", keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        for _ in range(1000):
            bandit.tell(bandit.ask(), 1.0)
    return path.read_bytes()


def refuses(path, message):
    before = path.read_bytes()
    with pytest.raises(lb.StoreError, match=message) as caught:
        lb.Store(path).bandit(NAME)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_file_cut_in_half(path):
    data = prepared(path)
    path.write_bytes(data[: len(data) // 2])
    refuses(path, "is damaged, perhaps cut short; restore it from a copy")
    path.write_bytes(data[:1000])
    refuses(path, "is damaged, perhaps cut short|is not a store")
    path.write_bytes(data)
    with lb.Store(path) as store:
        assert sum(store.bandit(NAME).pulls.values()) == 1000


@pytest.mark.parametrize(
    "data", [b"\n", b"SQLite format 3\0", b"x" * 511, bytes(512), b"red,green,blue\n" * 100]
)
def test_files_of_no_database(path, data):
    path.write_bytes(data)
    refuses(path, "is not a store, since it is not an SQLite file; give another file")


def test_an_empty_file_is_a_new_store(path):
    path.touch()
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME).ask()
    with lb.Store(path) as store:
        assert store.verify(NAME) == 1


def test_a_database_of_others_or_of_a_newer_version(path):
    fetch(path, "CREATE TABLE customers (name)")
    refuses(path, "is another program's database")
    path.unlink()
    prepared(path)
    fetch(path, "PRAGMA user_version = 4")
    refuses(path, "has format 4, this lastblock reads up to 1; upgrade lastblock to open it")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM events WHERE event = 500", "are missing"),
        ("DELETE FROM events WHERE event = 1", "are missing"),
        ("UPDATE events SET arm = (arm + 1) % 3 WHERE event = 501", "another arm"),
        ("UPDATE events SET arm = 3 WHERE event = 501", "an arm that does not exist"),
        ("UPDATE events SET probability = 0.5 WHERE event = 501", "another arm"),
        ("UPDATE events SET decision = 2000 WHERE event = 501", "decisions are missing"),
        ("UPDATE events SET decision = 2000 WHERE event = 500", "not out"),
        ("UPDATE events SET decision = 240 WHERE event = 500", "not out"),
        ("UPDATE events SET kind = 1 WHERE event = 501", "rewards must be finite"),
        ("UPDATE events SET kind = 99 WHERE event = 501", "an event has the unknown kind 99"),
        ("UPDATE events SET kind = -1 WHERE event = 501", "not ask, tell or forget"),
        ("UPDATE events SET decision = 'x' WHERE event = 500", "could not convert"),
        ("UPDATE events SET decision = 249.5 WHERE event = 500", "must be whole numbers"),
        ("UPDATE events SET arm = 1.5 WHERE event = 500", "must be whole numbers"),
        ("UPDATE events SET reward = NULL WHERE event = 500", "rewards must be finite"),
        ("UPDATE events SET reward = 9e999 WHERE event = 500", "rewards must be finite"),
        ("UPDATE events SET kind = 3, extra = 'x' WHERE event = 2000", "Expecting value"),
        ("UPDATE events SET kind = 5, extra = '7' WHERE event = 2000", "has no len"),
        ("UPDATE bandits SET next_id = 1000", "is damaged: .*lastblock store repair"),
        ("UPDATE bandits SET next_id = 'x'", "is damaged: .*lastblock store repair"),
        ("UPDATE bandits SET reserved = 'x'", "is damaged: .*lastblock store repair"),
        ("UPDATE bandits SET last_event = 3000", "the snapshot is of event 0, not 3000"),
        ("UPDATE bandits SET last_event = 'x'", "the snapshot is of event 0, not x"),
        ("UPDATE bandits SET snapshot = 'text'", "encoding"),
        ("INSERT INTO pending VALUES (1, 'x', 0, NULL, NULL, 0)", "not supported"),
        (
            "INSERT INTO pending VALUES (1, 0, 3, NULL, NULL, 0)",
            "decision 0 cannot be out for arm 3",
        ),
        (
            "INSERT INTO pending VALUES (1, 5, 0, NULL, NULL, 0)",
            "decision 5 cannot be out for arm 0",
        ),
        ("UPDATE events SET kind = 4, arm = 7 WHERE event = 2000", "does not fit"),
        ("UPDATE bandits SET snapshot = zeroblob(99)", "not a lastblock state; repair it: last"),
        ("UPDATE bandits SET snapshot = substr(snapshot, 1, 999)", "bytes; repair it: lastblock"),
    ],
)
def test_damaged_events(path, damage, message):
    prepared(path)
    fetch(path, damage)
    refuses(path, message)
    with pytest.raises(lb.StoreError, match=message), lb.Store(path) as store:
        store.verify(NAME)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            "UPDATE arms SET label = '\"gold\"' WHERE arm = 1",
            r"""have the label of arm 1 "gold", its state has "green"; repair it: lastblock""",
        ),
        ("DELETE FROM arms WHERE arm = 2", "number of arms 2, its state has 3"),
        ("UPDATE arms SET label = '{' WHERE arm = 2", "Expecting property name"),
        (
            """UPDATE bandits SET policy = replace(policy, '"scale": 1.0', '"scale": 2.0')""",
            r'the policy {.*"scale": 2\.0.*its state has {.*"scale": 1\.0',
        ),
        ("UPDATE bandits SET policy = replace(policy, 'LM\"', '\"')", 'the policy {.*"LBSDA"'),
        ("UPDATE bandits SET layout = 'x'", "the layout x, its state has "),
    ],
)
def test_verify_finds_edited_tables(place, damage, message):
    """They mislead exports and lists, though the bandit itself opens as it was."""
    with lb.Store(place) as store:
        new_bandit(store.create, name=NAME).ask()
    fetch(place, damage)
    with lb.Store(place) as store, pytest.raises(lb.StoreError, match=message):
        store.verify(NAME)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("DELETE FROM events WHERE event = 500", "some events after event 0 are missing"),
        ("DELETE FROM events WHERE event = 1", "some events after event 0 are missing"),
        (
            "UPDATE events SET decision = 2000 WHERE event = 500",
            "an event answers decision 2000, which",
        ),
        ("DELETE FROM arms WHERE arm = 2", "arm 2 has no label"),
        ("UPDATE arms SET label = '{' WHERE arm = 2", "Expecting property name enclosed"),
        (
            "UPDATE events SET kind = 1, reward = 'x' WHERE event = 500",
            "event 500 has the reward 'x', which is not a finite number",
        ),
        (
            "UPDATE events SET kind = 1, reward = NULL, probability = NULL WHERE event = 500",
            "event 500 has the reward None, which is not a finite number",
        ),
        (
            "UPDATE events SET kind = 1, reward = 9e999 WHERE event = 500",
            "event 500 has the reward inf, which is not a finite number",
        ),
        (
            "UPDATE events SET kind = 0, reward = NULL, probability = 1.5 WHERE event = 500",
            "event 500 has the probability 1.5, not one in (0, 1]",
        ),
        (
            "UPDATE events SET kind = 4, decision = NULL, arm = 9 WHERE event = 500",
            "arm 9 is retired, and was not there",
        ),
        (
            "UPDATE events SET kind = 3, decision = NULL, arm = 1 WHERE event = 500",
            "arm 1 is added, and was there before",
        ),
        (
            "UPDATE events SET time = 'x' WHERE event = 500",
            "object of type <class 'str'> cannot be",
        ),
        ("UPDATE events SET arm = 'x' WHERE event = 500", "arm x has no label"),
    ],
)
def test_damaged_logs(path, tmp_path, damage, message):
    prepared(path)
    fetch(path, damage)
    log = tmp_path / "log.parquet"
    with lb.Store(path) as store, pytest.raises(lb.StoreError, match="is damaged: ") as caught:
        store.export(NAME, log)
    assert f"({message}" in str(caught.value)
    if "has the" in message:  # also in the log of all events
        with lb.Store(path) as store, pytest.raises(lb.StoreError, match="has the"):
            store.export(NAME, log, "events")
    assert str(caught.value).endswith("); repair it: lastblock store repair, or restore a copy")
    assert not log.exists()
