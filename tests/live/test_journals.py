"""Journals of a live bandit, and bandits on records of others."""

import json
import random

import numpy as np
import pytest
from colours import ARMS, POLICY, new_bandit, play, refuses

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.kernels.streams import key_of
from lastblock.live.bandit import bandit_on
from lastblock.live.journalled import JournalledDesk
from lastblock.live.state import Live, to_little


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


def test_a_journal_must_be_a_function(bandit):
    told = "'x' cannot be called; give a function"
    refuses(bandit, f"{told} of a list of events", lambda: bandit.attach("x"), TypeError)
    refuses(bandit, f"{told} that returns a bandit", lambda: bandit.attach(print, "x"), TypeError)
    bandit.ask()


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
