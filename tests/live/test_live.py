"""A bandit's life: batches, ages, arms that come and go, floors, words, copies, threads."""

import copy
import json
import math
import pickle
import random
import signal
import threading

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.kernels.background import compiling
from lastblock.kernels.streams import key_of
from lastblock.live.bandit import bandit_on
from lastblock.live.journalled import JournalledDesk
from lastblock.live.state import Live, to_little

POLICY = lb.LBSDALM()
ARMS = ["red", "green", "blue"]
LEVEL = {"red": 0.2, "green": 0.5, "blue": 0.4, "gold": 0.9}


def new_bandit(policy=POLICY, arms=ARMS, seed=7, **options):
    return lb.Bandit(policy, arms=arms, seed=seed, **options)


def play(bandit, steps):
    """Tell at once. Returns the decisions."""
    decisions = []
    for _ in range(steps):
        decision = bandit.ask()
        reward = LEVEL.get(decision.arm, 0.3) + decision.id % 5 / 4
        bandit.tell(decision, min(reward, bandit.policy.support()[1]))
        decisions.append(decision)
    return decisions


@pytest.fixture
def bandit():
    """In the middle of its life, with three decisions out."""
    bandit = new_bandit()
    play(bandit, 60)
    bandit.ask(3)
    return bandit


def refuses(bandit, message, action, error=ValueError):
    """An error that changes nothing."""
    before = bandit.to_bytes()
    with pytest.raises(error, match=message):
        action()
    assert bandit.to_bytes() == before


# Batches and ages.


def test_ask_several():
    one, other = new_bandit(), new_bandit()
    assert one.ask(7) == [other.ask() for _ in range(7)]
    assert one.ask(1) == [other.ask()]
    assert one.asked == 8
    assert one.to_bytes() == other.to_bytes()
    for n in (0, -1, 1.5, True, "2"):
        refuses(one, "n=", lambda n=n: one.ask(n))


def test_tell_many(bandit):
    other = bandit.copy()
    out = bandit.pending
    bandit.tell_many([out[0], out[1].id, out[2]], np.array([1.0, 2.0, 3.0]))
    for decision, reward in zip(out, (1.0, 2.0, 3.0), strict=True):
        other.tell(decision, reward)
    assert bandit.to_bytes() == other.to_bytes()


def test_tell_many_is_all_or_nothing(bandit):
    a, b, c = bandit.pending
    refuses(bandit, "2 rewards for 3 decisions", lambda: bandit.tell_many([a, b, c], [1.0, 2.0]))
    refuses(bandit, "reward=nan", lambda: bandit.tell_many([a, b], [1.0, math.nan]))
    refuses(bandit, "is text", lambda: bandit.tell_many([a, b], [1.0, "2"]))
    unknown = lb.UnknownDecisionError
    refuses(bandit, "given twice", lambda: bandit.tell_many([a, a.id], [1.0, 2.0]), unknown)
    refuses(bandit, "never asked for", lambda: bandit.tell_many([a, 999], [1.0, 2.0]), unknown)


def test_rewards_that_tell_by_themselves(bandit):
    """A generator may do anything, also tell the very decisions that it makes rewards for."""
    a, b, _ = bandit.pending

    def rewards():
        for decision in (a, b):
            bandit.tell(decision, 1.0)
            yield 1.0

    with pytest.raises(lb.UnknownDecisionError, match="told or forgotten already"):
        bandit.tell_many([a, b], rewards())
    assert len(bandit.pending) == 1
    assert sum(bandit.pulls.values()) == bandit.asked - 1


def test_ids_from_tables(bandit):
    a, b, _ = bandit.pending
    bandit.tell(np.int64(a.id), np.float32(0.5))
    bandit.forget(np.uint32(b.id))
    assert len(bandit.pending) == 1


def test_expire(bandit):
    bandit.ask(10)
    assert [out.age for out in bandit.pending] == list(range(12, -1, -1))
    other = bandit.copy()
    gone = bandit.expire(older_than=9)
    assert [out.age for out in gone] == [12, 11, 10]
    assert [out.age for out in bandit.pending] == list(range(9, -1, -1))
    assert bandit.pulls == other.pulls
    for out in gone:
        other.forget(out)
    assert bandit.to_bytes() == other.to_bytes()

    gone = bandit.expire(older_than=7, reward=0.0)
    for out in gone:
        other.tell(out, 0.0)
    assert len(gone) == 2
    assert bandit.to_bytes() == other.to_bytes()
    assert bandit.expire(older_than=1000) == ()
    refuses(bandit, "older_than=-1", lambda: bandit.expire(older_than=-1))
    refuses(bandit, "reward=inf", lambda: bandit.expire(older_than=0, reward=math.inf))
    refuses(bandit, "reward=nan", lambda: bandit.expire(older_than=1000, reward=math.nan))
    refuses(bandit, "is text", lambda: bandit.expire(older_than=1000, reward="0"))


def test_rewards_of_any_size_and_sign():
    """What counts is their order; 2.0 ** 960 and its negative are as good as any."""
    plain, large = new_bandit(arms=3), new_bandit(arms=3)
    rng = random.Random(1)
    for _ in range(300):
        one, other = plain.ask(), large.ask()
        assert one == other
        reward = rng.choice([-3.0, -1.0, 0.0, 2.0]) + one.arm
        plain.tell(one, reward)
        large.tell(other, reward * 2.0**957)
    assert all(math.isfinite(arm.mean) for arm in large.summary().arms)


# Arms that come and go.


def test_a_new_arm_is_pulled_next():
    bandit = new_bandit(room=4)
    play(bandit, 100)
    bandit.add_arm("gold")
    assert bandit.arms == {**dict.fromkeys(ARMS, "active"), "gold": "active"}
    left = int(bandit._desk.live.s.queued - bandit._desk.live.s.taken)
    assert [decision.arm for decision in play(bandit, left)][-1] == "gold"
    play(bandit, 300)
    assert bandit.pulls["gold"] > 200  # it is the best


def test_the_ninth_arm_grows_the_record_once():
    policy = lb.LBSDALM(minimum=20, scale=0.1)
    bandit = new_bandit(policy, arms=3, room=8)
    assert bandit.state_size == lb.state_size(policy, 8) == lb.state_size(policy, 3, room=7)
    play(bandit, 50)
    sizes = []
    for arm in range(3, 12):
        bandit.add_arm(arm)
        play(bandit, 20)
        sizes.append(bandit.state_size)
    assert sizes == [lb.state_size(policy, 8)] * 5 + [lb.state_size(policy, 16)] * 4
    assert all(pulls > 0 for pulls in bandit.pulls.values())
    assert lb.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()


def test_room_changes_no_decision():
    one, other = new_bandit(), new_bandit(room=4)
    assert play(one, 200) == play(other, 200)


def test_late_rewards_of_a_retired_arm_are_ignored():
    bandit = new_bandit()
    first = bandit.ask(3)  # each arm once
    late = next(decision for decision in first if decision.arm == "red")
    dropped = bandit.ask(30)
    bandit.retire_arm("red")
    assert bandit.arms["red"] == "retired"
    assert late.id in [out.id for out in bandit.pending]
    record = bandit._desk.live.to_bytes()
    bandit.tell(late, 5.0)
    assert bandit._desk.live.to_bytes() == record
    assert bandit.pulls["red"] == 0
    with pytest.raises(lb.UnknownDecisionError, match="told or forgotten already"):
        bandit.tell(late, 5.0)
    for decision in dropped:
        bandit.forget(decision)
    assert all(decision.arm != "red" for decision in play(bandit, 300))
    ids = [decision.id for decision in play(bandit, 5)]
    assert ids == list(range(333, 338))  # never used again


def test_arms_that_cannot_come_or_go(bandit):
    refuses(bandit, "'red' exists", lambda: bandit.add_arm("red"))
    refuses(bandit, "label 1.5 must be", lambda: bandit.add_arm(1.5))
    refuses(bandit, "'gold' is not one of the arms", lambda: bandit.retire_arm("gold"))
    bandit.retire_arm("red")
    refuses(bandit, "'red' has been retired already", lambda: bandit.retire_arm("red"))
    refuses(bandit, "'red' was retired; give the new arm", lambda: bandit.add_arm("red"))
    refuses(bandit, "at least 2 arms", lambda: bandit.retire_arm("blue"))
    with pytest.raises(ValueError, match="room=2 is too small for 3 arms"):
        new_bandit(room=2)


def test_a_policy_that_cannot_take_one_more():
    bandit = new_bandit(lb.SWLBSDA(window=3), arms=3)
    play(bandit, 20)
    refuses(bandit, "window=3 is too small for 4 arms", lambda: bandit.add_arm(3))
    told = new_bandit(lb.BestArm(starts=(0,), arms=(1,)), arms=3)
    refuses(told, "BestArm knows the arms in advance", lambda: told.retire_arm(0))


def test_a_growing_record_takes_arms_too():
    bandit = new_bandit(lb.LBSDA(), arms=2, room=3)
    while max(bandit.pulls.values()) < 1100:  # beyond the first record
        bandit.tell(bandit.ask(), 1.0)
    bandit.add_arm(2)
    play(bandit, 50)
    assert bandit.pulls[2] > 0
    bandit.retire_arm(0)
    play(bandit, 50)
    assert lb.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()


def test_a_new_arm_that_does_not_answer_does_not_take_over():
    for policy in (lb.UCB1(), lb.BESA(), POLICY):
        bandit = new_bandit(policy, arms=3)
        play(bandit, 100)
        bandit.retire_arm(0)
        bandit.add_arm(3)
        asked = 0
        for _ in range(500):
            decision = bandit.ask()
            if decision.arm == 3:
                asked += 1
            else:
                bandit.tell(decision, 0.5)
        assert 1 <= asked < 50  # log₂ r times, and again at rounds 128, 256 and 512


# Floors.


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


# Context.


def test_a_context_is_refused_with_what_to_use_instead(bandit):
    before = bandit.to_bytes()
    fleet = lb.Fleet(lb.UCB1(), arms=3, size=2, seed=1)
    for one in (bandit, fleet.bandit(0)):
        for arguments in ({}, {"n": 2}):
            with pytest.raises(TypeError, match=r"takes no context: .* a bandit for each"):
                one.ask(context={"age": 40}, **arguments)
    with pytest.raises(TypeError, match=r"takes no context: .* a bandit for each"):
        fleet.ask([0, 1], context=[{"age": 40}, {"age": 41}])
    assert bandit.to_bytes() == before


# Words.


def test_words_outlive_a_change_of_arms(bandit):
    said = bandit.explain()
    bandit.retire_arm("red")
    assert bandit.explain() == said
    loaded = lb.Bandit.from_bytes(bandit.to_bytes())
    assert "arms have changed" in str(loaded.explain())
    play(bandit, 3)
    assert bandit.explain().round > said.round


def test_words_after_a_flood_of_late_rewards():
    """Rewards that came since may push the compared ones out of the memory: then nobody knows."""
    bandit = new_bandit(lb.LBSDALM(minimum=20, scale=0.1), arms=3)
    play(bandit, 100)
    late = bandit.ask(300)
    said = bandit.explain()
    assert all(duel.leader_mean is not None for duel in said.duels)
    for decision in late:
        bandit.tell(decision, 0.5)
    after = bandit.explain()
    assert after.round == said.round
    for duel, before in zip(after.duels, said.duels, strict=True):
        is_known = duel.mean is not None and duel.leader_mean is not None
        assert duel.won == (before.won if is_known else before.arm in said.arms)
    assert any(duel.leader_mean is None for duel in after.duels)


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
        half = 1.96 * np.std(held, ddof=1) / math.sqrt(len(held))
        assert arm.held_low == pytest.approx(np.mean(held) - half, rel=1e-3)
        assert arm.held_high == pytest.approx(np.mean(held) + half, rel=1e-3)
    lines = str(summary).splitlines()
    assert len(lines) == 9
    assert "1002 decisions, 2 leads since decision" in lines[0]
    assert lines[7].startswith("No interval for 0")


def test_summary_without_a_window():
    bandit = new_bandit(lb.UCB1())
    rewards = [(d.arm, LEVEL[d.arm] + d.id % 5 / 4) for d in play(bandit, 200)]
    bandit.retire_arm("red")
    summary = bandit.summary()
    for arm in summary.arms:
        own = [reward for label, reward in rewards if label == arm.arm]
        assert arm.mean == pytest.approx(np.mean(own))
        assert arm.held_mean == pytest.approx(np.mean(own))
        assert arm.held_high - arm.held_low == pytest.approx(
            2 * 1.959964 * np.std(own, ddof=1) / math.sqrt(len(own))
        )
    assert [arm.state for arm in summary.arms] == ["retired", "active", "active"]
    means = {arm.arm: arm.mean for arm in summary.arms if arm.state == "active"}
    assert summary.leader == max(means, key=means.get)
    assert summary.since is None
    fresh = new_bandit(lb.UCB1()).summary()
    assert fresh.leader is None
    assert "green" in str(fresh)


# Copies, seeds, texts.


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lb.Bandit.copy,
        lambda bandit: pickle.loads(pickle.dumps(bandit)),
        lambda bandit: lb.Bandit.from_json(bandit.to_json()),
    ],
)
def test_copies_are_independent(bandit, duplicate):
    bandit.retire_arm("red")
    other = duplicate(bandit)
    before = bandit.to_bytes()
    assert other.to_bytes() == before
    decisions = play(other, 50)
    assert bandit.to_bytes() == before
    assert play(bandit, 50) == decisions
    assert other.to_bytes() == bandit.to_bytes()
    assert other.summary() == bandit.summary()
    assert other.explain() == bandit.explain()


@pytest.mark.parametrize("policy", [lb.Thompson(), lb.Binarized(lb.Thompson())], ids=repr)
def test_reseed(policy):
    bandit = new_bandit(policy)
    play(bandit, 20)
    same, other, alike = bandit.copy(), bandit.copy(), bandit.copy()
    other.reseed(1)
    alike.reseed(1)
    assert other.pulls == bandit.pulls
    decisions = [b.ask(100) for b in (bandit, same, other, alike)]
    assert decisions[0] == decisions[1] != decisions[2] == decisions[3]
    refuses(bandit, "seed=-1 cannot seed", lambda: bandit.reseed(-1))


def test_texts_with_something_wrong(bandit):
    text = bandit.to_json()
    data = json.loads(text)
    assert data["lastblock"] == 2
    assert data["bandit"]["arms"] == ARMS

    def refused(text, message):
        with pytest.raises(lb.StateFileError, match=message):
            lb.Bandit.from_json(text)

    refused(text[:-5], "not JSON")
    refused("[1]", "not a lastblock state")
    refused("{}", "not a lastblock state")
    refused(json.dumps({**data, "lastblock": 4}), "upgrade lastblock")
    refused(json.dumps({**data, "record": data["record"][4:]}), "checksum is wrong")
    refused(json.dumps({**data, "bandit": {**data["bandit"], "next_id": 9}}), "checksum is wrong")
    refused(json.dumps({"lastblock": 1}), "corrupt")
    reordered = json.dumps(dict(sorted(data.items())), indent=2)
    assert lb.Bandit.from_json(reordered).to_bytes() == bandit.to_bytes()


# Journals, and records of others.


def live_on(bandit, rng, steps, labels):
    """A bit of everything."""
    for _ in range(steps):
        act = rng.random()
        out = bandit.pending
        active = [arm for arm, state in bandit.arms.items() if state == "active"]
        if act < 0.5:
            bandit.ask(rng.randint(1, 3))
        elif act < 0.8 and out:
            late = rng.sample(out, min(len(out), 4))
            bandit.tell_many(late, [rng.random() for _ in late])
        elif act < 0.85 and out:
            bandit.forget(rng.choice(out).id)
        elif act < 0.9:
            bandit.expire(older_than=10, reward=rng.choice([None, 0.0]))
        elif act < 0.95 and len(active) > 2:
            bandit.retire_arm(rng.choice(active))
        elif act < 0.98 and len(active) < 3:
            bandit.add_arm(next(labels))
        elif act > 0.99:
            bandit.reseed(rng.randint(0, 9))


@pytest.mark.parametrize("policy", [POLICY, lb.LBSDA(), lb.Thompson()], ids=repr)
def test_events_are_the_whole_life(policy):
    events = []
    bandit = new_bandit(policy, floor={"red": 0.1})
    bandit.attach(events.extend)
    live_on(bandit, random.Random(5), 600, iter(range(100)))
    assert {event[0] for event in events} == {
        "ask",
        "tell",
        "forget",
        "add_arm",
        "retire_arm",
        "reseed",
    }
    again = new_bandit(policy, floor={"red": 0.1})
    for event in json.loads(json.dumps(events)):
        again.apply(event)
    assert again.to_bytes() == bandit.to_bytes()
    with pytest.raises(ValueError, match="is not known"):
        again.apply(("sing", 1))


def test_events_that_do_not_fit_change_nothing(bandit):
    out = bandit.pending[0]
    number = ARMS.index(out.arm)
    twin = bandit.copy()
    decision = twin.ask()
    right = ARMS.index(decision.arm)
    for event, message in (
        (("ask", decision.id, (right + 1) % 3, None), "the bandit decided"),
        (("ask", decision.id + 1, right, None), "the bandit decided"),
        (("tell", out.id, (number + 1) % 3, 1.0), "another arm"),
        (("forget", out.id, (number + 1) % 3, None), "another arm"),
        (("tell", 999, number, 1.0), "never asked for"),
        (("retire_arm", None, 7, None), "does not fit"),
    ):
        refuses(bandit, message, lambda event=event: bandit.apply(event))
    bandit.apply(("ask", decision.id, right, None))
    assert bandit.to_bytes() == twin.to_bytes()


def test_a_journal_that_fails_changes_nothing(bandit):
    def full_disk(events):
        raise OSError("no space left")

    bandit.attach(full_disk)
    out = bandit.pending[0]
    for action in (
        bandit.ask,
        lambda: bandit.ask(2),
        lambda: bandit.tell(out, 1.0),
        lambda: bandit.tell_many([out], [1.0]),
        lambda: bandit.forget(out),
        lambda: bandit.expire(older_than=0),
        lambda: bandit.retire_arm("red"),
        lambda: bandit.reseed(1),
    ):
        refuses(bandit, "no space left", action, OSError)
    bandit.attach(None)
    bandit.retire_arm("red")
    bandit.attach(full_disk)
    refuses(bandit, "no space left", lambda: bandit.add_arm("gold"), OSError)
    bandit.attach(None)
    play(bandit, 10)


def test_a_full_record_grows_before_the_journal_is_told():
    bandit = new_bandit(lb.LBSDA(), arms=2)
    sizes, told = [], []
    bandit.attach(lambda events: (sizes.append(bandit.state_size), told.extend(events)))
    while max(bandit.pulls.values()) < 1024:
        bandit.tell(bandit.ask(), 1.0)
    assert sizes[0] < sizes[-1]
    again = new_bandit(lb.LBSDA(), arms=2)
    for event in told:
        again.apply(event)
    assert again.to_bytes() == bandit.to_bytes()


def on_record(states, index, arms):
    """A bandit that lives in a record of an array that belongs to somebody else."""
    width = states.dtype["queue"].shape[0]
    live = Live(POLICY, len(arms), width=width, states=states[index : index + 1])
    live.note_start()
    return bandit_on(JournalledDesk(live, arms))


def test_a_bandit_on_somebody_elses_record():
    """Three records in one array; the middle one lives."""
    started = new_bandit(arms=4)
    states = np.zeros(3, state_dtype(POLICY, 4))
    states[1] = started._desk.live.states[0]
    guest = on_record(states, 1, [0, 1, 2, 3])
    assert play(guest, 100) == play(started, 100)
    assert guest.pulls == started.pulls
    assert to_little(states[1:2]) == to_little(started._desk.live.states)
    for other in (states[:1], states[2:]):
        assert to_little(other) == bytes(states.itemsize)
    refuses(guest, "room for 4 arms only", lambda: guest.add_arm(4))
    for bandit in (guest, started):
        bandit.retire_arm(0)
        bandit.add_arm(4)
    assert play(guest, 100) == play(started, 100)
    assert states[1]["round"] == started._desk.live.s.round
    assert guest.copy().to_bytes() == started.to_bytes()


def test_a_lone_record_is_started_by_its_owner():
    states = np.zeros(2, state_dtype(POLICY, 3))
    guest = on_record(states, 1, ARMS)
    guest._desk.live.start(3, key_of(7))
    assert play(guest, 50) == play(new_bandit(), 50)


# Threads.


def test_eight_threads_lose_nothing():
    """50 000 decisions and their rewards from each of 8 threads."""
    bandit = new_bandit(arms=3)
    seen = [[] for _ in range(8)]
    ready = threading.Barrier(8)

    def work(mine):
        ready.wait()
        for _ in range(50_000):
            decision = bandit.ask()
            mine.append(decision.id)
            bandit.tell(decision, float(decision.arm))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(id for mine in seen for id in mine) == list(range(400_000))
    assert sum(bandit.pulls.values()) == 400_000
    assert bandit.pending == ()
    assert bandit._desk.live.s.out.sum() == 0
    assert bandit._desk.live.s.pulls.sum() == 400_000
    assert bandit._desk.live.s.history.written.sum() == 400_000


@pytest.mark.parametrize("policy", [lb.LBSDA(), POLICY, lb.SWLBSDA(window=60)], ids=repr)
def test_rewards_that_never_come_do_not_silence_an_arm(policy):
    """A third of the decisions is never answered nor forgotten; then the arms change places."""
    bandit = new_bandit(policy, arms=3)
    rng = random.Random(2)
    asked = []
    for t in range(3000):
        decision = bandit.ask()
        asked.append(decision.arm)
        if rng.random() > 1 / 3:
            best = 0 if t < 1000 else 2
            bandit.tell(decision, float(rng.random() < (0.8 if decision.arm == best else 0.2)))
    assert asked[500:1000].count(0) > 350
    if policy == lb.SWLBSDA(window=60):
        assert asked[1500:].count(2) > 1000


@pytest.fixture(params=["at once", "never"], ids=["compiled", "plain"])
def _kernels(request):
    with compiling(request.param):
        yield


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
@pytest.mark.usefixtures("_kernels")
@pytest.mark.parametrize("floor", [None, 0.1])
def test_interrupts_lose_nothing(floor):
    """At whatever moment one comes: the lock is free, and every decision is out or told."""
    bandit = new_bandit(floor=floor)
    free = []

    def take_lock():
        with bandit.locked():
            free.append(True)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for n in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-6 * n)
                while True:
                    decision = bandit.ask()
                    bandit.tell(decision, 1.0)
                    bandit.tell_many(bandit.ask(2), [0.0, 1.0])
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            other = threading.Thread(target=take_lock, daemon=True)
            other.start()
            other.join(60.0)
            assert len(free) == n + 1
            assert sum(bandit.pulls.values()) + len(bandit.pending) == bandit.asked
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert lb.Bandit.from_bytes(bandit.to_bytes()).pending == bandit.pending


def test_a_duel_of_unequal_blocks_is_not_said_to_be_one_of_equal_ones():
    bandit = lb.Bandit(lb.LBSDAGM(marks=4), arms=["red", "green"], seed=1)
    said = []
    for t in range(200):
        decision = bandit.ask()
        bandit.tell(decision, t * t % 7 + 0.01 * len(decision.arm))
        said += [bandit.explain()] if bandit.explain().duels else []
    unequal = [each for each in said if each.duels[0].length != each.duels[0].leader_length]
    assert unequal
    assert all("of these last rewards of the leader" in str(each) for each in unequal)
