"""Kills and interrupts at any moment: bandit and log stay alike."""

import os
import sqlite3
from pathlib import Path

import pytest
from databases import count, given
from lives import NAME, change, live, new_bandit

import lastblock as lb
from lastblock.engine.events import KINDS, NOTES
from lastblock.store import owners, sqlite_file
from lastblock.store import store as stores
from lastblock.store.opening import is_postgres
from lastblock.store.owners import Owners
from processes import run_trial
from trials import short_and_long

TRIALS = Path(__file__).parent / "store_trials.py"


@short_and_long("kills", {"sqlite": 8, "postgres": 3}, {"sqlite": 50, "postgres": 10})
@pytest.mark.parametrize("durability", ["always", "interval"])
def test_kills(place, durability, kills):
    """After each: nothing is lost that must not be, and life goes on as if nothing had happened.

    `python tests/store/store_trials.py kill PLACE always 300 5` does it 300 times.
    """
    number = kills["postgres" if is_postgres(place) else "sqlite"]
    result = run_trial(TRIALS, "kill", given(place), durability, number, 5)
    assert result["steps"] > 3 * number  # three of them after each kill
    if durability == "interval" and number >= 10:
        assert result["lost"] > 0  # else the trial shows nothing


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@short_and_long("kills", 3, 20)
def test_kills_while_forks_go_on_lose_nothing(tmp_path, kills):
    assert run_trial(TRIALS, "kill", tmp_path, "always", kills, 5, True)["refusals"] >= kills


def test_lives_have_all_kinds():
    """Other tests of stores live such lives, with kills in between."""
    bandit, kinds = new_bandit(), []
    bandit.attach(lambda events: kinds.extend(event[0] for event in events))
    for step in range(600):
        change(bandit, step)
    assert set(kinds) == {*KINDS, "observe"} - NOTES - {"skip"}


def test_a_process_that_forgets_to_close(place):
    text = run_trial(TRIALS, "left_open", given(place))
    with lb.Store(place) as store:
        assert store.bandit(NAME).to_json() == text


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
        for owner, name in ((owners, "_lock"), (stores, "recover")):
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
