"""Kills and interrupts at any moment: bandit and log stay alike."""

import os
import shutil
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from databases import fetch, given
from lives import NAME, change, new_bandit, skip_lost

import lastblock as lb
from lastblock.engine.events import KINDS, NOTES
from lastblock.store.opening import is_postgres
from processes import run_trial
from trials import short_and_long

FOLDER = str(Path(lb.__file__).parent / "store")
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
    assert run_trial(TRIALS, "kill", tmp_path, "always", kills, 5, True)["refusals"] > 0


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
        assert fetch(path, "SELECT policy FROM bandits") == [("x",)]
        bandit.ask()


CALLS = {
    "open": lambda store, bandit: None,
    "bandit": lambda store, bandit: store.bandit(NAME),
    "ask": lambda store, bandit: bandit.ask(2),
    "tell": lambda store, bandit: bandit.tell(0, 1.0),
    "flush": lambda store, bandit: (bandit.ask(), store.flush()),
    "snapshot": lambda store, bandit: store.snapshot(NAME),
    "release": lambda store, bandit: store.release(NAME),
    "close": lambda store, bandit: store.close(),
}


def interrupted(after, work):
    """Interrupt work when so many calls within the store have returned; False if it has fewer."""
    left = [after]

    def profile(frame, event, _):
        if event.endswith("return") and frame.f_code.co_filename.startswith(FOLDER):
            left[0] -= 1
            if left[0] == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(profile)
    with suppress(KeyboardInterrupt):
        work()
    sys.setprofile(None)
    return left[0] <= 0


def do(what, opened, path, durability, bandit):
    """Open the store if need be, and make a call."""
    if not opened:
        opened.append(lb.Store(path, durability=durability))
    CALLS[what](opened[0], bandit)


@pytest.mark.usefixtures("plain")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("durability", ["always", "interval"])
@pytest.mark.parametrize("what", CALLS)
@short_and_long("stride", 23, 1)
def test_an_interrupt_after_any_call(tmp_path, what, durability, stride):
    """Nothing was done or all of it, nothing stays locked, and all can be done again."""
    with lb.Store(tmp_path / "0.db") as store:
        new_bandit(store.create, name=NAME).ask(3)
    twin = new_bandit()
    twin.ask(3)
    later = twin.copy()
    if what in ("ask", "tell", "flush"):
        later.tell(0, 1.0) if what == "tell" else later.ask(2 if what == "ask" else 1)
    for after in range(1, 2000, stride):
        path = shutil.copy(tmp_path / "0.db", tmp_path / f"{after}.db")
        opened = [] if what == "open" else [lb.Store(path, durability=durability)]
        bandit = opened[0].bandit(NAME) if what not in ("open", "bandit") else None
        was_hit = interrupted(after, partial(do, what, opened, path, durability, bandit))
        if durability == "always":
            fetch(path, "BEGIN IMMEDIATE")  # others can write
        for store in opened:
            if what == "close":
                store.close()
                continue
            store.bandit(NAME).tell_many((), ())
            store.verify(NAME)
            store.release(NAME)
        with lb.Store(path) as other:
            found = other.bandit(NAME)
            alike = [each.copy() for each in (twin, later)]
            for each in alike:
                skip_lost(each, found)  # ids that were reserved when it was hit
            assert found.to_bytes() in [each.to_bytes() for each in alike]
            found.ask()
        for store in opened:
            store.close()
        if not was_hit:
            break
    else:  # as when each interrupt leaves a handle open, which the next store looks at
        pytest.fail("the calls within one call grow with those that were interrupted")
