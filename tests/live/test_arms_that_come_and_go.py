"""Arms that are added to a live bandit and retired."""

import pytest
from colours import ARMS, new_bandit, play

import lastblock as lb


def test_a_new_arm_is_pulled_next():
    bandit = new_bandit(room=4)
    play(bandit, 100)
    bandit.add_arm("gold")
    assert bandit.arms == {**dict.fromkeys(ARMS, "active"), "gold": "active"}
    assert "gold" in [decision.arm for decision in play(bandit, 4)]
    play(bandit, 300)
    assert bandit.pulls["gold"] > 200  # it is the best


def test_the_ninth_arm_grows_the_record_once():
    policy = lb.LBSDALM(minimum=20, scale=0.1)
    bandit = new_bandit(policy, arms=3, room=8)
    assert bandit.state_size == lb.state_size(policy, 8) == lb.state_size(policy, 3, room=7)
    play(bandit, 50)
    sizes = []
    for arm in range(3, 12):
        bandit.add_arm(arm)
        play(bandit, 20)
        sizes.append(bandit.state_size)
    assert sizes == [lb.state_size(policy, 8)] * 5 + [lb.state_size(policy, 16)] * 4
    assert all(pulls > 0 for pulls in bandit.pulls.values())
    assert lb.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()


def test_room_changes_no_decision():
    one, other = new_bandit(), new_bandit(room=4)
    assert play(one, 200) == play(other, 200)


def test_late_rewards_of_a_retired_arm_are_ignored():
    bandit = new_bandit()
    first = bandit.ask(3)  # each arm once
    late = next(decision for decision in first if decision.arm == "red")
    dropped = bandit.ask(30)
    bandit.retire_arm("red")
    assert bandit.arms["red"] == "retired"
    assert late.id in [out.id for out in bandit.pending]
    other = bandit.copy()
    other.forget(late)
    bandit.tell(late, 5.0)
    assert bandit.to_bytes() == other.to_bytes()
    assert bandit.pulls["red"] == 0
    with pytest.raises(lb.UnknownDecisionError, match="told or forgotten already"):
        bandit.tell(late, 5.0)
    for decision in dropped:
        bandit.forget(decision)
    assert all(decision.arm != "red" for decision in play(bandit, 300))
    ids = [decision.id for decision in play(bandit, 5)]
    assert ids == list(range(333, 338))  # never used again


def test_a_growing_record_takes_arms_too():
    bandit = new_bandit(lb.LBSDA(), arms=2, room=3)
    while max(bandit.pulls.values()) < 1100:  # beyond the first record
        bandit.tell(bandit.ask(), 1.0)
    bandit.add_arm(2)
    play(bandit, 50)
    assert bandit.pulls[2] > 0
    bandit.retire_arm(0)
    play(bandit, 50)
    assert lb.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()
