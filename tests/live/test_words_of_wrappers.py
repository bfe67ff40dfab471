"""What `explain` and `summary` say of policies that wrap others, or forget."""

import random

import numpy as np
import pytest

import lastblock as lb

pytestmark = pytest.mark.usefixtures("plain")
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
