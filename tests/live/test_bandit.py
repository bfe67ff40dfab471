"""The live bandit: decisions out in any number and order, errors that change nothing."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from colours import ARMS, POLICY, new_bandit, play

import lastblock as lb
from lastblock.core.rounds import enqueue


def test_labels():
    bandit = new_bandit()
    assert bandit.arms == {"red": "active", "green": "active", "blue": "active"}
    assert bandit.policy == POLICY
    assert {bandit.ask().arm for _ in range(3)} == set(ARMS)
    assert list(lb.Bandit(POLICY, arms=3, seed=7).arms) == [0, 1, 2]
    assert list(lb.Bandit(POLICY, arms=(10, "x"), seed=7).arms) == [10, "x"]
    assert repr(new_bandit()) == f"<Bandit {POLICY}: {{'red': 0, 'green': 0, 'blue': 0}}, 0 out>"


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (["red", "red", "blue"], "repeats a label"),
        (["red"], "at least 2 arms; add arms"),
        ([], "at least 2 arms"),
        (1, "arms=1: a bandit needs at least 2 arms"),
        (0, "arms=0: a bandit needs at least 2 arms"),
        ("red", "is a str; give a list of labels"),
        (["red", 1.5], "label 1.5 must be a string or a whole number"),
        (["red", True], "label True must be"),
        (["red", None], "label None must be"),
    ],
)
def test_impossible_labels(arms, message):
    with pytest.raises(ValueError, match=message) as error:
        lb.Bandit(POLICY, arms=arms)
    assert error.value.__context__ is None or error.value.__suppress_context__  # one error to read


def test_a_policy_may_not_fit_the_arms():
    with pytest.raises(ValueError, match="window=3 is too small for 4 arms; choose at least 4"):
        lb.Bandit(lb.SWLBSDA(window=3), arms=4)
    with pytest.raises(ValueError, match="seed=-1 cannot seed"):
        lb.Bandit(POLICY, arms=2, seed=-1)


@pytest.mark.parametrize("policy", [lb.LBSDALM(), lb.SWLBSDA(window=60)])
def test_told_at_once_it_is_replication_zero(policy):
    env = lb.Stationary([lb.Bernoulli(0.4), lb.Bernoulli(0.5), lb.Gaussian(0.45, 0.3)])
    trace = lb.trace(policy, env, horizon=600, seed=11)
    bandit = lb.Bandit(policy, arms=3, seed=11)
    for arm, reward in zip(trace.arms, trace.rewards, strict=True):
        decision = bandit.ask()
        assert decision.arm == arm
        bandit.tell(decision, reward)
    assert list(bandit.pulls.values()) == np.bincount(trace.arms).tolist()


def test_a_growing_record_changes_nothing():
    # LB-SDA keeps every reward: its record starts with room for 1023 of an arm, then doubles.
    env = lb.Stationary([lb.Gaussian(0.0), lb.Gaussian(0.5), lb.Gaussian(-1.0)])
    trace = lb.trace(lb.LBSDA(), env, horizon=2600, seed=12)
    bandit = lb.Bandit(lb.LBSDA(), arms=3, seed=12)
    sizes = {bandit.state_size}
    for arm, reward in zip(trace.arms, trace.rewards, strict=True):
        decision = bandit.ask()
        assert decision.arm == arm
        bandit.tell(decision, reward)
        sizes.add(bandit.state_size)
    assert max(bandit.pulls.values()) > 2047
    assert len(sizes) == 3
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
    with pytest.raises(ValueError, match="at least 2 arms, not 1"):
        lb.state_size(POLICY, 1)


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


def test_forget(bandit):
    first, second, third = bandit.pending
    pulls = bandit.pulls
    bandit.forget(first)
    bandit.forget(second.id)
    assert bandit.pending == (third,)
    assert bandit.pulls == pulls
    for act in (bandit.forget, lambda decision: bandit.tell(decision, 1.0)):
        with pytest.raises(lb.UnknownDecisionError, match="told or forgotten already"):
            act(first)


def test_answers_to_nothing_change_nothing(bandit):
    told, unasked = 3, 10_000
    before = bandit.to_bytes()
    for act in (bandit.forget, lambda decision: bandit.tell(decision, 1.0)):
        with pytest.raises(lb.UnknownDecisionError, match="decision 3 has been told or forgotten"):
            act(told)
        with pytest.raises(lb.UnknownDecisionError, match="decision 10000 was never asked for"):
            act(unasked)
        with pytest.raises(lb.UnknownDecisionError, match="decision -1 was never asked for"):
            act(-1)
        with pytest.raises(lb.UnknownDecisionError, match="'red' was never asked for"):
            act("red")
    assert bandit.to_bytes() == before


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (float("nan"), "reward=nan must be finite"),
        (float("inf"), "reward=inf must be finite"),
        (float("-inf"), "reward=-inf must be finite"),
        (1e300, "below 1e.290 in size"),
        ("1.5", "reward='1.5' is text"),
        (None, "reward=None is not a number"),
        (1j, "is not a number"),
        ([1.0], "is not a number"),
    ],
)
def test_impossible_rewards_change_nothing(bandit, reward, message):
    before = bandit.to_bytes()
    with pytest.raises(ValueError, match=message):
        bandit.tell(bandit.pending[0], reward)
    assert bandit.to_bytes() == before
    bandit.tell(bandit.pending[0], 1)  # the decision is still out


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


def test_rewards_that_never_come_do_not_stop_it():
    bandit = new_bandit()
    assert len([bandit.ask() for _ in range(500)]) == 500


def test_errors_of_files_are_value_errors():
    assert issubclass(lb.StateFileError, ValueError)
    assert issubclass(lb.UnknownDecisionError, ValueError)


def test_another_bandits_decision_is_refused(bandit):
    out = bandit.pending[0]
    before = bandit.to_bytes()
    other = next(arm for arm in ARMS if arm != out.arm)
    with pytest.raises(lb.UnknownDecisionError, match=f"was for arm '{out.arm}', not '{other}'"):
        bandit.tell(lb.Decision(other, out.id), 1.0)
    with pytest.raises(lb.UnknownDecisionError, match="not 'purple'"):
        bandit.tell(lb.Decision("purple", out.id), 1.0)
    for odd in (True, float(out.id), [out.id], None):
        with pytest.raises(lb.UnknownDecisionError, match="was never asked for"):
            bandit.tell(odd, 1.0)
    assert bandit.to_bytes() == before


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


def test_a_policy_of_ones_own_that_raises_an_error():
    @lb.policy()
    class Picky(NamedTuple):
        most: float = 5.0

        def layout(self, arms, horizon):
            return [("sums", np.float64, (arms,))]

        def start(self, s):
            enqueue(s, 0)

        def plan(self, s):
            enqueue(s, s.round % s.arms)

        def observe(self, s, arm, reward):
            if reward > self.most:
                raise ValueError("that is too much")
            s.sums[arm] += reward

    bandit = lb.Bandit(Picky(), arms=3, seed=1)
    decision = bandit.ask()
    before = bandit.to_bytes()
    for reward in (9.0, 9):
        with pytest.raises(ValueError, match="that is too much"):
            bandit.tell(decision, reward)
        assert bandit.to_bytes() == before
    bandit.tell(decision, 1.0)
    assert bandit.pending == ()
    del lb.POLICIES["Picky"]


def test_what_is_far_too_much():
    bandit = new_bandit()
    decision = bandit.ask()
    for reward in (10**5000, "x" * 1000, 10**300):
        with pytest.raises(ValueError, match="reward=") as raised:
            bandit.tell(decision, reward)
        assert len(str(raised.value)) < 200
    with pytest.raises(ValueError, match="is too many"):
        lb.Bandit(POLICY, arms=10**9)
    with pytest.raises(lb.StateFileError, match="not JSON"):
        lb.Bandit.from_json("[" * 200_000)
    with pytest.raises(ValueError, match="is not one of the arms"):
        bandit.retire_arm(["red"])
    assert lb.Bandit.from_bytes(memoryview(bandit.to_bytes())).pending == bandit.pending


def test_an_interrupted_growth_loses_nothing(monkeypatch):
    bandit = new_bandit(lb.LBSDA(), arms=2)
    while max(bandit.pulls.values()) < 1023:
        bandit.tell(bandit.ask(), 1.0)
    decision = bandit.ask()
    before = bandit.to_bytes()

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("lastblock.live.state.Live.grown", interrupted)
        while bandit.pulls[decision.arm] < 1023:  # until the full arm comes
            bandit.tell(decision, 1.0)
            decision = bandit.ask()
            before = bandit.to_bytes()
        with pytest.raises(KeyboardInterrupt):
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
    bandit = new_bandit(policy, arms=3)
    asked = [0, 0, 0]
    for _ in range(1000):
        decision = bandit.ask()
        asked[decision.arm] += 1
        if decision.arm == 2:
            bandit.forget(decision)
        else:
            bandit.tell(decision, float(decision.arm + decision.id % 2))
    # Owed pulls, once a window where there is one; never most of the decisions.
    assert 1 <= asked[2] < 100


def test_without_any_reward_the_first_decisions_spread_evenly():
    for policy in (lb.LBSDA(), lb.LBSDA(reference=True), lb.SWLBSDA(window=60, reference=True)):
        bandit = new_bandit(policy, arms=3)
        asked = [bandit.ask().arm for _ in range(300)]
        assert min(asked.count(arm) for arm in range(3)) > 50


def test_odd_policies_and_labels():
    with pytest.raises(ValueError, match="policy=LBSDALM is a class; give an instance"):
        lb.Bandit(lb.LBSDALM, arms=2)
    with pytest.raises(ValueError, match="policy='LBSDALM' is not a policy"):
        lb.Bandit("LBSDALM", arms=2)
    for arms in ({"a", "b"}, b"ab", 3.0, None, ["a", "\ud800"], [1.5, 2.5]):
        with pytest.raises(ValueError, match="arms"):
            lb.Bandit(POLICY, arms=arms)
    assert list(lb.Bandit(POLICY, arms=np.array([3, 4])).arms) == [3, 4]
    assert list(lb.Bandit(POLICY, arms=np.int64(2)).arms) == [0, 1]
