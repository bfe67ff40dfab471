"""Traffic floors: shares of decisions, and their probabilities."""

import math

import numpy as np
import pytest
from colours import ARMS, arms_of, new_bandit, play

import lastblock as lb


def test_floors_are_shares_of_decisions():
    n = 20_000
    bandit = new_bandit(floor={"red": 0.05, "blue": 0.1})
    assert bandit.floor == {"red": 0.05, "blue": 0.1}
    decisions = play(bandit, n)
    share = {arm: sum(d.arm == arm for d in decisions) / n for arm in ARMS}
    for arm, floor in bandit.floor.items():
        assert share[arm] > floor - 4 * math.sqrt(floor * (1 - floor) / n)
    # The probabilities are those of the arms that were taken: by inverse weights every arm with a
    # floor comes to 1, and so does the policy's choice.
    for arm, floor in bandit.floor.items():
        weights = np.array([(d.arm == arm) / d.probability for d in decisions])
        assert abs(weights.mean() - 1.0) < 4 * math.sqrt(1 / floor / n)
    assert {round(d.probability, 12) for d in decisions if d.arm == "red"} <= {0.05, 0.9}
    assert {round(d.probability, 12) for d in decisions if d.arm == "green"} == {0.85}


def test_a_floor_leaves_the_round_as_it_is():
    """Without delay and floor decisions aside, each round hands out the arms it planned."""
    bandit = new_bandit(floor={"red": 0.1})
    handed, planned, round = [], [], None
    for _ in range(500):
        decision = play(bandit, 1)[0]
        said = bandit.explain()
        if said.round != round:
            planned, round = [*planned, *said.arms], said.round
        handed.append(decision.arm)
    handed, planned = ([arm for arm in arms if arm != "red"] for arms in (handed, planned))
    assert handed == planned[: len(handed)]
    assert len(planned) <= len(handed) + 2


def test_all_traffic_may_have_a_floor():
    bandit = new_bandit(floor=1 / 3)
    assert {d.probability for d in play(bandit, 100)} == {1 / 3}


@pytest.mark.parametrize("policy", [lb.LBSDAGM(), lb.Thompson()], ids=repr)
@pytest.mark.parametrize("floor", [0.1, {"red": 0.2, "blue": 0.1}], ids=repr)
def test_set_at_once_they_are_those_of_a_new_bandit(policy, floor):
    made, later = new_bandit(policy, floor=floor), new_bandit(policy)
    later.set_floors(floor)
    assert play(later, 40) == play(made, 40)
    assert later.floor == made.floor
    assert later.to_bytes() == made.to_bytes()


def test_decisions_have_a_probability_while_there_are_floors():
    bandit = new_bandit()
    assert bandit.floor == new_bandit(floor={}).floor == {}
    assert new_bandit(floor=0.0).ask().probability is None
    assert {each.probability for each in play(bandit, 10)} == {None}
    out = bandit.ask()
    bandit.set_floors({"red": 0.25})
    assert bandit.floor == {"red": 0.25}
    assert {each.probability for each in play(bandit, 60)} == {0.25, 0.75, 1.0}
    floored = bandit.ask()
    bandit.set_floors({"red": 0.0})
    assert bandit.floor == {}
    assert {each.probability for each in play(bandit, 10)} == {None}
    # What is out keeps the probability that it was taken with.
    assert [each.probability for each in bandit.pending] == [None, floored.probability]
    bandit.tell(out, 1.0)
    bandit.tell(floored, 1.0)


def test_without_floors_again_no_number_is_drawn():
    """Floors of decisions that were never taken leave no trace."""
    plain, other = new_bandit(), new_bandit()
    play(plain, 20), play(other, 20)
    other.set_floors(0.2)
    other.set_floors(None)
    assert play(plain, 30) == play(other, 30)
    assert plain.to_bytes() == other.to_bytes()


def test_arms_that_come_and_go():
    """A floor for all holds for new ones, too."""
    bandit = new_bandit(floor=0.3)
    bandit.retire_arm("red")
    assert bandit.floor == {"green": 0.3, "blue": 0.3}
    bandit.add_arm("gold")
    assert bandit.floor == {"green": 0.3, "blue": 0.3, "gold": 0.3}
    bandit.set_floors({"gold": 0.3})
    bandit.add_arm("grey")
    bandit.retire_arm("blue")
    assert bandit.floor == {"gold": 0.3}
    bandit.set_floors({"grey": 0.5, "gold": 0.5})
    assert set(arms_of(bandit, 30)) == {"grey", "gold"}
    bandit.set_floors(0.1)
    bandit.add_arm("red again")
    assert set(bandit.floor.values()) == {0.1}
