"""Bandits that survive: durability, snapshots, owners, and everything that can go wrong."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from databases import count, fetch, given, view_of
from lives import change, new_bandit

import lastblock as lb
from lastblock.store import owners, sqlite, sqlite_file
from lastblock.store.group_commit import Groups
from lastblock.store.journal import snapshot_of
from lastblock.store.opening import is_postgres
from lastblock.store.owners import Owners
from lastblock.store.storage import Snapshot

TRIALS = Path(__file__).parent / "store_trials.py"
NAME = "button"
DURABILITIES = ["always", "interval", "never"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.db"


def live(bandits, steps):
    for step in steps:
        for bandit in bandits:
            change(bandit, step)


def trial(name, folder, *arguments):
    command = [sys.executable, TRIALS, name, folder, *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# A store's bandit is an ordinary bandit.


@pytest.mark.parametrize("durability", DURABILITIES)
def test_life_goes_on(place, durability):
    twin = new_bandit(floor={"red": 0.1})
    with lb.Store(place, durability=durability) as store:
        bandit = new_bandit(store.create, name=NAME, floor={"red": 0.1})
        live([bandit, twin], range(150))
        assert store.bandit(NAME) is bandit
        assert NAME in store
        assert store.names() == (NAME,)
    for first in (150, 200):
        with lb.Store(place, durability=durability) as store:
            bandit = store.bandit(NAME)
            assert bandit.to_bytes() == twin.to_bytes()
            live([bandit, twin], range(first, first + 50))
            assert bandit.to_bytes() == twin.to_bytes()


def test_a_window_is_replayed(place):
    policy = lb.SWLBSDA(window=60)
    twin = new_bandit(policy=policy)
    with lb.Store(place, durability="never") as store:
        live([new_bandit(store.create, name=NAME, policy=policy), twin], range(200))
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def test_a_growing_record_is_replayed(place):
    bandit_options = {"arms": 2, "seed": 7}
    twin = lb.Bandit(lb.LBSDA(), **bandit_options)
    with lb.Store(place, durability="never") as store:
        bandit = store.create(NAME, lb.LBSDA(), **bandit_options)
        size = bandit.state_size
        for each in (bandit, twin):
            asked = each.ask(1100)
            each.tell_many(asked[:1000], [1.0] * 1000)
            each.tell_many(asked[1000:], [1.0] * 100)
            while max(each.pulls.values()) < 1100:
                each.tell(each.ask(), 1.0)
        assert bandit.to_bytes() == twin.to_bytes()
        assert bandit.state_size > size
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def test_a_store_lives_as_long_as_its_bandits(place):
    bandit = new_bandit(lb.Store(place, durability="interval").create, name=NAME)
    live([bandit], range(20))
    data = bandit.to_bytes()
    del bandit
    import gc  # noqa: PLC0415  # here alone

    gc.collect()
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == data


def test_threads_share_a_store(place):
    with lb.Store(place, durability="interval", snapshot_every=500) as store:
        bandits = [new_bandit(store.create, name=f"bandit {i}") for i in range(3)]

        def play():
            for _ in range(400):
                for bandit in bandits:
                    bandit.tell(bandit.ask(), 1.0)

        threads = [threading.Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        data = [bandit.to_bytes() for bandit in bandits]
    with lb.Store(place) as store:
        again = [store.bandit(f"bandit {i}") for i in range(3)]
        assert [bandit.to_bytes() for bandit in again] == data
        assert [sum(bandit.pulls.values()) for bandit in again] == [1600] * 3


# Snapshots and pruning.


@pytest.mark.parametrize("durability", DURABILITIES)
@pytest.mark.parametrize("every", [1, 7, 10_000])
def test_replaying_everything_gives_the_snapshot(place, durability, every):
    options = {"durability": durability, "snapshot_every": every, "keep_events": True}
    with lb.Store(place, **options) as store:
        bandit = new_bandit(store.create, name=NAME, floor=0.05)
        live([bandit], range(120))
        events = store.verify(NAME)
        live([bandit], range(120, 130))
        store.snapshot(NAME)
        assert store.verify(NAME) > events
    ((body, last, beginning, first),) = fetch(
        place, "SELECT snapshot, last_event, beginning, first_event FROM bandits"
    )
    assert body == snapshot_of(bandit, 0, last).body
    assert (beginning, first) == (snapshot_of(new_bandit(floor=0.05), 0, 0).body, 0)
    assert count(place) == last
    with lb.Store(place, **options) as store:
        assert store.bandit(NAME).to_bytes() == bandit.to_bytes()
        assert store.verify(NAME) == last


def test_old_events_go(place):
    with lb.Store(place, snapshot_every=50, durability="never") as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(200))
        assert store.verify(NAME) < 60
        assert count(place) < 60
        store.snapshot(NAME)
        assert count(place) == 0
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == bandit.to_bytes()


def test_asks_alone_are_pruned_too(place):
    with lb.Store(place, snapshot_every=50, durability="never") as store:
        bandit = new_bandit(store.create, name=NAME)
        for _ in range(120):
            bandit.forget(bandit.ask())
        twin = bandit.copy()
        for each in (bandit, twin):
            each.ask(120)
            each.ask(7)
        store.flush()
        assert count(place) == 7
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def test_the_file_stays_small(path):
    """Ten times the events do not make it larger, nor SQLite's own log beside it."""
    sizes = []
    options = {"durability": "never", "snapshot_every": 2000}
    with lb.Store(path, **options) as store:
        new_bandit(store.create, name=NAME)
    for _ in range(10):
        with lb.Store(path, **options) as store:
            bandit = store.bandit(NAME)
            for _ in range(3000):
                bandit.tell(bandit.ask(), 1.0)
            store.flush()
            assert path.with_name("shop.db-wal").stat().st_size < 5_000_000
        sizes.append(path.stat().st_size)
    assert max(sizes) < 400_000  # all 60 000 events would take 2 MB


def test_a_file_shrinks_when_events_go(path, monkeypatch):
    monkeypatch.setattr(sqlite, "PAGES_FREE", 20)
    with lb.Store(path, durability="never", keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        for _ in range(5000):
            bandit.tell(bandit.ask(), 1.0)
    large = path.stat().st_size
    with lb.Store(path) as store:
        store.snapshot(NAME)
    assert path.stat().st_size < large / 2


def test_of_snapshots_that_wait_only_the_latest_stays(place):
    twin = new_bandit()
    with lb.Store(place, durability="interval", interval=60.0, snapshot_every=1) as store:
        bandit = new_bandit(store.create, name=NAME)
        store.flush()
        live([bandit, twin], range(40))  # from now on the thread waits
        assert len(store._groups._snapshots) == 1
        store.flush()
        assert count(place) <= 1
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def test_snapshots_that_come_while_a_group_is_written():
    """Neither those of a group that fails are lost, nor those that come meanwhile."""
    written, meanwhile = [], []

    def write(rows, snapshots):
        while meanwhile:
            groups.put([row(3)], [snapshot(3), snapshot(9, bandit=2)])
            if meanwhile.pop():
                raise lb.StoreError("no")
        written.append((rows, snapshots))

    def row(event):
        return 1, event, 0, 0, event, 0, None

    def snapshot(event, bandit=1):
        return Snapshot(bandit, event, 0, "{}", "", b"")

    for fails in (False, True):
        groups = Groups(write, 0.001)
        meanwhile.append(fails)
        groups.put([row(1), row(2)], [snapshot(1), snapshot(2)])
        with suppress(lb.StoreError):  # unless the thread had failed before, and tried again
            groups.flush()
        groups.close()
        assert [each for rows, _ in written for each in rows] == [row(1), row(2), row(3)]
        assert written[-1][1] == [snapshot(3), snapshot(9, bandit=2)]
        assert len(written) == (1 if fails else 2)
        assert fails or written[0][1] == [snapshot(2)]
        written.clear()


# The log.


def test_the_journal_of_a_stores_bandit_is_the_stores(tmp_path):
    with lb.Store(tmp_path / "s.db") as store:
        bandit = store.create("button", lb.LBSDALM(), ["red", "green", "blue"], seed=1)
        for journal in (lambda events: None, None):
            with pytest.raises(ValueError, match=r"attach yours to a copy\(\)"):
                bandit.attach(journal)
        bandit.tell(bandit.ask(), 1.0)
        assert store.verify("button") == 2


def test_events_are_a_log(place, tmp_path):
    with lb.Store(place, durability="interval", keep_events=True, snapshot_every=100) as store:
        bandit = new_bandit(store.create, name=NAME, floor=0.1)
        told = []
        for i in range(300):
            decision = bandit.ask()
            if i % 10 == 3:
                bandit.forget(decision)
            elif i % 10 != 7:
                bandit.tell(decision, i / 4)
                told.append((*decision, i / 4))
        bandit.retire_arm("green")
        bandit.add_arm("grün")
        last = bandit.ask()
        assert store.export(NAME, tmp_path / "log.parquet") == len(told)
        events = store.export(NAME, tmp_path / "events.parquet", "events")
        assert events == 300 + 30 + len(told) + 3
        with pytest.raises(ValueError, match="what='rewards' must be 'decisions' or 'events'"):
            store.export(NAME, tmp_path / "log.parquet", "rewards")
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    table = pq.read_table(tmp_path / "log.parquet").to_pydict()
    columns = ("arm", "decision", "probability", "reward")
    assert list(zip(*(table[name] for name in columns), strict=True)) == told
    assert all(a <= b for a, b in zip(table["asked"], table["told"], strict=True))
    replay = lb.Replay(tmp_path / "log.parquet", propensity="probability")
    rewards = np.array([reward for *_, reward in told])
    assert replay.estimate().ips.value == pytest.approx(rewards.mean())
    table = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert [row["event"] for row in table] == list(range(1, events + 1))
    assert [(row["kind"], row["arm"]) for row in table[-3:]] == [
        ("retire_arm", "green"),
        ("add_arm", "grün"),
        ("ask", last.arm),
    ]
    assert table[-1]["probability"] == last.probability
    rows = fetch(place, f"SELECT bandit, kind, arm FROM log WHERE event = {events - 1}")
    assert rows == [(NAME, "add_arm", "grün")]


def test_the_log_of_what_was_out_when_events_began_to_be_kept(place, tmp_path):
    with lb.Store(place, snapshot_every=1) as store:
        bandit = store.create(NAME, lb.LBSDALM(), arms=3, seed=7, floor=0.2)
        early = bandit.ask(5)
    with lb.Store(place, keep_events=True) as store:
        bandit = store.bandit(NAME)
        bandit.tell(early[3], 2.5)
        assert store.export(NAME, tmp_path / "log.parquet") == 1
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    (row,) = pq.read_table(tmp_path / "log.parquet").to_pylist()
    assert (row["arm"], row["decision"], row["probability"]) == tuple(early[3])
    assert (row["reward"], row["asked"]) == (2.5, early[3].time)


# Kills.


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_kills(place, durability):
    """After each: nothing is lost that must not be, and life goes on as if nothing had happened.

    `python tests/store/store_trials.py kill PLACE always 300 5` does it 300 times.
    """
    kills = 10 if is_postgres(place) else 50
    result = trial("kill", given(place), durability, kills, 5)
    assert result["steps"] > 3 * kills  # three of them after each kill
    if durability == "interval":
        assert result["lost"] > 0  # else the trial shows nothing


def test_a_process_that_forgets_to_close(place):
    text = trial("left_open", given(place))
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_json() == text


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_an_interrupt_leaves_bandit_and_log_alike(place, durability, monkeypatch):
    """At every place where it can hit: before the events are written, after, and while deciding."""
    twin = new_bandit()
    with lb.Store(place, durability=durability) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit, twin], range(30))
        journal = store._journals[NAME]
        write = journal._write

        def before(rows, snapshots):
            raise KeyboardInterrupt

        def after(rows, snapshots):
            write(rows, snapshots)
            raise KeyboardInterrupt

        for interrupt in (before, after):
            out = bandit.pending[0]
            for action in (lambda b: b.ask(2), lambda b, out=out: b.tell(out, 0.5)):
                journal._write = interrupt
                with pytest.raises(KeyboardInterrupt):
                    action(bandit)
                journal._write = write
                if interrupt is after:
                    action(twin)
                assert bandit.to_bytes() == twin.to_bytes()
                live([bandit, twin], range(30, 35))
                assert bandit.to_bytes() == twin.to_bytes()
        # Twice: also while it goes back. Then the next call does.
        journal._write = after
        monkeypatch.setattr(bandit._desk, "_reload", lambda: before((), ()))
        with pytest.raises(KeyboardInterrupt):
            bandit.ask()
        journal._write = write
        monkeypatch.undo()
        twin.ask()
        bandit._desk.attach(journal, journal.reload)
        live([bandit, twin], range(40, 60))
        assert bandit.to_bytes() == twin.to_bytes()
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def interrupt_after(monkeypatch, owner, name, wanted=lambda *arguments: True):
    """Let the next such call be the last thing that is done before an interrupt."""
    real, hits = getattr(owner, name), [True]

    def call(*arguments, **options):
        result = real(*arguments, **options)
        if hits and wanted(*arguments):
            hits.pop()
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(owner, name, call)


class Connection:
    """One whose methods can be replaced."""

    def __init__(self, real):
        self._real, self.execute = real, real.execute

    def __getattr__(self, name):
        return getattr(self._real, name)


def others_can_write(path):
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
    finally:
        connection.close()
    return True


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "UPDATE", "COMMIT"])
def test_an_interrupt_after_any_statement(path, statement, monkeypatch):
    twin = new_bandit()
    with lb.Store(path, snapshot_every=1) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit, twin], range(30))
        storage = store._storage
        monkeypatch.setattr(storage, "_connection", Connection(storage._connection))
        interrupt_after(
            monkeypatch,
            storage._connection,
            "execute",
            lambda query, *_: query.startswith(statement),
        )
        with pytest.raises(KeyboardInterrupt) as caught:
            bandit.ask()
        assert others_can_write(path)  # also while somebody still has the error and its frames
        if statement == "COMMIT":
            twin.ask()
        assert bandit.to_bytes() == twin.to_bytes()
        live([bandit, twin], range(30, 40))
        assert bandit.to_bytes() == twin.to_bytes()
        assert caught.tb is not None
    with lb.Store(path) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def test_a_transaction_that_was_left_open(path):
    twin = new_bandit()
    with lb.Store(path, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit, twin], range(20))
        store._storage._connection.execute("BEGIN IMMEDIATE")
        store._storage._connection.execute("DELETE FROM events")
        assert store.verify(NAME) > 0
        live([bandit, twin], range(20, 30))
        assert others_can_write(path)
        assert store.verify(NAME) == count(path)
        assert bandit.to_bytes() == twin.to_bytes()


def test_a_signal_within_a_change(path):
    """Its handler cannot change the store, and does not hurt what it interrupts."""
    with lb.Store(path, keep_events=True) as store:
        bandit = new_bandit(store.create, name=NAME)
        names = []

        def work(run):
            run("UPDATE bandits SET policy = 'x'")
            with pytest.raises(lb.StoreError, match="is in the middle of a change"):
                new_bandit(store.create, name="other")
            names.append(store.names())

        store._storage._change(work)
        assert names == [(NAME,)]
        connection = sqlite3.connect(path)
        assert connection.execute("SELECT policy FROM bandits").fetchone() == ("x",)
        connection.close()
        bandit.ask()


def test_an_interrupt_while_a_group_fills(place, monkeypatch):
    """It is written nevertheless, and flush waits for it."""
    with lb.Store(place, durability="interval", interval=0.001) as store:
        bandit = new_bandit(store.create, name=NAME)
        twin = new_bandit()
        groups = store._groups
        for _ in range(3):
            store.flush()
            interrupt_after(monkeypatch, groups._wake, "notify")
            with pytest.raises(KeyboardInterrupt):
                bandit.ask()
            monkeypatch.undo()
            interrupt_after(monkeypatch, groups, "_add")
            with pytest.raises(KeyboardInterrupt):
                bandit.ask()
            monkeypatch.undo()
            twin.ask()
            assert bandit.to_bytes() == twin.to_bytes()
            interrupt_after(monkeypatch, groups, "_gate")
            bandit.ask()
            twin.ask()
            with pytest.raises(KeyboardInterrupt):
                store.flush()
            monkeypatch.undo()
            store.flush()
            assert groups._written == groups._added
            assert count(place) == bandit.asked == twin.asked


def test_an_interrupt_leaves_no_snapshot_of_what_is_not_in_the_log(place, monkeypatch):
    twin = new_bandit()
    with lb.Store(place) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit, twin], range(20))
        journal = store._journals[NAME]

        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(journal, "_write", interrupted)
        monkeypatch.setattr(journal, "_recover", interrupted)  # twice
        with pytest.raises(KeyboardInterrupt):
            bandit.ask()
        monkeypatch.undo()
        store.snapshot(NAME)
        assert bandit.to_bytes() == twin.to_bytes()
        live([bandit, twin], range(20, 30))
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_bytes() == twin.to_bytes()


def test_an_interrupt_leaves_no_owner(path, monkeypatch):
    """Wherever it hits: nothing is owned that nobody has, and all can be done again."""
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)

    def is_free(place):
        others = Owners(path)
        try:
            return others.take(place)
        finally:
            others.close()

    for owner, name in ((owners, "_lock"), (owners, "_unlock"), (sqlite_file, "identity")):
        interrupt_after(monkeypatch, owner, name)
        with pytest.raises(KeyboardInterrupt):
            lb.Store(path)
        monkeypatch.undo()
        assert is_free(0)
    with lb.Store(path) as store:
        for owner, name in ((owners, "_lock"), (store, "_recover")):
            interrupt_after(monkeypatch, owner, name)
            with pytest.raises(KeyboardInterrupt):
                store.bandit(NAME)
            monkeypatch.undo()
            assert is_free(1)
        for owner, name in ((store._storage, "disown"), (owners, "_unlock")):
            bandit = store.bandit(NAME)
            interrupt_after(monkeypatch, owner, name)
            with pytest.raises(KeyboardInterrupt):
                store.release(NAME)
            monkeypatch.undo()
            with pytest.raises(lb.StoreError, match="was released"):
                bandit.ask()
            assert is_free(1)
            assert store.bandit(NAME) is not bandit
            store.bandit(NAME).ask()
            assert not is_free(1)


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_an_interrupt_while_closing(path, durability, monkeypatch):
    places = ["storage.close", "owners.abandon"] + ["groups._end"] * (durability != "always")
    for place in places:
        store = lb.Store(path, durability=durability)
        bandit = store.bandit(NAME) if NAME in store else new_bandit(store.create, name=NAME)
        bandit.ask()
        owner, name = place.split(".")
        parts = {
            "storage": store._storage,
            "owners": store._storage._file._owners,
            "groups": store._groups,
        }
        interrupt_after(monkeypatch, parts[owner], name)
        with pytest.raises(KeyboardInterrupt):
            store.close()
        monkeypatch.undo()
        store.close()
        with pytest.raises(lb.StoreError, match="is closed; open it again"):
            bandit.ask()
        with lb.Store(path) as again:
            assert again.bandit(NAME).to_bytes() == bandit.to_bytes()


# Reading while others write.


@pytest.mark.parametrize("keep_events", [False, True])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("method", ["names", "snapshot", "last", "part", "rows", "arms"])
def test_what_is_read_is_of_one_moment(path, tmp_path, monkeypatch, keep_events, own, method):
    """Between any two reads the bandit lives on, and its events are pruned."""
    read_while_others_write(path, tmp_path, monkeypatch, keep_events, own, method)


@pytest.mark.parametrize("keep_events", [False, True])
@pytest.mark.parametrize("method", ["snapshot", "part"])
def test_what_is_read_from_a_server_is_of_one_moment(
    url, tmp_path, monkeypatch, keep_events, method
):
    read_while_others_write(url, tmp_path, monkeypatch, keep_events, not keep_events, method)


def read_while_others_write(place, tmp_path, monkeypatch, keep_events, own, method):
    view = view_of(place)
    real, hits = getattr(view, method), []

    def read(self, *arguments, **options):
        result = real(self, *arguments, **options)
        first = 100 + 10 * len(hits)
        hits.append(method)
        live([bandit], range(first, first + 9))
        store.snapshot(NAME)
        live([bandit], [first + 9])
        return result

    with lb.Store(place, keep_events=keep_events) as store:
        bandit = new_bandit(store.create, name=NAME, floor=0.1)
        live([bandit], range(50))
        events = count(place)
        log = tmp_path / "log.parquet"
        with store if own else lb.Store(place, keep_events=keep_events) as reader:
            monkeypatch.setattr(view, method, read)
            assert reader.verify(NAME) >= (events if keep_events else 0)
            assert reader.export(NAME, log, "events") >= (events if keep_events else 0)
            reader.export(NAME, log)
            monkeypatch.undo()
            assert hits
            reader.verify(NAME)


def test_a_thread_writes_while_it_is_verified(place, tmp_path):
    with lb.Store(place, durability="interval", interval=0.001, snapshot_every=20) as store:
        bandit = new_bandit(store.create, name=NAME)
        stop = threading.Event()

        def play():
            while not stop.is_set():
                bandit.tell(bandit.ask(), 1.0)

        thread = threading.Thread(target=play)
        thread.start()
        try:
            with lb.Store(place) as other:
                for _ in range(4 if is_postgres(place) else 15):
                    for each in (store, other):
                        each.verify(NAME)
                        each.export(NAME, tmp_path / "log.parquet")
        finally:
            stop.set()
            thread.join()
        assert store.verify(NAME) <= 21


def test_a_file_that_was_replaced(path):
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)
        path.rename(path.with_name("moved.db"))
        for _ in range(2):
            with pytest.raises(lb.StoreError, match="was deleted, moved or replaced while it was"):
                store.verify(NAME)
            path.write_bytes(b"")
        path.with_name("moved.db").rename(path)
        assert store.verify(NAME) == 0


# Owners.


def test_one_owner_at_a_time(place):
    with lb.Store(place) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(20))
        errors = trial("owner", given(place))
        for error in errors:
            assert f"'button' in {store._storage.label} is open in process {os.getpid()}" in error
        other = lb.Store(place)
        with pytest.raises(lb.StoreError, match="is open in another Store of this process"):
            other.bandit(NAME)
        assert sum(other.bandit("other").pulls.values()) > 0
        live([bandit], range(20, 30))
        store.release(NAME)
        with pytest.raises(lb.StoreError, match="'button' was released"):
            bandit.ask()
        mine = other.bandit(NAME)
        assert mine.to_bytes() == bandit.to_bytes()
        mine.ask()
        other.close()
        assert store.bandit(NAME).to_bytes() == mine.to_bytes()


def test_four_processes_begin_at_once(place):
    assert trial("together", given(place)) == [True] * 4


def test_a_fork_must_open_its_own(place):
    parent, *errors = trial("forked", given(place))
    for error in errors[:2]:
        assert "was opened before a fork and belongs to the parent process; start work" in error
    if is_postgres(place):  # a child may open the store, but its parent has the bandit
        assert f"is open in process {parent}" in errors[2]
    else:
        assert "was open in the parent process when it forked; start workers by spawn" in errors[2]


# Everything that can go wrong: one line, and nothing is changed.


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_disk_that_takes_no_more(tmp_path, durability):
    result = trial("full", tmp_path, durability)
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
        file, new, hidden = trial("read_only", folder)
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


@pytest.mark.parametrize("data", [b"\n", b"SQLite format 3\0", b"x" * 511, bytes(512)])
def test_files_that_are_short(path, data):
    path.write_bytes(data)
    refuses(path, "is not a store, since it is not an SQLite file; give another file")


def test_an_empty_file_is_a_new_store(path):
    path.touch()
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME).ask()
    with lb.Store(path) as store:
        assert store.verify(NAME) == 1


def test_files_of_others(path):
    path.write_bytes(b"red,green,blue\n" * 100)
    refuses(path, "is not a store, since it is not an SQLite file")
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customers (name)")
    connection.commit()
    connection.close()
    refuses(path, "is another program's database")


def test_a_file_of_a_newer_version(path):
    prepared(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 4")
    connection.close()
    refuses(path, "has format 4, this lastblock reads up to 3; upgrade lastblock to open it")


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
        ("UPDATE bandits SET snapshot = zeroblob(99)", "not a lastblock state"),
        ("UPDATE bandits SET snapshot = substr(snapshot, 1, 999)", "truncated"),
    ],
)
def test_damaged_events(path, damage, message):
    prepared(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute(damage)
    connection.commit()
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    refuses(path, message)
    with pytest.raises(lb.StoreError, match=message), lb.Store(path) as store:
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
        ("DELETE FROM generations", "the list of generations is empty"),
    ],
)
def test_damaged_logs(path, tmp_path, damage, message):
    prepared(path)
    connection = sqlite3.connect(path)
    connection.execute(damage)
    connection.commit()
    connection.close()
    log = tmp_path / "log.parquet"
    with lb.Store(path) as store, pytest.raises(lb.StoreError, match="is damaged: ") as caught:
        store.export(NAME, log)
    assert f"({message}" in str(caught.value)
    if "has the" in message:  # also in the log of all events
        with lb.Store(path) as store, pytest.raises(lb.StoreError, match="has the"):
            store.export(NAME, log, "events")
    assert str(caught.value).endswith("); restore the file from a copy")
    assert not log.exists()


def test_names_and_labels_of_any_script(place):
    names = ["👩\u200d🚀", "نمی\u200cخواهم", "क्\u200dष"]  # with joiners and non-joiners
    with lb.Store(place) as store:
        for name in names:
            store.create(name, lb.LBSDALM(), arms=names, seed=7).ask()
    with lb.Store(place) as store:
        assert sorted(store.names()) == sorted(names)
        assert store.bandit(names[0]).pending[0].arm in names


def test_names(place):
    with lb.Store(place) as store:
        with pytest.raises(lb.StoreError, match="no bandit 'button'; it has: none; create one"):
            store.bandit(NAME)
        bandit = new_bandit(store.create, name=NAME)
        with pytest.raises(lb.StoreError, match="no bandit 'buton'; did you mean 'button'"):
            store.bandit("buton")
        with pytest.raises(lb.StoreError, match="has a bandit 'button'; take another name"):
            new_bandit(store.create, name=NAME)
        for name in ("", 3, None):
            with pytest.raises(ValueError, match="must be a string that is not empty"):
                new_bandit(store.create, name=name)
        for name in ("a\nb", "\ud800", "a\u2028b", "\0"):
            with pytest.raises(ValueError, match="; leave it out"):
                new_bandit(store.create, name=name)
        with pytest.raises(ValueError, match="at least 2 arms"):
            store.create("new", lb.LBSDALM(), arms=1)
        assert store.names() == (NAME,)
        store.delete(NAME)
        with pytest.raises(lb.StoreError, match="'button' was released"):
            bandit.ask()
        assert store.names() == ()
        new_bandit(store.create, name=NAME).ask()
        assert store.verify(NAME) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"durability": "sometimes"}, "must be one of always, interval, never"),
        ({"interval": 0}, "must be positive and finite, in seconds"),
        ({"interval": float("nan")}, "interval"),
        ({"snapshot_every": 0}, "at least 1"),
    ],
)
def test_wrong_options(path, options, message):
    with pytest.raises(ValueError, match=message):
        lb.Store(path, **options)
    assert not path.exists()


def test_wrong_places(tmp_path):
    with pytest.raises(lb.StoreError, match="is a folder; give the name of a file"):
        lb.Store(tmp_path)
    with pytest.raises(lb.StoreError, match="its folder does not exist; make it"):
        lb.Store(tmp_path / "no" / "shop.db")
    with lb.Store(tmp_path / "shop.db") as store:
        new_bandit(store.create, name=NAME)
        with pytest.raises(FileNotFoundError) as caught:
            store.export(NAME, tmp_path / "no" / "log.parquet")
        assert str(caught.value) == f"there is no folder {tmp_path / 'no'}; make it first"


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_closed_store(place, durability):
    store = lb.Store(place, durability=durability)
    bandit = new_bandit(store.create, name=NAME)
    live([bandit], range(20))
    before = bandit.to_bytes()
    store.close()
    store.close()
    for action in (bandit.ask, lambda: bandit.tell(bandit.pending[0], 1.0), store.names):
        with pytest.raises(lb.StoreError, match="is closed; open it again"):
            action()
        assert bandit.to_bytes() == before
    independent = bandit.copy()
    independent.ask()
