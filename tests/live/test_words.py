"""What a live bandit says of its last round, and of its arms."""

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
