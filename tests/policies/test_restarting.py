"""Policies that restart: what they remember, and what can be wrong."""

import random
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import record
from lastblock.core.restarts import (
    REMEMBERED,
    clear_restarts,
    last_changes,
    note_restart,
    restart_fields,
)
from lastblock.kit import enqueue_all


def test_the_last_restarts_are_remembered():
    s = np.zeros(1, record(restart_fields()))[0]
    clear_restarts(s)
    assert last_changes(s) == []
    for i in range(REMEMBERED + 3):
        note_restart(s, 10 * i, 10 * i - 5, i % 4, i / 2, i / 4)
    found = last_changes(s)
    assert int(s["restarts"]) == REMEMBERED + 3
    assert [change.noticed for change in found] == [10 * i for i in range(3, REMEMBERED + 3)]
    assert found[0] == (30, 25, 3, 1.5, 0.75)


def test_other_policies_remember_none():
    assert last_changes(lb.Bandit(lb.LBSDALM(), 3, seed=1)._desk.live.s) == []


def test_a_detector_that_does_not_say_what_it_found():
    @lb.detector()
    class Mute(NamedTuple):
        def layout(self, arms):
            return [("old", np.float64)]

        def reset(self, d):
            d.old = 0.0

        def notice(self, d, arm, reward, age):
            return False

    with pytest.raises(ValueError, match="Mute: its layout has no size and no new; add the fields"):
        lb.Restarting(lb.UCB1(), Mute())
    del lb.DETECTORS["Mute"]


@pytest.mark.parametrize("shift", [1.0, 0.3])
@pytest.mark.parametrize(
    "policy", [lb.AdaptiveLBSDA(), lb.Restarting(lb.Thompson("gaussian"), lb.MeanShift())], ids=repr
)
def test_when_the_world_changed(policy, shift):
    """Even if it takes hundreds of rewards to see it."""
    world = random.Random(3)
    bandit = lb.Bandit(policy, 3, seed=1)
    while not bandit.changes:
        decision = bandit.ask()
        fallen = shift if decision.id >= 1500 else 0.0
        bandit.tell(decision, world.gauss((2.0 - fallen) if decision.arm == 0 else 0.0, 0.5))
    (change,) = bandit.changes
    assert change.arm == 0
    assert abs(change.decision - 1500) <= 0.1 * (change.noticed - 1500) + 16


@pytest.mark.usefixtures("plain")
def test_a_fleet_of_policies_that_restart():
    """The record has a fixed size, unless the policy within grows."""
    fleet = lb.Fleet(lb.Restarting(lb.UCB1(), lb.MeanShift()), arms=3, size=2, seed=1)
    assert fleet.ask([0, 1]).size == 2
    with pytest.raises(ValueError, match="Restarting keeps every reward"):
        lb.Fleet(lb.Restarting(lb.LBSDA(), lb.MeanShift()), arms=3, size=2, seed=1)


def test_a_check_of_adswitch_ends_when_nobody_answers():
    bandit = lb.Bandit(lb.AdSwitch(horizon=100, eviction=0.5), 2, seed=1, room=4)
    state = bandit._desk.live.s
    while state["good"][0]:
        decision = bandit.ask()
        bandit.tell(decision, float(decision.arm))
    silent = 0
    for _ in range(2000):
        decision = bandit.ask()
        if decision.arm == 0:
            silent += 1
            bandit.forget(decision)
            assert silent <= max(1, state["owed"][0] - state["pulls"][0])
        else:
            bandit.tell(decision, 1.0)
    assert 0 < silent < 1000


@pytest.mark.parametrize(("kind", "room"), [(np.float64, 1), (np.int64, 3)])
def test_an_optimistic_policy_needs_an_index_for_every_arm(kind, room):
    class ShortIndex(NamedTuple):
        bound: float = 1.0

        def layout(self, arms, horizon):
            return [("index", kind, (room,))]

        def plan(self, s):
            enqueue_all(s)

        def observe(self, s, arm, reward):
            s.index[0] = reward

    with (
        mock.patch.dict(lb.POLICIES),
        pytest.raises(ValueError, match='must have a field "index" of floats with room'),
    ):
        lb.Bandit(lb.Master(lb.policy(optimistic=True)(ShortIndex)()), 3, seed=1)
