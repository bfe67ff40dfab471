"""A store that was open at a fork stays the parent's: the child is told so, and nothing is lost."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from databases import given

from lastblock.store import sqlite_connections
from lastblock.store.opening import is_postgres
from processes import environment, run_trial
from trials import short_and_long

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

TRIALS = Path(__file__).parent / "fork_trials.py"
OPENED = (
    "was open in the parent process when it forked; start workers by spawn, or open the store "
    "after the fork only (gunicorn: leave out --preload)"
)
USED = (
    "was opened before a fork and belongs to the parent process; start workers by spawn, or open "
    "the store after the fork only (gunicorn: leave out --preload)"
)


def opened_by(place):
    """What a child is told that opens the store: on PostgreSQL it may, but has no bandit."""
    return "is open in process" if is_postgres(place) else OPENED


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_child_is_refused_and_the_parent_goes_on(place, durability):
    opened, used = run_trial(TRIALS, "children", given(place), durability)
    assert opened_by(place) in opened
    assert USED in used
    assert "\n" not in opened + used


def test_a_closing_parent_takes_nothing_from_a_child(place):
    assert run_trial(TRIALS, "closed_while_a_child_writes", given(place))


def test_the_bandits_of_a_killed_parent_are_free_while_its_children_live(place):
    assert run_trial(TRIALS, "killed_parent", given(place)) == 50


@short_and_long("forks", {"sqlite": 4, "postgres": 2}, {"sqlite": 20, "postgres": 8})
def test_children_of_a_busy_parent_do_not_hang(place, tmp_path, forks):
    number = forks["postgres" if is_postgres(place) else "sqlite"]
    opened, used = run_trial(TRIALS, "busy_parent", given(place), number, tmp_path)
    assert opened_by(place) in opened
    assert USED in used


def test_a_file_is_not_opened_while_another_thread_forks(tmp_path, monkeypatch):
    """Its lock would come too late for the fork, and SQLite's mutexes would stay locked."""
    path, looks = tmp_path / "new.db", []
    path.touch()
    monkeypatch.setattr(sqlite_connections, "_paused", {-1: []})

    def look_again(seconds):
        assert not sqlite_connections._open
        looks.append(seconds)
        if len(looks) == 3:
            sqlite_connections._paused.clear()

    monkeypatch.setattr(sqlite_connections, "_open", {})
    monkeypatch.setattr(sqlite_connections.time, "sleep", look_again)
    sqlite_connections.connect(path, threading.RLock()).close()
    assert len(looks) == 3


def test_a_child_that_ends_leaves_the_log_of_others_alone(tmp_path):
    assert run_trial(TRIALS, "ends_like_a_program", tmp_path)


def test_workers_of_multiprocessing(tmp_path):
    answers = run_trial(TRIALS, "pool", tmp_path)
    assert OPENED in answers.pop("open")
    assert answers == {"closed": "", "spawned": "", "closed again": ""}


@short_and_long("kills", 3, 20)
def test_kills_while_forks_go_on_lose_nothing(tmp_path, kills):
    """`python tests/store/fork_trials.py kill FOLDER 200` does it 200 times."""
    result = run_trial(TRIALS, "kill", tmp_path, kills)
    assert result["refusals"] >= kills


APPLICATION = """
import os

import lastblock as lb

opened = {}


def bandit():
    if not opened:
        store = lb.Store("shop.db")
        names = store.names()
        arms = ["red", "green"]
        opened["bandit"] = (
            store.bandit("b") if names else store.create("b", lb.LBSDALM(), arms, seed=1)
        )
    return opened["bandit"]


if os.environ["WHEN"] == "at import":
    bandit()


def application(request, respond):
    try:
        bandit().tell(bandit().ask(), 1.0)
        text = str(sum(bandit().pulls.values()))
    except lb.StoreError as error:
        text = str(error)
    respond("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]
"""


class OverSocket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self._path)  # closed by close(), also after an error


def answers(folder, when, *options):
    """What gunicorn's one worker answers."""
    (folder / "shop.py").write_text(APPLICATION, encoding="utf-8")
    # A socket's path must be short.
    place = Path("web.sock")
    command = [sys.executable, "-m", "gunicorn", "-w", "1", "-b", f"unix:{place}", *options]
    server = subprocess.Popen(
        [*command, "shop:application"],
        cwd=folder,
        env={**environment(), "WHEN": when},
        stderr=subprocess.PIPE,
        text=True,
    )
    here = Path.cwd()
    os.chdir(folder)
    try:
        until = time.monotonic() + 120
        texts = []
        while len(texts) < 3:
            assert server.poll() is None, server.communicate()[1]
            assert time.monotonic() < until
            connection = OverSocket(place)
            try:
                connection.request("GET", "/")
                texts.append(connection.getresponse().read().decode())
            except (ConnectionError, FileNotFoundError, http.client.HTTPException):
                time.sleep(0.1)  # it has not begun yet
            finally:
                connection.close()
        return texts
    finally:
        os.chdir(here)
        server.terminate()
        server.communicate()


@pytest.mark.usefixtures("kept_kernels")
def test_gunicorn_without_preload(tmp_path):
    assert answers(tmp_path, "at import") == ["1", "2", "3"]


@pytest.mark.usefixtures("kept_kernels")
def test_gunicorn_with_preload(tmp_path):
    assert answers(tmp_path, "at the first request", "--preload") == ["1", "2", "3"]
    for text in answers(tmp_path, "at import", "--preload"):
        assert USED in text
