"""The live bandit: decisions out in any number and order, errors that change nothing."""

import copy
import pickle
from contextlib import suppress
from unittest import mock

import numpy as np
import pytest
from colours import ARMS, POLICY, new_bandit, play

import lastblock as lb
from documented import EXPLORE_FIRST


def test_labels():
    bandit = new_bandit()
    assert bandit.arms == {"red": "active", "green": "active", "blue": "active"}
    assert bandit.policy == POLICY
    assert {bandit.ask().arm for _ in range(3)} == set(ARMS)
    assert list(lb.Bandit(POLICY, arms=3, seed=7).arms) == [0, 1, 2]
    assert list(lb.Bandit(POLICY, arms=(10, "x"), seed=7).arms) == [10, "x"]
    assert repr(new_bandit()) == f"<Bandit {POLICY}: {{'red': 0, 'green': 0, 'blue': 0}}, 0 out>"


@pytest.mark.parametrize(
    ("policy", "steps", "sizes"),
    [(POLICY, 600, 1), (lb.SWLBSDA(window=60), 600, 1), (lb.LBSDA(), 2600, 3)],
)
def test_told_at_once_it_is_replication_zero(policy, steps, sizes):
    """LB-SDA keeps every reward: its record begins with room for 1023 of an arm, then doubles."""
    env = lb.Stationary([lb.Gaussian(0.0), lb.Gaussian(0.5), lb.Bernoulli(0.2)])
    trace = lb.trace(policy, env, horizon=steps, seed=11)
    bandit = lb.Bandit(policy, arms=3, seed=11)
    found = {bandit.state_size}
    for arm, reward in zip(trace.arms, trace.rewards, strict=True):
        decision = bandit.ask()
        assert decision.arm == arm
        bandit.tell(decision, reward)
        found.add(bandit.state_size)
    assert len(found) == sizes
    assert list(bandit.pulls.values()) == np.bincount(trace.arms).tolist()
    assert lb.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()


def test_state_size():
    for policy in (lb.LBSDALM(), lb.SWLBSDA(window=60), lb.LBSDA()):
        bandit = lb.Bandit(policy, arms=3)
        assert bandit.state_size == lb.state_size(policy, 3)
    bandit = new_bandit()
    play(bandit, 2000)
    assert bandit.state_size == lb.state_size(POLICY, 3)
    sizes = [lb.state_size(POLICY, arms) for arms in range(2, 18)]
    rooms = [2, 4, 4, *[8] * 4, *[16] * 8, 32]
    assert sizes == [lb.state_size(POLICY, room) for room in rooms]
    assert len(set(sizes)) == 5
    assert lb.state_size(lb.LBSDA(), 3, horizon=10_000) > lb.state_size(lb.LBSDA(), 3, horizon=100)


def test_several_decisions_out_told_in_any_order():
    bandit = new_bandit()
    decisions = [bandit.ask() for _ in range(20)]
    assert [decision.id for decision in decisions] == list(range(20))
    assert [(out.arm, out.id) for out in bandit.pending] == [(d.arm, d.id) for d in decisions]
    assert [out.age for out in bandit.pending] == list(range(19, -1, -1))
    for i in np.random.default_rng(1).permutation(20):
        before = bandit.pulls[decisions[i].arm]
        bandit.tell(decisions[i] if i % 2 else decisions[i].id, 1.0)  # an id will do
        assert bandit.pulls[decisions[i].arm] == before + 1
    assert bandit.pending == ()
    assert sum(bandit.pulls.values()) == 20


@pytest.mark.parametrize("policy", [lb.LBSDALM(), lb.LBSDA()])
def test_late_rewards_do_not_pile_up_a_challenger(policy):
    # Two arms: a round pulls one of them, so it is planned when it is asked for. The arm with fewer
    # rewards is the challenger; it may have out as many as it has in, or the few pulls that the
    # sampling obligation √log r allows (at most 3 before round 8 000).
    bandit = lb.Bandit(policy, arms=2, seed=13, room=4)
    rng = np.random.default_rng(13)
    worst = 0
    for step in range(1500):
        told = bandit.pulls
        decision = bandit.ask()
        out = sum(decision.arm == other.arm for other in bandit.pending)
        if step >= 2 and told[decision.arm] < told[1 - decision.arm]:
            # … and as many again since all waiting ended, at round 16, 32, 64 …
            assert out <= 4 * max(told[decision.arm], 3)
            worst = max(worst, out)
        if len(bandit.pending) > 100:  # every reward is 100 decisions late
            late = bandit.pending[0]
            bandit.tell(late, rng.normal(0.5 * late.arm))
    assert worst > 0
    # Nor is the better arm held back: it overtakes, though more is out than the memory holds.
    assert bandit.pulls[1] > 2 * bandit.pulls[0]


def test_a_decision_is_a_value():
    bandit = new_bandit()
    twin = bandit.copy()
    decision = bandit.ask()
    assert decision == twin.ask() == pickle.loads(pickle.dumps(decision))
    assert decision != bandit.ask()
    assert decision == copy.copy(decision)
    with pytest.raises(TypeError, match="unhashable type: 'Decision'"):
        hash(decision)  # it can be changed: a dictionary would lose it
    arm, id, probability = decision
    assert (arm, id, probability) == (decision.arm, 0, None)
    assert repr(decision) == f"Decision(arm={arm!r}, id=0, probability=None)"


@pytest.mark.parametrize("policy", [lb.LBSDALM(), lb.LBSDA()], ids=str)
def test_the_short_way_and_the_checked_way_are_one(policy):
    """`tell` has a short way for a decision and a float; ids and whole numbers go the other."""
    short, checked = new_bandit(policy), new_bandit(policy)
    for t in range(1200):  # LB-SDA's record grows
        reward = (-0.0, 1.0, 2.0, -1.0)[t % 4]
        decision = short.ask()
        short.tell(decision, reward)
        checked.ask()
        checked.tell(decision.id, np.float64(reward))
    assert short.to_bytes() == checked.to_bytes()


@pytest.mark.usefixtures("own_imports")
def test_a_policy_of_ones_own_that_raises_an_error():
    raises = "\n        if reward > 5.0:\n            raise ValueError('that is too much')\n"
    exec(EXPLORE_FIRST.replace(line := "s.sums[arm] += reward", line + raises), {"__name__": "own"})
    bandit = lb.Bandit(lb.POLICIES["ExploreFirst"](), arms=3, seed=1)
    decision = bandit.ask()
    before = bandit.to_bytes()
    for reward in (9.0, 9):
        with pytest.raises(ValueError, match="that is too much"):
            bandit.tell(decision, reward)
        assert bandit.to_bytes() == before
    bandit.tell(decision, 1.0)
    assert bandit.pending == ()


def test_an_interrupted_growth_loses_nothing(monkeypatch):
    bandit = new_bandit(lb.LBSDA(), arms=2)
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        interrupted = mock.Mock(side_effect=KeyboardInterrupt)
        patch.setattr("lastblock.live.state.Live.grown", interrupted)
        while True:
            decision = bandit.ask()
            before = bandit.to_bytes()
            bandit.tell(decision, 1.0)
    assert bandit.to_bytes() == before
    bandit.tell(decision, 1.0)
    assert bandit.pulls[decision.arm] == 1024


@pytest.mark.parametrize(
    "policy",
    [lb.LBSDA(), lb.LBSDALM(), lb.SWLBSDA(window=60), lb.UCB1(), lb.SWUCB(window=60)],
    ids=repr,
)
def test_an_arm_that_never_answers_does_not_take_over(policy):
    """Neither one whose decisions are forgotten, nor a new one whose decisions stay out."""
    bandit, asked = new_bandit(policy, arms=3), []
    for step in range(1500):
        if step == 1000:
            bandit.add_arm(3)
        decision = bandit.ask()
        asked.append(decision.arm)
        if decision.arm == 2:
            bandit.forget(decision)
        elif decision.arm < 2:
            bandit.tell(decision, float(decision.arm + decision.id % 2))
    # Owed pulls, once a window where there is one; never most of the decisions.
    assert 1 <= asked[:1000].count(2) < 100
    assert 1 <= asked.count(3) < 50


def test_without_any_reward_the_first_decisions_spread_evenly():
    for policy in (lb.LBSDA(), lb.LBSDA(reference=True), lb.SWLBSDA(window=60, reference=True)):
        bandit = new_bandit(policy, arms=3)
        asked = [bandit.ask().arm for _ in range(300)]
        assert min(asked.count(arm) for arm in range(3)) > 50
