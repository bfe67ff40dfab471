"""What a live bandit says of its last round and its arms; also of policies that wrap others."""

import random

import numpy as np
import pytest
from colours import ARMS, new_bandit, play

import lastblock as lb


def test_words_outlive_a_change_of_arms(bandit):
    said = bandit.explain()
    bandit.retire_arm("red")
    assert bandit.explain() == said
    loaded = lb.Bandit.from_bytes(bandit.to_bytes())
    assert "arms have changed" in str(loaded.explain())
    play(bandit, 3)
    assert bandit.explain().round > said.round


def test_no_explanation_says_nan():
    """Thrice three thousand decisions are told at once, with wins and losses among the duels."""
    bandit = new_bandit(lb.LBSDALM(), arms=3)
    gone = []
    for batch in range(3):
        decisions = bandit.ask(3000)
        rewards = [float((d.id * 7 + batch) % 10 < 3 + d.arm) for d in decisions]
        bandit.tell_many(decisions, rewards)
        said = bandit.explain()
        assert "nan" not in str(said)
        for duel in said.duels:
            if duel.mean is None or duel.leader_mean is None:
                done = "pulled" if duel.arm in said.arms else "not pulled"
                assert f"{duel.arm} ({duel.length} rewards) was compared with" in str(said)
                assert f" and {done}; so many rewards have come since" in str(said)
                assert duel.won == (duel.arm in said.arms)
                gone.append(duel.won)
    assert set(gone) == {False, True}


def test_words_of_index_policies():
    bandit = new_bandit(lb.UCB1())
    play(bandit, 30)
    said = bandit.explain()
    assert said.arms == (max(said.index, key=said.index.get),)
    assert "chosen by its index" in str(said)
    drawn = new_bandit(lb.EXP3(gamma=0.2))
    play(drawn, 30)
    assert sum(drawn.explain().index.values()) == pytest.approx(1.0)
    wrapped = new_bandit(lb.Binarized(lb.LBSDALM()))
    play(wrapped, 50)
    assert wrapped.explain().leader in ARMS
    assert len(wrapped.explain().duels) == 2


def test_who_waits_is_told():
    bandit = new_bandit()
    for decision in bandit.ask(3):
        bandit.tell(decision, 1.0)  # all level: every challenger wins
    seen = set()
    for _ in range(40):
        bandit.ask()
        seen.update(bandit.explain().waiting)
    assert seen


def test_summary():
    bandit = new_bandit(lb.SWLBSDA(window=100), arms=3)
    told, when = {0: [], 1: [], 2: []}, None
    rng = np.random.default_rng(3)
    for _ in range(1000):
        decision = bandit.ask()
        leader = bandit.explain().leader
        if when is None or leader != when[0]:
            when = leader, decision.id
        reward = rng.normal([0.0, 0.5, 1.0][decision.arm])
        told[decision.arm].append(reward)
        bandit.tell(decision, reward)
    bandit.ask(2)
    summary = bandit.summary()
    assert (summary.asked, summary.leader) == (1002, 2)
    assert summary.since <= when[1] + 2
    assert sum(arm.out for arm in summary.arms) == 2
    for arm in summary.arms:
        rewards = told[arm.arm]
        assert arm.pulls == len(rewards)
        assert arm.mean == pytest.approx(np.mean(rewards))
        held = rewards[len(rewards) - int(arm.held) :]
        assert arm.held_mean == pytest.approx(np.mean(held))
    lines = str(summary).splitlines()
    assert len(lines) == 9
    assert "1002 decisions, 2 leads since decision" in lines[0]
    assert lines[7].startswith("No interval for 0")


def test_a_duel_of_unequal_blocks_is_not_said_to_be_one_of_equal_ones():
    bandit = lb.Bandit(lb.LBSDAGM(marks=4), arms=["red", "green"], seed=1, room=8)
    said = []
    for t in range(200):
        decision = bandit.ask()
        bandit.tell(decision, t * t % 7 + 0.01 * len(decision.arm))
        said += [bandit.explain()] if bandit.explain().duels else []
    unequal = [each for each in said if each.duels[0].length != each.duels[0].leader_length]
    assert unequal
    assert all("of these last rewards of the leader" in str(each) for each in unequal)


# Policies that wrap others, or forget.

LOOKED = "it is looked at since it has been silent for long"


@pytest.mark.parametrize("wrapped", [lb.UCB1(), lb.LBSDA(), lb.Giro()])
def test_a_restarted_policy_is_told_truly(wrapped):
    """Which arms it looks at by itself, and what it has held since the last restart."""
    bandit = lb.Bandit(lb.Restarting(wrapped, lb.MeanShift(0.0), 5.0), 3, seed=1)
    world = random.Random(1)
    since, looks, means = [[], [], []], 0, 0
    for t in range(160):
        decision, before = bandit.ask(), bandit.changes
        said = bandit.explain()
        look = said.flagged == (decision.arm,)
        assert (f"was not chosen by {wrapped}: {LOOKED}." in str(said)) == look
        assert not look or (said.duels, said.index) == ((), {})
        looks += look
        level = 0.9 if (decision.arm + t // 80) % 2 else 0.1
        reward = float(world.random() < level)
        bandit.tell(decision, reward)
        since[decision.arm].append(reward)
        summary = bandit.summary()
        if bandit.changes != before:
            since = [[], [], []]
            assert summary.leader is None
            assert [(row.held, row.held_mean) for row in summary.arms] == [(0.0, None)] * 3
        for row, own in zip(summary.arms, since, strict=True):
            if row.held_mean is not None and row.held == len(own) > 0:
                means += len(bandit.changes)
                assert row.held_mean == pytest.approx(np.mean(own))
    assert means > 0
    assert looks > 0
    assert min(bandit.pulls.values()) > 3  # none is neglected


@pytest.mark.parametrize(
    "policy",
    [
        lb.GLRKLUCB(exploration=0.1, delta=0.1),
        lb.MUCB(window=20, threshold=4.0, exploration=0.3),
        lb.OracleRestart(lb.LBSDA(), changes=[150]),
        lb.AdSwitch(horizon=400),
    ],
)
def test_a_policy_that_restarts_forgets_what_is_held_no_longer(policy):
    """One arm or all; `AdSwitch` keeps no sum of what it has not forgotten."""
    bandit = lb.Bandit(policy, 3, seed=2)
    own, forgotten = [[], [], []], 0
    for t in range(400):
        decision = bandit.ask()
        before = [row.held for row in bandit.summary().arms]
        reward = (decision.arm + t // 150) % 3 / 2 * 15 / 16 + t % 2 / 16
        bandit.tell(decision, reward)
        own[decision.arm].append(reward)
        rows = bandit.summary().arms
        held = [row.held for row in rows]
        for k in range(3):
            if held[k] == 0 or before[k] == 0:
                forgotten += len(own[k]) > 1
                own[k] = [reward] if k == decision.arm and held[k] > 0 else []
        for row, rewards in zip(rows, own, strict=True):
            assert row.held == len(rewards)
            if not rewards or (isinstance(policy, lb.AdSwitch) and row.pulls > len(rewards)):
                assert row.held_mean is None
            else:
                assert row.held_mean == pytest.approx(np.mean(rewards))
    assert forgotten > 0 or isinstance(policy, lb.AdSwitch)


def test_means_are_in_units_of_the_rewards():
    """The wrapped policy knows but 0 and 1; the coins are sure."""
    bandit = lb.Bandit(lb.Binarized(lb.SWLBSDA(window=60), low=-2.0, high=2.0), 3, seed=1)
    told = [[], [], []]
    for t in range(400):
        decision = bandit.ask()
        reward = 2.0 if (t + decision.arm) % (decision.arm + 2) else -2.0
        bandit.tell(decision, reward)
        told[decision.arm].append(reward)
    for row, own in zip(bandit.summary().arms, told, strict=True):
        assert (0 < row.held <= 60, row.pulls) == (True, len(own))
        assert row.mean == pytest.approx(np.mean(own))
        assert row.held_mean == pytest.approx(np.mean(own[len(own) - int(row.held) :]))
        assert -2.0 <= row.low < row.mean < row.high <= 2.0


def test_discounted_means():
    bandit = lb.Bandit(lb.DUCB(discount=0.9), 3, seed=1)
    weights, sums = np.zeros(3), np.zeros(3)
    for t in range(60):
        decision = bandit.ask()
        reward = [0.2, 0.5, 0.8][decision.arm] + t % 7 / 10
        bandit.tell(decision, reward)
        weights *= 0.9
        sums *= 0.9
        weights[decision.arm] += 1.0
        sums[decision.arm] += reward
    summary = bandit.summary()
    assert [row.held for row in summary.arms] == pytest.approx(weights)
    assert [row.held_mean for row in summary.arms] == pytest.approx(sums / weights)
    assert summary.leader == int(np.argmax(sums / weights))
