"""The changes that a live bandit's policy has noticed: when, who gave them away, in words."""

import random

import pytest

import lastblock as lb

ADAPTIVE = lb.AdaptiveLBSDA(alertness=0.5)
RESTARTING = lb.Restarting(lb.Thompson(), lb.MeanShift())
ARMS = ["red", "green", "blue"]
BEFORE = {"red": 0.1, "green": 0.9, "blue": 0.2, "gold": 0.3}
AFTER = {"red": 0.1, "green": 0.1, "blue": 0.2, "gold": 0.3}


def live(policy, steps=700, floor=None, events=()):
    """A bandit whose leader falls; `events` happen before the decision of an id."""
    world = random.Random(5)
    bandit = lb.Bandit(policy, arms=ARMS, seed=5, floor=floor)
    for t in range(steps):
        for at, event in events:
            if at == t:
                event(bandit)
        decision = bandit.ask()
        level = (BEFORE if decision.id < 400 else AFTER)[decision.arm]
        bandit.tell(decision, float(world.random() < level))
    return bandit


both = pytest.mark.parametrize("policy", [ADAPTIVE, RESTARTING])


@both
@pytest.mark.parametrize(
    "options",
    [
        {},
        # An arm that leaves a round in which it was pulled, or enters one, does not stop the clock.
        {"events": [(3, lambda b: b.retire_arm("red")), (203, lambda b: b.add_arm("gold"))]},
        # A third of all decisions, which the policy does not count as its own.
        {"floor": {"red": 0.3}},
    ],
    ids=["alone", "arms", "floor"],
)
def test_changes_say_when_and_who(policy, options):
    bandit = live(policy, **options)
    change = bandit.changes[-1]
    assert change.arm == "green"
    assert 400 - 32 < change.decision <= change.noticed < 600
    assert change.old > 0.7
    assert change.new < 0.5
    # The restart was noticed by the reward of exactly this decision.
    assert live(policy, **options, steps=change.noticed).changes == bandit.changes[:-1]
    assert live(policy, **options, steps=change.noticed + 1).changes == bandit.changes


def test_a_policy_that_never_restarts_notices_no_change():
    bandit = live(lb.LBSDALM())
    assert bandit.changes == ()
    assert bandit.explain().change is None
    assert bandit.summary().change is None
    assert "world" not in f"{bandit.explain()}{bandit.summary()}"


@both
def test_words(policy):
    bandit = live(policy)
    (change,) = bandit.changes
    words = f"The world changed around decision {change.decision}; what came before is forgotten"
    assert words in str(bandit.explain())
    assert words in str(bandit.summary())
    assert bandit.explain().change == bandit.summary().change == change
    # An explanation is of the moment when the round was planned.
    sooner = live(policy, steps=change.noticed)
    decision = sooner.ask()
    sooner.tell(decision, 0.0)
    assert sooner.explain().change is None
    sooner.ask()
    assert sooner.changes == (sooner.explain().change,)


def test_long_numbers_are_easy_to_read():
    change = lb.Change(3014, 3050, "red", 0.25, 0.75)
    assert str(change) == (
        "The world changed around decision 3 014; what came before is forgotten "
        "('red' gave it away: mean 0.25 before, 0.75 since)."
    )
    assert "(an arm since retired gave it away: " in str(change._replace(arm=None))


def test_the_duels_of_the_adaptive_policy_are_told_in_rewards():
    """The record holds rewards less the first one; nobody should notice."""
    world = random.Random(1)
    bandit = lb.Bandit(ADAPTIVE, arms=ARMS, seed=1)
    told = {arm: [] for arm in ARMS}
    for _ in range(60):
        decision = bandit.ask()
        reward = 100.0 + BEFORE[decision.arm] + world.random()
        bandit.tell(decision, reward)
        told[decision.arm].append(reward)
    for row in bandit.summary().arms:
        assert row.held == row.pulls == len(told[row.arm])
        assert row.mean == pytest.approx(sum(told[row.arm]) / row.pulls)
    before = bandit.ask()
    explanation = bandit.explain()
    assert explanation.leader == "green"
    for duel in explanation.duels:
        assert duel.mean == pytest.approx(sum(told[duel.arm]) / duel.length)
        last = told["green"][-duel.leader_length :]
        assert duel.leader_mean == pytest.approx(sum(last) / len(last))
        assert duel.won == (duel.mean >= duel.leader_mean) == (duel.arm in explanation.arms)
    bandit.tell(before, 100.0)
    if bandit.explain().round == explanation.round:
        assert bandit.explain() == explanation


@both
def test_labels_stay_right_when_arms_come_and_go(policy):
    bandit = live(policy)
    (change,) = bandit.changes
    bandit.retire_arm("red")
    assert bandit.changes == (change,)
    bandit.add_arm("gold")
    assert bandit.changes == (change,)
    assert lb.Bandit.from_bytes(bandit.to_bytes()).changes == (change,)
    bandit.retire_arm("green")
    assert bandit.changes == (change._replace(arm=None),)


def test_a_wrapped_policy_notices_at_the_same_time():
    assert live(lb.Binarized(ADAPTIVE)).changes == live(ADAPTIVE).changes
