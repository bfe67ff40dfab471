"""Arms that come and go, and explanations, against the twins' plain lists."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastblock as lb
import oracle.lbsda
import oracle.lbsdagm
import oracle.lbsdalm
import oracle.swlbsda
from oracle.worlds import KINDS, World, follow, stalls
from trials import short_and_long

ROOM = 4
SEEDS = st.integers(0, 2**32)
TWINS = {
    "LBSDA": (lb.LBSDA, oracle.lbsda.LBSDA, {}),
    "LBSDALM": (lb.LBSDALM, oracle.lbsdalm.LBSDALM, {"minimum": 20, "scale": 0.1}),
    "SWLBSDA": (lb.SWLBSDA, oracle.swlbsda.SWLBSDA, {"window": 30}),
    "LBSDAGM": (lb.LBSDAGM, oracle.lbsdagm.LBSDAGM, {}),
}
named = pytest.mark.parametrize("name", TWINS)


def pair(name, seed, reference, arms=3):
    make_policy, make_twin, parameters = TWINS[name]
    if "reference" in make_policy._fields:
        parameters = {**parameters, "reference": reference}
    policy = make_policy(**parameters)
    twin = make_twin(arms, seed, **parameters)
    return lb.Bandit(policy, arms, seed=seed, room=ROOM), twin


@named
@short_and_long("examples", 12, 40)
def test_arms_come_and_go(name, examples):
    @settings(max_examples=examples)
    @given(SEEDS, st.sampled_from(KINDS), st.booleans())
    def agree(seed, kind, reference):
        bandit, twin = pair(name, seed, reference)
        chance = random.Random(seed)
        world = World(kind, ROOM, seed)
        active = [0, 1, 2]
        next_label = 3
        for t in range(200):
            if t > 0 and chance.random() < 0.05 and len(active) < ROOM:
                bandit.add_arm(next_label)
                twin.add_arm()
                active.append(next_label)
                next_label += 1
            if t > 0 and chance.random() < 0.05 and len(active) > 2:
                place = chance.randrange(len(active))
                bandit.retire_arm(active.pop(place))
                twin.retire_arm(place)
            decision = bandit.ask()
            arm = twin.ask()
            assert decision.arm == active[arm], f"step {t}, round {twin.round}"
            reward = world.reward(arm)
            bandit.tell(decision, reward)
            twin.tell(arm, reward)
        assert [label for label, state in bandit.arms.items() if state == "active"] == active

    agree()


@named
@short_and_long("examples", 12, 40)
def test_arms_that_cannot_be_chosen(name, examples):
    """Arms are left out of single decisions, or paused for long; some come and go meanwhile."""

    @settings(max_examples=examples)
    @given(SEEDS, st.sampled_from(KINDS))
    def agree(seed, kind):
        bandit, twin = pair(name, seed, reference=False)
        chance = random.Random(seed)
        world = World(kind, ROOM, seed)
        active, paused, next_label = [0, 1, 2], set(), 3
        for t in range(200):
            if chance.random() < 0.05 and len(active) < ROOM and t > 0:
                bandit.add_arm(next_label)
                twin.add_arm()
                active.append(next_label)
                next_label += 1
            elif chance.random() < 0.03 and len(active) > 2 and t > 0:
                place = chance.randrange(len(active))
                paused.discard(active[place])
                bandit.retire_arm(active.pop(place))
                twin.retire_arm(place)
            elif chance.random() < 0.1 and len(paused) + 1 < len(active):
                label = chance.choice([label for label in active if label not in paused])
                bandit.pause_arm(label)
                paused.add(label)
            if len(paused) == len(active) or (chance.random() < 0.1 and paused):
                label = chance.choice(sorted(paused))
                bandit.resume_arm(label)
                paused.remove(label)
            some = active
            if chance.random() < 0.3:
                eligible = [label for label in active if label not in paused]
                some = chance.sample(eligible, chance.randint(1, len(eligible)))
                decision = bandit.ask(among=some)
            else:
                decision = bandit.ask()
            absent = [k for k, label in enumerate(active) if label in paused or label not in some]
            arm = twin.ask(absent)
            assert decision.arm == active[arm], f"step {t}, round {twin.round}"
            reward = world.reward(arm)
            bandit.tell(decision, reward)
            twin.tell(arm, reward)
            if chance.random() < 0.05:
                other = chance.randrange(len(active))
                reward = world.reward(other)
                bandit.observe(active[other], reward)
                twin.tell(other, reward)

    agree()


@named
@short_and_long("examples", 6, 20)
def test_words_are_true(name, examples):
    @settings(max_examples=examples)
    @given(SEEDS, st.sampled_from(KINDS), st.booleans())
    def agree(seed, kind, reference):
        bandit, twin = pair(name, seed, reference, arms=ROOM)
        world = World(kind, ROOM, seed)
        for _ in range(120):
            known = twin.round
            decision = bandit.ask()
            arm = twin.ask()
            if twin.round > known:
                said = bandit.explain()
                assert_true(said, twin)
            reward = world.reward(arm)
            bandit.tell(decision, reward)
            twin.tell(arm, reward)
            assert_same(bandit.explain(), said)  # rewards that came since change nothing

    agree()


def assert_true(said, twin):
    """What was said of a round is what the twin has in its lists."""
    now = twin.rounds[-1]
    assert said.round == twin.round
    assert sorted(said.arms) == sorted(now.arms)
    assert said.leader == now.leader
    if twin.round == 1:
        assert "every arm once" in str(said)
        return
    for duel in said.duels:
        mine = twin.held(duel.arm)
        theirs = twin.against(now.leader, len(mine))
        assert (duel.length, duel.leader_length) == (len(mine), len(theirs))
        assert duel.mean == pytest.approx(sum(mine) / len(mine), rel=1e-9, abs=1e-9)
        assert duel.leader_mean == pytest.approx(sum(theirs) / len(theirs), rel=1e-9, abs=1e-9)
    won = {duel.arm for duel in said.duels if duel.won}
    assert won | {*said.forced, *said.flagged} | {now.leader} >= set(now.arms)
    assert {*won, *said.forced} <= set(now.arms)
    # Who would have won anyway need not say that it was flagged.
    assert set(said.flagged) <= set(now.flagged) <= set(said.flagged) | won
    assert said.waiting == ()


def assert_same(one, other):
    assert (one.round, one.arms, one.leader) == (other.round, other.arms, other.leader)
    assert (one.forced, one.flagged) == (other.forced, other.flagged)
    assert [(d.arm, d.length, d.won) for d in one.duels] == [
        (d.arm, d.length, d.won) for d in other.duels
    ]
    for mine, theirs in zip(one.duels, other.duels, strict=True):
        if mine.mean is not None and mine.leader_mean is not None:
            assert mine.mean == pytest.approx(theirs.mean, rel=1e-9, abs=1e-9)
            assert mine.leader_mean == pytest.approx(theirs.leader_mean, rel=1e-9, abs=1e-9)


def test_flags_are_told():
    seed, window, told = 21, 500, 0
    bandit = lb.Bandit(lb.SWLBSDA(window=window), 4, seed=seed)
    twin = oracle.swlbsda.SWLBSDA(4, seed, window)
    given = stalls(twin, seed)

    def reward(arm):
        nonlocal told
        if twin.rounds[-1].flagged:
            told += bandit.explain().flagged == tuple(twin.rounds[-1].flagged) == (3,)
        return given(arm)

    follow(bandit, twin, reward, 3000)
    assert told > 0
