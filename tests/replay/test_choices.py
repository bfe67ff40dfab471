"""Logs in which arms come and go: what could be chosen, estimates that count it, refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from colour_logs import CHANGING

import lastblock as lb

TRUTH = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}
POLICY = lb.LBSDALM()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """20 000 decisions with a floor of 0.1; halfway, arm d comes and arm a goes."""
    folder = tmp_path_factory.mktemp("log")
    rng = np.random.default_rng(2)
    with lb.Store(folder / "shop.db", durability="never", keep_events=True) as store:
        bandit = store.create("button", POLICY, ["a", "b", "c"], seed=2, floor=0.1)
        for i in range(20_000):
            if i == 10_000:
                bandit.add_arm("d")
                bandit.retire_arm("a")
            decision = bandit.ask()
            bandit.tell(decision, float(rng.random() < TRUTH[decision.arm]))
        assert store.export("button", folder / "log.parquet") == 20_000
    return folder / "log.parquet"


def test_estimates_count_the_events_in_which_an_arm_could_be_chosen(exported):
    replay = lb.Replay(exported, propensity="probability")
    assert replay.arms == ("a", "b", "c", "d")
    for arm, truth in TRUTH.items():
        found = replay.estimate(arm)
        for one in (found.ips, found.snips):
            low, high = one.interval()
            assert low < truth < high
            assert one.standard_error < 0.02
        came_or_went = arm in "ad"
        assert found.events == (10_000 if came_or_went else 20_000)
        assert found.left_out == 20_000 - found.events
        said = f"; 10000 others left out: '{arm}' could not be chosen>"
        assert repr(found).endswith(said) == came_or_went


def test_estimates_without_the_column_are_refused_or_as_before(exported):
    """A log without choices: only what was always there can be estimated."""
    replay = lb.Replay(exported, propensity="probability", choices=None)
    for arm in "ad":
        message = r"weights of 20000 events average 0\.[45]\d* ± 0\.0\d*, and would average 1 if"
        with pytest.raises(ValueError, match=message) as caught:
            replay.estimate(arm)
        assert "choices='…'" in str(caught.value)
    for arm in "bc":
        known = lb.Replay(exported, propensity="probability").estimate(arm)
        assert replay.estimate(arm) == known


def test_uniform_and_evaluate(exported):
    """What `uniform` gives, `evaluate` takes."""
    replay = lb.Replay(exported, propensity="probability")
    before, after = replay.by_choices()
    assert (before.arms, after.arms) == (("a", "b", "c"), ("b", "c", "d"))
    assert len(before) == len(after) == 10_000
    for part, best in ((before, 0.3), (after, 0.4)):
        uniform = part.uniform(floor=0.1, seed=1)
        done = uniform.evaluate(POLICY, seed=1)
        assert 0.7 * best < done.estimate < best + 4 * done.standard_error
    assert after.estimate("d").ips == replay.estimate("d").ips
    old = lb.Replay(exported, propensity="probability", choices=None)
    with pytest.raises(ValueError, match="so some arms could not be chosen all the time") as caught:
        old.uniform(floor=0.1, seed=1)
    assert "use uniform()" not in str(caught.value)
    assert old.by_choices()[0].arms == old.arms


# Targets with several arms.


def new_replay(**changes):
    return lb.Replay({**CHANGING, **changes}, propensity="p")


def test_a_mixture_counts_where_all_its_arms_could_be_chosen():
    found = new_replay().estimate({"b": 0.4, "d": 0.6})
    worth = [0.6 / 0.25 * 4, 0.4 / 0.75 * 3, 0.0, 0.6 / 0.5 * 2]
    weights = [0.6 / 0.25, 0.4 / 0.75, 0.6 / 0.5, 0.6 / 0.5]
    assert (found.events, found.left_out) == (4, 4)
    assert found.reason == "all of ['b', 'd'] could not be chosen"
    assert found.ips.value == pytest.approx(sum(worth) / 4)
    assert found.snips.value == pytest.approx(sum(worth) / sum(weights))
    assert new_replay().estimate({"b": 0.4, "d": 0.6}, absent="skip") == found


def test_probabilities_of_absent_arms_are_shared_out():
    found = new_replay().estimate([0.25, 0.25, 0.5], absent="renormalise")
    early = [0.5 / 0.5 * 1, 0.0, 0.5 / 0.8 * 2, 0.5 / 0.2 * 1]  # a and b, with 1/2 each
    late = [2 / 3 / 0.25 * 4, 1 / 3 / 0.75 * 3, 0.0, 2 / 3 / 0.5 * 2]  # b with 1/3, d with 2/3
    assert (found.events, found.left_out, found.reason) == (8, 0, "")
    assert found.ips.value == pytest.approx(sum(early + late) / 8)
    table = np.tile([0.25, 0.25, 0.5], (8, 1))
    assert new_replay().estimate(table, absent="renormalise") == found
    only = new_replay().estimate("d", absent="renormalise")
    assert (only.events, only.left_out) == (4, 4)
    assert only.reason == "no arm that the target takes could be chosen"
    assert only.ips == new_replay().estimate("d").ips


def test_a_table_says_for_each_event_what_could_be_chosen():
    table = np.array([[0.5, 0.5, 0.0]] * 4 + [[0.0, 0.5, 0.5]] * 4)
    found = new_replay().estimate(table)
    assert (found.events, found.left_out) == (8, 0)
    table[5] = [0.1, 0.4, 0.5]
    skipped = new_replay().estimate(table, absent="skip")
    assert (skipped.events, skipped.left_out) == (7, 1)
    shared = new_replay().estimate(table, absent="renormalise")
    assert (shared.events, shared.left_out) == (8, 0)


def test_events_that_do_not_say_what_could_be_chosen():
    choices = [None, *CHANGING["choices"][1:]]
    found = new_replay(choices=choices).estimate("b")
    assert (found.events, found.left_out) == (7, 1)
    parts = new_replay(choices=choices).by_choices()
    assert [len(part) for part in parts] == [3, 4]
    assert [part.counts for part in parts] == [{"a": 1, "b": 2}, {"b": 1, "d": 3}]


# Where the column comes from.


@pytest.mark.parametrize("form", ["lists", "tuples", "sets", "json", "csv", "parquet", "frame"])
def test_forms_of_the_column(tmp_path, form):
    forms = {"tuples": tuple, "sets": set, "json": json.dumps, "csv": json.dumps}
    log = {**CHANGING, "could be": [*map(forms.get(form, list), CHANGING["choices"])]}
    del log["choices"]
    if form == "csv":
        pd.DataFrame(log).to_csv(log := tmp_path / "log.csv", index=False)
    elif form == "parquet":
        pd.DataFrame(log).to_parquet(log := tmp_path / "log.parquet")
    elif form == "frame":
        log = pd.DataFrame(log)
    replay = lb.Replay(log, propensity="p", choices="could be")
    assert replay.estimate("d") == new_replay().estimate("d")
    assert replay.estimate([0.0, 0.5, 0.5]) == new_replay().estimate([0.0, 0.5, 0.5])


def test_an_arm_that_was_never_chosen_is_an_arm():
    replay = new_replay(choices=[["a", "b", "x"]] * 4 + [["d", "b"]] * 4)
    assert replay.arms == ("a", "b", "d", "x")
    assert replay.counts["x"] == 0
    with pytest.raises(ValueError, match="takes arm 'x', which is never logged"):
        replay.estimate("x")
    whole = lb.Replay(([1, 2], [0, 1]), choices="choices")  # it need not be there
    assert whole.arms == (1, 2)
