"""Compact fleets: the same decisions in less memory, and what they refuse."""

import json

import compact_plays
import numpy as np
import pytest
from compact_plays import ARMS, HORIZON, PAPER, SEED, bernoulli, float32, new_fleet, play, whole

import lastblock as lb
from lastblock.core.layout import LARGEST_COUNT, MOST_LOST, MOST_OUT, fleet_dtype
from lastblock.kernels.jit import DISABLED
from lastblock.kernels.streams import key_of
from lastblock.simulation.simulate import Player
from lastblock.testing import worlds
from processes import run_python
from trials import short_and_long, trial

STEPS = 200 if DISABLED else HORIZON


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(policy, id=name, marks=() if name == "LBSDALM" else trial)
        for name, policy in PAPER.items()
    ],
)
def test_compact_bandits_are_replications(policy):
    player = Player(policy, worlds.environment(), STEPS, key_of(SEED), np.array([STEPS]))
    outcome = player.room(20, traced=STEPS)
    player.play(0, outcome)
    fleet = new_fleet(policy, "compact", 20)
    ids = np.arange(20)
    for t in range(STEPS):
        arms = fleet.ask(ids)
        assert arms.tolist() == outcome.arms[:, t].tolist(), f"step {t}"
        fleet.tell(ids, arms, outcome.rewards[:, t])


@pytest.mark.parametrize("rewards", [bernoulli, whole, float32])
@pytest.mark.parametrize("late", [0.0, 0.2])
def test_compact_is_full_for_rewards_that_float32_holds(rewards, late):
    policy = PAPER["LBSDALM"]
    full, compact = (new_fleet(policy, memory) for memory in ("full", "compact"))
    assert play(compact, STEPS, rewards, late) == play(full, STEPS, rewards, late)
    assert compact.pulls().tolist() == full.pulls().tolist()


def test_other_rewards_are_rounded_to_float32_in_the_history_alone():
    """A reward of 0.1 is a hair above 0.1 then, and ties between equal rewards stay ties."""
    fleet = new_fleet(PAPER["LBSDALM"], "compact", 1)
    for _ in range(300):
        arms = fleet.ask([0])
        fleet.tell([0], arms, [0.1])
    s = fleet._states[0]
    assert set(np.unique(s.history.rewards)) <= {np.float32(0.0), np.float32(0.1)}
    assert s.history.sum.tolist() == (s.history.kept * float(np.float32(0.1))).tolist()
    assert s.sums.sum() == pytest.approx(30.0, rel=1e-12)


@pytest.mark.skipif(DISABLED, reason="compares with what is compiled")
@short_and_long("much", (1, "LBSDALM", "SWLBSDA"), (100, *PAPER))
def test_without_the_jit_all_is_the_same_and_every_policy_has_compact_records(much):
    """Of so many examples of each policy; compiled, some policies of the paper."""
    _, *names = much
    done = run_python(compact_plays.__file__, *much, NUMBA_DISABLE_JIT=1)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["differing"] == []
    assert found["policies"] >= 30
    assert found["plays"] == json.loads(json.dumps(compact_plays.plays(names)))


def test_sizes():
    million = 1_000_000
    fits = fleet_dtype(lb.LBSDALM(minimum=64, scale=0.0), 8, None, compact=True).itemsize
    assert fits * million < 2.3 * 2**30  # the process takes some 0.15 GiB besides
    for policy in PAPER.values():
        full, compact = (
            fleet_dtype(policy, ARMS, HORIZON, compact=c).itemsize for c in (False, True)
        )
        assert compact < 0.6 * full
        assert compact % 8 == 0
    fleet = new_fleet(PAPER["LBSDALM"], "compact", 10)
    assert fleet.memory == "compact"
    dtype = fleet_dtype(PAPER["LBSDALM"], ARMS, HORIZON, compact=True)
    assert (fleet.state_size, fleet.nbytes) == (dtype.itemsize, 10 * dtype.itemsize)


def test_memory_is_one_of_two():
    with pytest.raises(ValueError, match="memory='tiny' must be 'full' or 'compact'"):
        new_fleet(PAPER["LBSDALM"], "tiny")


def test_rewards_beyond_float32_are_refused():
    fleet = new_fleet(PAPER["LBSDALM"], "compact")
    arms = fleet.ask([1, 2])
    before = fleet._states.tobytes()
    with pytest.raises(ValueError, match=r"rewards\[1\]=1e\+39 must be finite and below 1e\+38"):
        fleet.tell([1, 2], arms, [1.0, 1e39])
    assert fleet._states.tobytes() == before
    fleet.tell([1, 2], arms, [-9e37, 9e37])


def test_counters_stop_at_their_end():
    fleet = new_fleet(PAPER["LBSDALM"], "compact")
    fleet.tell([1], fleet.ask([1]), [1.0])
    states = fleet._states
    states["out"][1], states["unanswered"][1] = MOST_LOST, MOST_OUT
    states["told"][1] = states["pulls"][1] = LARGEST_COUNT
    arms = fleet.ask([1])
    assert states["out"][1].tolist() == [MOST_LOST] * ARMS
    assert states["unanswered"][1].tolist() == [MOST_OUT] * ARMS
    fleet.tell([1], arms, [1.0])
    assert fleet.pulls([1]).tolist() == [[LARGEST_COUNT] * ARMS]
    assert states["pulls"][1].tolist() == [LARGEST_COUNT] * ARMS
    states["lost"][1] = MOST_LOST
    fleet.forget([1], [2])
    assert states["lost"][1, 2] == MOST_LOST
    assert np.iinfo(states["lost"].dtype).max == MOST_LOST


def test_a_compact_fleet_in_a_file(tmp_path):
    in_memory = new_fleet(PAPER["LBSDALM"], "compact")
    options = {"arms": ARMS, "size": len(in_memory), "seed": SEED, "memory": "compact"}
    with lb.Fleet.create(tmp_path / "fleet", PAPER["LBSDALM"], **options) as fleet:
        assert play(fleet, 20, bernoulli) == play(in_memory, 20, bernoulli)
    with lb.Fleet.open(tmp_path / "fleet") as fleet:
        assert fleet.memory == "compact"
        assert play(fleet, 20, bernoulli) == play(in_memory, 20, bernoulli)
