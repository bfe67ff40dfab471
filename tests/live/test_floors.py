"""Traffic floors: shares of decisions, and their probabilities."""

import math

import numpy as np
import pytest
from colours import ARMS, LEVEL, new_bandit, play, refuses

import lastblock as lb


def test_without_a_floor_there_is_no_probability(bandit):
    assert bandit.ask().probability is None
    assert bandit.floor == {}
    assert new_bandit(floor={}).floor == {}
    assert new_bandit(floor=0.0).ask().probability is None


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
    bandit = new_bandit(floor=0.1)
    handed, planned = [], None
    for _ in range(500):
        decision = bandit.ask()
        s = bandit._desk.live.s
        said = bandit.explain()
        if planned is not None and said.round != planned.round:
            assert handed == list(planned.arms)
            handed = []
        planned = said
        if s.taken > len(handed):
            handed.append(decision.arm)
        bandit.tell(decision, LEVEL[decision.arm] + decision.id % 3)


def test_floors_of_all_arms_hold_for_new_ones():
    bandit = new_bandit(floor=0.3)
    play(bandit, 50)
    bandit.retire_arm("red")
    assert bandit.floor == {"green": 0.3, "blue": 0.3}
    bandit.add_arm("gold")
    assert bandit.floor == {"green": 0.3, "blue": 0.3, "gold": 0.3}
    refuses(bandit, "4 arms add up to 1.2", lambda: bandit.add_arm("more"))
    some = new_bandit(floor={"red": 0.5})
    some.retire_arm("blue")
    some.add_arm("gold")
    assert some.floor == {"red": 0.5}


def test_floors_survive():
    bandit = new_bandit(floor={"red": 0.3})
    play(bandit, 40)
    bandit.ask(5)
    for other in (lb.Bandit.from_bytes(bandit.to_bytes()), bandit.copy()):
        assert other.pending == bandit.pending
        assert other.pending[0].probability in (0.3, 0.7, 1.0)
        assert play(other, 100) == play(bandit.copy(), 100)


def test_all_traffic_may_have_a_floor():
    bandit = new_bandit(floor=1 / 3)
    assert {d.probability for d in play(bandit, 100)} == {1 / 3}


@pytest.mark.parametrize(
    ("floor", "message"),
    [
        ({"gold": 0.1}, "'gold' is not one of the arms"),
        ({"red": -0.1}, "-0.1 for 'red' must lie in"),
        ({"red": 0.6, "blue": 0.6}, "add up to 1.2; make them add up to at most 1"),
        (0.5, "3 arms add up to 1.5"),
        ({"red": "x"}, "must be a number"),
        (math.nan, "must be finite"),
    ],
)
def test_impossible_floors(floor, message):
    with pytest.raises(ValueError, match=message):
        new_bandit(floor=floor)
