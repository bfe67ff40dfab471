"""A life of calls of every kind: events, bytes and copies lead to the same state, bit for bit."""

import copy
import json
import math
import pickle
import random

import pytest

import lastblock as lb

ARMS = ["red", "green", "blue"]
POLICIES = [lb.LBSDALM(), lb.LBSDA(), lb.Thompson()]
KINDS = {
    *("ask", "ask_among", "tell", "close", "forget", "observe", "remember", "configure"),
    *("add_arm", "retire_arm", "pause_arm", "resume_arm", "set_floors", "reseed"),
}


def new_bandit(policy, **options):
    return lb.Bandit(policy, ARMS, seed=7, **options)


def change(bandit, step):
    """One call, by the number of the step alone; no more than three arms are there."""
    rng = random.Random(step)
    act, out = rng.randrange(100), bandit.pending
    there = [label for label, state in bandit.arms.items() if state != "retired"]
    active = [label for label in there if bandit.arms[label] == "active"]
    late, key = rng.sample(out, min(len(out), 3)), f"key {step % 20}"
    if act < 30 or not out:
        bandit.ask()
    elif act < 40:
        bandit.ask(2, key=f"{key} for two")
    elif act < 43:
        bandit.ask(among=rng.sample(active, rng.randint(1, len(active))))
    elif act < 46:
        bandit.ask(len(active), distinct=True)
    elif act < 60:
        bandit.tell(late[0], rng.random(), key=None if bandit.rewards is None else str(step))
    elif act < 70:
        bandit.tell_many(late, [rng.random() for _ in late], defer=rng.random() < 0.3)
    elif act < 73:
        bandit.forget(late[0].id)
    elif act < 76:
        bandit.close(late[0], reward=rng.choice([None, 0.5]), defer=rng.random() < 0.5)
    elif act < 78:
        bandit.expire(older_than=10, reward=rng.choice([None, 0.0]))
    elif act < 82:
        bandit.observe(rng.choice(there), rng.random())
    elif act < 85:
        bandit.observe_many(there, [0.25] * len(there), key=f"{key} of {there}")
    elif act < 88 and len(there) > 2 and len(active) > 1:
        bandit.retire_arm(rng.choice(active))
    elif act < 91 and len(there) < 3:
        bandit.add_arm(f"arm {step}")
    elif act < 94 and len(active) > 1:
        bandit.pause_arm(rng.choice(active))
    elif act < 96 and len(active) < len(there):
        bandit.resume_arm(next(label for label in there if label not in active))
    elif act < 98:
        bandit.set_floors(rng.choice([None, 0.1, {rng.choice(there): 0.25}]))
    elif act < 99:
        bandit.configure(remember=rng.randint(5, 50))
    else:
        bandit.reseed(step)


def live(bandit, first, last):
    for step in range(first, last):
        change(bandit, step)
    return bandit


@pytest.mark.parametrize("rewards", [None, "max"])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_events_are_the_whole_life(policy, rewards):
    events, twin = [], new_bandit(policy, rewards=rewards)
    bandit = new_bandit(policy, rewards=rewards)
    bandit.attach(events.extend)
    live(bandit, 0, 600)
    assert {event[0] for event in events} == KINDS | ({"partial"} if rewards else set())
    for event in json.loads(json.dumps(events)):
        twin.apply(event)
    assert twin.to_bytes() == bandit.to_bytes()


COPIES = [
    copy.deepcopy,
    lb.Bandit.copy,
    lambda bandit: pickle.loads(pickle.dumps(bandit)),
    lambda bandit: lb.Bandit.from_json(bandit.to_json()),
    lambda bandit: lb.Bandit.from_bytes(memoryview(bandit.to_bytes())),
]


@pytest.mark.parametrize("rewards", [None, "max"])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_copies_of_any_moment_continue_bit_for_bit(policy, rewards):
    bandit = new_bandit(policy, rewards=rewards)
    for first in range(0, 250, 50):
        twins = [duplicate(bandit) for duplicate in COPIES]
        before = bandit.to_bytes()
        for twin in twins:
            assert (twin.summary(), twin.pending) == (bandit.summary(), bandit.pending)
            live(twin, first, first + 50)
        assert bandit.to_bytes() == before
        live(bandit, first, first + 50)
        assert {twin.to_bytes() for twin in twins} == {bandit.to_bytes()}
        assert sum(row.out for row in bandit.summary().arms) == len(bandit.pending)


def full_disk(events):
    raise OSError("no space left")


@pytest.mark.parametrize("rewards", [None, "max"])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_journal_that_fails_changes_nothing(policy, rewards):
    bandit, twin = (new_bandit(policy, rewards=rewards) for _ in range(2))
    failed = 0
    for step in range(400):
        before = bandit.to_bytes()
        bandit.attach(full_disk)
        try:
            change(bandit, step)
        except OSError:
            failed += 1
        assert bandit.to_bytes() == before  # also where a key is remembered, and nothing written
        bandit.attach(None)
        for each in (bandit, twin):
            change(each, step)
    assert failed > 300
    assert bandit.to_bytes() == twin.to_bytes()


def test_a_full_record_grows_before_the_journal_is_told():
    bandit, twin = (lb.Bandit(lb.LBSDA(), 2, seed=7) for _ in range(2))
    sizes, told = [], []
    bandit.attach(lambda events: (sizes.append(bandit.state_size), told.extend(events)))
    while max(bandit.pulls.values()) < 1024:
        bandit.tell(bandit.ask(), 1.0)
    assert sizes[0] < sizes[-1]
    for event in told:
        twin.apply(event)
    assert twin.to_bytes() == bandit.to_bytes()


def test_events_as_a_journal_gets_them():
    bandit, events, told = new_bandit(lb.LBSDAGM()), [], []
    bandit.attach(events.extend)
    bandit.on_event(told.append)
    bandit.pause_arm("green")
    decision = bandit.ask()
    page = bandit.ask(2, distinct=True)
    bandit.resume_arm("green")
    bandit.ask(among=["green"])
    bandit.observe("blue", 0.5)
    for floor in (0.1, {"blue": 0.5}, None):
        bandit.set_floors(floor)
    first, second = (ARMS.index(each.arm) for each in page)
    among = ARMS.index(decision.arm)
    assert events == [
        ("pause_arm", None, 1, None),
        ("ask_among", 0, among, {"probability": None, "without": [1]}),
        ("ask_among", 1, first, {"probability": None, "without": [1]}),
        ("ask_among", 2, second, {"probability": None, "among": [second]}),
        ("resume_arm", None, 1, None),
        ("ask_among", 3, 1, {"probability": None, "among": [1]}),
        ("observe", None, 2, 0.5),
        ("set_floors", None, None, {"every": 0.1}),
        ("set_floors", None, None, {"arms": [[2, 0.5]]}),
        ("set_floors", None, None, None),
    ]
    kinds = ["pause_arm", "ask", "ask", "ask", "resume_arm", "ask", "observe", *["set_floors"] * 3]
    assert [event.kind for event in told] == kinds
    assert told[6][1:] == (None, "blue", 0.5)


def test_rewards_of_any_size_and_sign():
    bandit, rng = lb.Bandit(lb.LBSDALM(), 3, seed=7), random.Random(1)
    for _ in range(300):
        decision = bandit.ask()
        reward = rng.choice([-3.0, -1.0, 0.0, 2.0]) + decision.arm
        bandit.tell(decision, reward * 2.0**957)
    assert all(math.isfinite(arm.mean) for arm in bandit.summary().arms)
