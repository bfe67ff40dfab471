"""Decisions among some of the arms: left out once, paused for long, different ones for a page."""

import json
import random

import pytest
from colours import ARMS, arms_of, new_bandit

import lastblock as lb


@pytest.mark.parametrize("policy", [lb.LBSDAGM(), lb.Thompson()], ids=repr)
def test_only_eligible_arms_are_taken(policy):
    bandit = new_bandit(policy)
    assert set(arms_of(bandit, 40, among=["red", "blue"])) == {"red", "blue"}
    assert set(arms_of(bandit, 40, without=["red"])) == {"green", "blue"}
    assert set(arms_of(bandit, 5, among=["red", "blue"], without=["red"])) == {"blue"}
    assert set(arms_of(bandit, 40, among=ARMS)) <= set(ARMS)
    assert sum(bandit.pulls.values()) == bandit.asked


def test_all_arms_are_no_restriction():
    one, other = new_bandit(), new_bandit()
    for _ in range(30):
        assert one.ask(among=ARMS, without=[]) == other.ask()
    assert one.to_bytes() == other.to_bytes()


def test_a_single_eligible_arm_is_an_extra_pull():
    bandit, twin = new_bandit(), new_bandit()
    bandit.ask(3)
    twin.ask(3)
    assert {bandit.ask(among=["green"]).arm for _ in range(5)} == {"green"}
    assert bandit.explain().round == 1
    assert "'green' was the only eligible arm" in str(bandit.explain())
    assert len(bandit.pending) == 8
    assert bandit.summary().arms[1].out == 6


def test_a_turn_is_postponed():
    """The first round has every arm once; who is left out comes as soon as it may."""
    bandit = new_bandit()
    order = [decision.arm for decision in bandit.copy().ask(3)]
    assert bandit.ask(without=order[:1]).arm == order[1]
    said = bandit.explain()
    assert said.without == said.postponed == (order[0],)
    assert f"{order[0]!r} will have a turn in the round" in str(said)
    assert json.loads(json.dumps(said.to_dict()))["postponed"] == [order[0]]
    assert bandit.ask(without=order[:1]).arm == order[2]
    arms_of(bandit, 20, without=order[:1])  # whole rounds go by
    assert bandit.explain().postponed == (order[0],)
    assert bandit.ask().arm == order[0]
    assert bandit.explain().postponed == ()


def test_a_round_without_the_leader_has_another_leader():
    bandit = new_bandit()
    bandit.observe_many(ARMS * 20, [1.0, 0.0, 0.0] * 20)
    arms_of(bandit, 6)
    assert bandit.explain().leader == "red"
    arms_of(bandit, 3, without=["red"])
    said = bandit.explain()
    assert said.leader in ("green", "blue")
    assert {duel.arm for duel in said.duels} <= {"green", "blue"}
    assert "'red' could not be chosen" in str(said)
    assert bandit.summary().leader == said.leader
    while bandit.explain().round == said.round:
        bandit.tell(bandit.ask(), 0.0)
    assert bandit.explain().leader == "red"  # it has kept its past


def test_the_words_after_loading():
    bandit = new_bandit()
    arms_of(bandit, 20, without=["red"])
    loaded = lb.Bandit.from_bytes(bandit.to_bytes())
    assert "after some arms were left out" in str(loaded.explain())
    bandit.tell(bandit.ask(), 1.0)
    loaded.tell(loaded.ask(), 1.0)
    assert loaded.to_bytes() == bandit.to_bytes()


def test_different_arms_for_a_page():
    bandit = new_bandit()
    for _ in range(20):
        page = bandit.ask(3, distinct=True)
        assert {decision.arm for decision in page} == set(ARMS)
        bandit.tell_many(page, [0.0, 1.0, 0.0])
        two = bandit.ask(2, among=["red", "blue"], distinct=True)
        assert {decision.arm for decision in two} == {"red", "blue"}
        bandit.tell_many(two, [0.0, 1.0])
    assert [decision.arm for decision in bandit.ask(2, among=["red"])] == ["red", "red"]


def test_paused_arms():
    bandit = new_bandit(room=4)
    arms_of(bandit, 30)
    past = bandit.pulls
    late = bandit.ask(among=["green"])
    bandit.pause_arm("green")
    assert bandit.arms == {"red": "active", "green": "paused", "blue": "active"}
    assert bandit.pulls == past
    assert "green" not in arms_of(bandit, 30)
    assert bandit.ask(among=["green", "blue"]).arm == "blue"
    bandit.tell(late, 1.0)
    row = bandit.summary().arms[1]
    assert (row.arm, row.state, row.pulls) == ("green", "paused", past["green"] + 1)
    assert "paused" in str(bandit.summary())
    bandit.resume_arm("green")
    assert bandit.arms["green"] == "active"
    assert "green" in arms_of(bandit, 100)
    bandit.pause_arm("red")
    bandit.add_arm("gold")
    assert "gold" in arms_of(bandit, 10)
    bandit.retire_arm("red")
    assert bandit.arms["red"] == "retired"
    assert arms_of(bandit.copy(), 20) == arms_of(bandit, 20)


def test_floors_of_eligible_arms_alone():
    """With floors 0.1 each: without one arm, two floors are left and 0.8 for the policy."""
    bandit = new_bandit(floor=0.1)
    chances = set()
    taken = []
    for _ in range(400):
        decision = bandit.ask(without=["red"])
        chances.add(round(decision.probability, 12))
        taken.append(decision.arm)
        bandit.tell(decision, float(decision.arm == "green"))
    assert chances == {0.1, 0.9}
    share = taken.count("blue") / 400
    assert share > 0.1 - 4 * (0.1 * 0.9 / 400) ** 0.5
    assert bandit.ask(among=["red"]).probability == 1.0
    assert round(bandit.ask().probability, 12) in (0.1, 0.8)


def test_late_rewards_and_arms_that_are_left_out():
    """So many that counts need two bytes."""
    bandit, rng = new_bandit(lb.SWLBSDA(window=60)), random.Random(3)
    for step in range(300):
        bandit.ask(without=[rng.choice(ARMS)])
        if len(bandit.pending) > 5:
            late = rng.choice(bandit.pending)
            bandit.tell(late, rng.random()) if step % 7 else bandit.forget(late)
    assert lb.Bandit.from_bytes(bandit.to_bytes()).pending == bandit.pending
    assert sum(row.out for row in bandit.summary().arms) == len(bandit.pending)
