"""Adaptive LB-SDA: what it promises beyond its twin."""

import random
from statistics import fmean as mean

import pytest

import lastblock as lb
from lastblock.core.restarts import last_changes
from lastblock.core.verdicts import DOUBTED, FULL, LOST, REASONS, WON


@pytest.mark.parametrize("at", [5, 40, 200])
def test_one_far_reward_does_not_make_it_deaf(at):
    """A reward 1000 spreads away raises no alarm, and a change of the mean is noticed as before."""
    noticed = []
    for far in (0.0, 1000.0):
        world = random.Random(9)
        bandit = lb.Bandit(lb.AdaptiveLBSDA(), ["good", "bad"], seed=1, room=4)
        for t in range(600):
            decision = bandit.ask()
            reward = world.gauss(0.0 if t < 400 else 2.0, 1.0) + (far if t == at else 0.0)
            bandit.tell(decision, reward if decision.arm == "good" else -50.0)
        noticed.append([(c.noticed, c.decision) for c in bandit.changes])
    assert len(noticed[0]) == len(noticed[1]) == 1
    (plainly, _), (late, since) = noticed[0][0], noticed[1][0]
    assert 400 < plainly < 430
    assert plainly <= late < 430
    assert 380 < since < 420


def test_the_state_is_small_and_fixed():
    sizes = {lb.state_size(lb.AdaptiveLBSDA(), 4, horizon) for horizon in (None, 10, 10**9)}
    assert len(sizes) == 1
    assert sizes.pop() / 4 <= 3.5 * 1024


def test_a_long_run_outlives_its_epochs_and_stamps():
    """Far beyond 2³² decisions, in a record that has been told so."""
    bandit = lb.Bandit(lb.AdaptiveLBSDA(alertness=0.5), 3, seed=1)
    bandit._desk.live.s["before"] = bandit._desk.live.s["since"] = (1 << 32) - 450
    world = random.Random(1)
    for t in range(900):
        decision = bandit.ask()
        level = 4 * ((decision.arm + t // 300) % 2)
        bandit.tell(decision, float(level + world.randint(0, 3)))
    changes = last_changes(bandit._desk.live.s)
    assert len(changes) >= 2
    for change in changes:
        assert 0 <= change.noticed - change.since < 300


def test_explanations_hold_the_blocks_of_the_duels():
    """Of arms with few rewards, and of arms with more than a duel looks back at."""
    world = random.Random(8)
    bandit = lb.Bandit(lb.AdaptiveLBSDA(), ["a", "b"], seed=8, room=4)
    rewards = {"a": [], "b": []}
    words = set()
    for _ in range(1600):
        decision = bandit.ask()
        found = bandit.explain()
        for duel in found.duels:
            assert duel.mean == pytest.approx(mean(rewards[duel.arm][-duel.length :]))
            block = rewards[found.leader][-duel.leader_length :]
            assert duel.leader_mean == pytest.approx(mean(block))
            words.add(str(found).split("of its last")[1].split(": ")[1].split(".")[0])
        mine, other = (rewards[arm] for arm in ("ab" if decision.arm == "a" else "ba"))
        # Whichever arm has been pulled less pays a little more, so that both go on.
        reward = world.randint(0, 3) + 0.5 * (len(mine) < len(other))
        bandit.tell(decision, reward)
        mine.append(reward)
    assert bandit.changes == ()
    assert REASONS[FULL] in words
    assert {REASONS[WON], REASONS[LOST]} <= words


def test_a_duel_won_by_luck_is_not_believed():
    """A challenger that is plainly worse is left alone, and `explain` says so."""
    world = random.Random(2)
    bandit = lb.Bandit(lb.AdaptiveLBSDA(0.0), ["good", "bad"], seed=2, room=4)
    doubted = 0
    for _ in range(2000):
        decision = bandit.ask()
        found = bandit.explain()
        if REASONS[DOUBTED] in str(found):
            doubted += 1
            assert found.leader == decision.arm == "good"
            assert found.duels[0].won
            assert found.duels[0].mean >= found.duels[0].leader_mean
        bandit.tell(decision, world.gauss(0.4 if decision.arm == "good" else 0.0, 1.0))
    assert doubted > 0
