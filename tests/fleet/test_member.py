"""One bandit of a fleet as a live bandit."""

import copy
import gc
import pickle
import re

import numpy as np
import pytest

import lastblock as lb
from lastblock.fleet import member as fleet_bandit

ARMS = 3
SEED = 7
FULL = {"policy": lb.LBSDALM(minimum=4, scale=0.5)}
WINDOW = {"policy": lb.SWLBSDA(window=60)}
both = pytest.mark.parametrize("kind", [FULL], ids=["full"])
all_three = pytest.mark.parametrize("kind", [FULL, WINDOW], ids=["full", "window"])


def new_fleet(kind, size=20):
    return lb.Fleet(**kind, arms=ARMS, size=size, seed=SEED)


def play(bandit, steps, start=0):
    """Whole rewards, told at once; returns the arms."""
    arms = []
    for t in range(start, start + steps):
        decision = bandit.ask()
        bandit.tell(decision, float((decision.arm * 7 + t * t) % 5))
        arms.append(decision.arm)
    return arms


@all_three
def test_a_bandit_does_to_its_record_what_the_fleet_would_do(kind):
    fleet, other = new_fleet(kind), new_fleet(kind)
    bandit = other.bandit(5)
    for part in range(4):
        for t in range(part * 50, part * 50 + 50):
            arms = fleet.ask([5])
            fleet.tell([5], arms, (arms * 7 + t * t) % 5)
        if part % 2 == 0:
            play(bandit, 50, part * 50)
        else:  # the fleet goes on where the bandit stopped
            for t in range(part * 50, part * 50 + 50):
                arms = other.ask([5])
                other.tell([5], arms, (arms * 7 + t * t) % 5)
        assert other._states.tobytes() == fleet._states.tobytes()
        assert list(bandit.pulls.values()) == fleet.pulls([5])[0].tolist()
    assert isinstance(bandit, lb.FleetBandit)
    assert list(bandit.arms) == [0, 1, 2]


def test_the_first_one_is_an_ordinary_bandit_with_the_same_seed():
    bandit = lb.Bandit(FULL["policy"], ARMS, seed=SEED)
    assert play(new_fleet(FULL).bandit(0), 100) == play(bandit, 100)


@all_three
def test_a_copy_is_an_ordinary_bandit_that_decides_alike(kind):
    fleet = new_fleet(kind)
    bandit = fleet.bandit(3)
    play(bandit, 700)
    waiting = bandit.ask()
    copies = [
        bandit.copy(),
        copy.deepcopy(bandit),
        pickle.loads(pickle.dumps(bandit)),
        lb.Bandit.from_bytes(bandit.to_bytes()),
        lb.Bandit.from_json(bandit.to_json()),
    ]
    before = fleet._states.tobytes()
    played = []
    for other in copies:
        assert type(other) is lb.Bandit
        assert other.pending == bandit.pending
        assert other.pulls == bandit.pulls
        other.tell(waiting.id, 1.0)
        played.append(play(other, 300, 700))
    assert fleet._states.tobytes() == before
    bandit.tell(waiting, 1.0)
    expected = play(bandit, 300, 700)
    assert all(arms == expected for arms in played)
    assert copies[0].pulls == bandit.pulls
    copies[0].add_arm("new")
    assert play_labels(copies[0], 5) >= {"new"}


def play_labels(bandit, n):
    return {bandit.ask().arm for _ in range(n)}


def test_a_policy_that_keeps_every_reward_cannot_grow_in_a_fleet():
    fleet = lb.Fleet(lb.LBSDA(), arms=ARMS, size=3, seed=SEED, horizon=63)
    bandit = fleet.bandit(1)
    while max(bandit.pulls.values()) < 62:
        play(bandit, 1)
    best = max(bandit.pulls, key=bandit.pulls.get)
    decisions = [decision for decision in bandit.ask(30) if decision.arm == best][:2]
    before = fleet._states.tobytes()
    with pytest.raises(ValueError, match="record is full and cannot grow"):
        bandit.tell_many(decisions, [1.0, 1.0])
    assert fleet._states.tobytes() == before
    assert len(bandit.pending) == 30
    bandit.tell(decisions[0], 1.0)
    with pytest.raises(ValueError, match="record is full and cannot grow"):
        bandit.tell(decisions[1], 1.0)
    assert bandit.copy().pulls[best] == 63


@both
def test_what_the_fleet_has_answered_cannot_be_told_again(kind):
    fleet = new_fleet(kind)
    bandit = fleet.bandit(4)
    first, second, third = bandit.ask(3)  # every arm once
    fleet.tell([4], [first.arm], [1.0])
    fleet.forget([4], [second.arm])
    before = fleet._states.tobytes()
    for act in (
        lambda: bandit.tell(first, 1.0),
        lambda: bandit.tell_many([third, second], [1.0, 1.0]),
        lambda: bandit.tell_many([third, first], [1.0, 1.0]),
    ):
        with pytest.raises(lb.UnknownDecisionError, match="told or forgotten through the fleet"):
            act()
    assert len(bandit.pending) == 3
    bandit.forget(first)
    bandit.forget(second)
    assert fleet._states.tobytes() == before
    bandit.tell(third, 1.0)
    assert bandit.pending == ()
    assert sum(bandit.pulls.values()) == 2
    with pytest.raises(lb.UnknownDecisionError, match="position 0: bandit 4 has no such"):
        fleet.tell([4], [third.arm], [1.0])


@both
def test_it_explains_what_it_planned_and_sums_up_what_it_knows(kind):
    fleet = new_fleet(kind)
    for _ in range(40):
        arms = fleet.ask([2])
        fleet.tell([2], arms, arms + 1.0)
    bandit = fleet.bandit(2)
    assert "a fleet planned it. Call ask()" in str(bandit.explain())
    play(bandit, 10)
    told = bandit.explain()
    assert told.round == fleet._states["round"][2]
    assert told.leader == int(fleet._states["leader"][2])
    assert len(told.duels) + len(told.forced) == ARMS - 1
    summary = bandit.summary()
    assert [row.pulls for row in summary.arms] == fleet.pulls([2])[0].tolist()
    assert summary.leader == told.leader
    for row in summary.arms:
        assert row.held == fleet._states["history"]["kept"][2, row.arm]
        assert row.held_low <= row.held_mean <= row.held_high
        assert (row.mean, row.low, row.high) == (None, -np.inf, np.inf)
    assert "A fleet took some of these rewards." in str(summary)
    assert (summary.best, summary.sure, summary.contenders) == (None, None, ())
    fleet.tell([2], fleet.ask([2]), [1.0])
    assert bandit.summary().arms != summary.arms


def test_explained_duels_are_those_of_an_ordinary_bandit():
    fleet = lb.Fleet(**FULL, arms=ARMS, size=1, seed=SEED)
    bandit, ordinary = fleet.bandit(0), lb.Bandit(FULL["policy"], ARMS, seed=SEED)
    for t in range(0, 400, 3):
        assert play(bandit, 3, t) == play(ordinary, 3, t)
        assert bandit.explain().duels == ordinary.explain().duels
        mine, its = bandit.summary(), ordinary.summary()
        assert [row[:6] for row in mine.arms] == [row[:6] for row in its.arms]


@both
def test_refusals_change_nothing(kind):
    fleet = new_fleet(kind)
    bandit = fleet.bandit(2)
    decision = bandit.ask()
    before = fleet._states.tobytes()
    for act, message in [
        (
            lambda: bandit.apply(("add_arm", None, 3, 3)),
            "of a fleet cannot come or go",
        ),
        (lambda: bandit.apply(("retire_arm", None, 1, None)), "of a fleet cannot come or go"),
        (lambda: bandit.tell(decision, 1e300), "must be finite and below 1e+290 in size"),
        (lambda: bandit.tell_many([decision], [np.nan]), "finite and below 1e+290 in size"),
        (lambda: fleet.bandit(20), "id=20 is not one of this fleet's bandits, 0 to 19"),
        (lambda: fleet.bandit(-1), "id=-1 is not"),
        (lambda: fleet.bandit(1.5), "id=1.5 must be a whole number"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            act()
        assert fleet._states.tobytes() == before


def test_there_is_one_bandit_of_a_number_at_a_time():
    fleet = new_fleet(FULL)
    bandit = fleet.bandit(np.int64(2))
    bandit.ask()
    assert fleet.bandit(2) is bandit
    fleet.close()
    with pytest.raises(ValueError, match="this fleet is closed"):
        fleet.bandit(2)


def held(fleet):
    """How many bandits the fleet keeps alive itself."""
    return len(fleet._bandits._out)


def test_nobody_has_to_keep_a_bandit_that_has_decisions_out():
    fleet = new_fleet(FULL)
    first, second = fleet.bandit(7).ask(), fleet.bandit(7).ask()
    gc.collect()
    assert (first.id, second.id) == (0, 1)
    assert [pending.id for pending in fleet.bandit(7).pending] == [0, 1]
    fleet.bandit(7).tell(first, 1.0)
    assert held(fleet) == 1
    fleet.bandit(7).forget(second)
    assert held(fleet) == 0
    gc.collect()
    with pytest.raises(lb.UnknownDecisionError, match="decision 1 has been told or forgotten"):
        fleet.bandit(7).tell(second, 1.0)
    third = fleet.bandit(7).ask()
    assert third.id == 2  # no id comes twice
    assert fleet.bandit(7).expire(older_than=0) == ()
    fleet.bandit(7).ask()
    assert [late.id for late in fleet.bandit(7).expire(older_than=0)] == [2]
    assert fleet.bandit(8).ask().id == 0
    assert held(fleet) == 2
    assert sum(fleet.bandit(7).pulls.values()) == 1


def test_what_the_fleet_answers_is_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr(fleet_bandit, "FEW_OUT", 4)
    fleet = new_fleet(FULL, size=60)
    fleet._bandits._enough = 4
    kept = fleet.bandit(0).ask()
    for i in range(1, 60):
        decision = fleet.bandit(i).ask()
        fleet.tell([i], [decision.arm], [1.0])
        assert held(fleet) <= 5
    bandit = fleet.bandit(1)
    for _ in range(50):
        fleet.tell([1], [bandit.ask().arm], [1.0])
        assert len(bandit.pending) <= 5
    fleet.bandit(0).tell(kept, 1.0)


@all_three
def test_a_journal_that_fails_leaves_the_record_as_it_was(kind):
    fleet, undisturbed = new_fleet(kind), new_fleet(kind)
    for one in (fleet, undisturbed):
        play(one.bandit(5), 100)
    bandit = fleet.bandit(5)
    waiting = bandit.ask()
    undisturbed.bandit(5).ask()
    events, fails = [], True

    def journal(new):
        if fails:
            raise OSError("the disk is full")
        events.extend(new)

    bandit.attach(journal)
    before, told = fleet._states.tobytes(), bandit.summary()
    for act in (
        bandit.ask,
        lambda: bandit.ask(5),
        lambda: bandit.tell(waiting, 1.0),
        lambda: bandit.forget(waiting),
    ):
        with pytest.raises(OSError, match="the disk is full"):
            act()
        assert fleet._states.tobytes() == before
        assert [pending.id for pending in bandit.pending] == [waiting.id]
        assert (bandit.asked, bandit.summary()) == (waiting.id + 1, told)
    fails = False
    bandit.tell(waiting, 1.0)
    undisturbed.bandit(5).tell(waiting.id, 1.0)
    assert play(bandit, 100, 100) == play(undisturbed.bandit(5), 100, 100)
    assert fleet._states.tobytes() == undisturbed._states.tobytes()
    assert len(events) == 201


@both
def test_what_the_fleet_has_answered_expires_in_silence(kind):
    fleet = new_fleet(kind)
    bandit = fleet.bandit(4)
    first, second, third = bandit.ask(3)  # every arm once
    fleet.tell([4], [first.arm], [1.0])
    before = fleet._states.tobytes()
    with pytest.raises(ValueError, match="must be finite"):
        bandit.expire(older_than=0, reward=np.nan)
    assert fleet._states.tobytes() == before
    assert len(bandit.pending) == 3
    assert [late.id for late in bandit.expire(older_than=0, reward=0.5)] == [second.id]
    assert [pending.id for pending in bandit.pending] == [third.id]
    assert sum(bandit.pulls.values()) == 2
    fleet.forget([4], [third.arm])
    bandit.ask()
    assert bandit.expire(older_than=0) == ()
    assert len(bandit.pending) == 1


@both
def test_a_closed_fleet_takes_its_bandits_and_its_file_with_it(kind, tmp_path):
    path = tmp_path / "fleet"
    fleet = lb.Fleet.create(path, **kind, arms=ARMS, size=20, seed=SEED)
    bandit = fleet.bandit(2)
    play(bandit, 10)
    waiting = bandit.ask()
    fleet.close()
    for act in (
        bandit.ask,
        lambda: bandit.ask(3),
        lambda: bandit.tell(waiting, 1.0),
        lambda: bandit.tell_many([], []),
        lambda: bandit.forget(waiting),
        lambda: bandit.expire(older_than=0),
        lambda: bandit.pulls,
        lambda: bandit.pending,
        lambda: bandit.asked,
        lambda: bandit.arms,
        lambda: bandit.policy,
        bandit.summary,
        bandit.explain,
        bandit.copy,
        bandit.to_bytes,
        lambda: bandit.attach(None),
        lambda: bandit.reseed(1),
        lambda: bandit.locked().acquire(),
    ):
        with pytest.raises(ValueError, match="this fleet is closed"):
            act()
    assert repr(bandit) == "<Bandit of a closed fleet>"
    with lb.Fleet.open(path) as fleet:
        assert fleet.pulls([2]).sum() == 10
        assert fleet.bandit(2).pending == ()  # a file counts what is out, it does not number it
        fleet.tell([2], [waiting.arm], [1.0])


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda b: b.observe(0, 1.0), AttributeError, r"has no observe\(\); take a copy of it out"),
        (lambda b: b.pause_arm(0), AttributeError, r"fleet\.bandit\(i\)\.copy\(\)\.pause_arm\(…\)"),
        (lambda b: b.observ(0, 1.0), AttributeError, "'FleetBandit' object has no attribute"),
        (lambda b: b.ask(key="x"), TypeError, "do not remember keys; take a copy"),
        (lambda b: b.tell(0, 1.0, key="x"), TypeError, "do not remember keys; take a copy"),
        (lambda b: b.ask(2, distinct=True), TypeError, "choose among all their arms"),
        (lambda b: b.ask(among=[1]), TypeError, "choose among all their arms"),
    ],
)
def test_what_only_a_bandit_of_its_own_can_do(act, error, message):
    fleet = new_fleet(FULL)
    bandit = fleet.bandit(3)
    bandit.ask()
    before = bandit.copy().to_bytes()
    with pytest.raises(error, match=message):
        act(bandit)
    assert bandit.copy().to_bytes() == before
    assert not hasattr(bandit, "observe")
