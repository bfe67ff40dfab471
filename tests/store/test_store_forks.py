"""A store that was open at a fork stays the parent's: the child is told so, and nothing is lost."""

import os
from pathlib import Path

import pytest
from databases import given

from lastblock.store.opening import is_postgres
from processes import run_trial

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

TRIALS = Path(__file__).parent / "fork_trials.py"
REFUSED = (
    "was opened before a fork and belongs to the parent process; start workers by spawn, or open "
    "the store after the fork only (gunicorn: leave out --preload)"
)


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_a_child_is_refused_and_the_parent_goes_on(place, durability):
    opened, *used = run_trial(TRIALS, "children", given(place), durability)
    # On PostgreSQL a child may open the store for itself, but has no bandit of its parent.
    assert ("is open in process" if is_postgres(place) else REFUSED) in opened
    assert all(REFUSED in error and "\n" not in error for error in used)


def test_the_bandits_of_a_killed_parent_are_free_while_its_children_live(place):
    assert run_trial(TRIALS, "killed_parent", given(place)) == 50


def test_a_child_that_ends_leaves_the_log_of_others_alone(tmp_path):
    assert run_trial(TRIALS, "ends_like_a_program", tmp_path)


def test_workers_of_multiprocessing(tmp_path):
    answers = run_trial(TRIALS, "pool", tmp_path)
    assert REFUSED in answers.pop("open")
    assert answers == {"closed": "", "spawned": "", "closed again": ""}
