"""The checks. Each takes a policy and raises an AssertionError that says what is wrong.

    for check in CHECKS:
        check(MyPolicy())

One environment with three arms and one horizon serve nearly all, so that a policy costs few
compilations.
"""

import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_type_hints
from unittest import mock

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.core.registry import build, describe
from lastblock.engine.simulate import Outcome, play
from lastblock.kernels.jit import DISABLED, specialise
from lastblock.kernels.streams import key_of
from lastblock.live.state import Live
from lastblock.support import parallel

ARMS = 3
HORIZON = 200
SEED = 20_210_611
MEANS = {0: (0.5, 0.25, 0.4), 100: (0.2, 0.7, 0.3)}


def environment(order=(0, 1, 2)):
    """Bernoulli arms with one change: rewards in [0, 1], which every policy takes."""
    return lb.Piecewise(
        {start: [lb.Bernoulli(means[k]) for k in order] for start, means in MEANS.items()}
    )


def check_same_seed_same_run(policy):
    first, second = (
        lb.simulate(policy, environment(), horizon=HORIZON, replications=5, seed=SEED)
        for _ in range(2)
    )
    assert_same_run(first, second)
    assert live_arms(policy, 50) == live_arms(policy, 50)


def check_threads_and_chunks_change_nothing(policy):
    def run(threads, steps):
        with mock.patch.object(parallel, "_STEPS_A_CHUNK", steps):
            return lb.simulate(
                policy,
                environment(),
                horizon=HORIZON,
                replications=7,
                seed=SEED,
                threads=threads,
            )

    plain = run(1, 1 << 20)
    for threads, steps in [(2, 1 << 20), (1, 1), (2, 1), (2, 3 * HORIZON)]:
        assert_same_run(plain, run(threads, steps))


def check_trace_is_replication_0(policy):
    played = lb.trace(policy, environment(), horizon=HORIZON, seed=SEED)
    run = lb.simulate(policy, environment(), horizon=HORIZON, replications=2, seed=SEED)
    assert np.bincount(played.arms, minlength=ARMS).tolist() == run.pulls[0].tolist()


def check_live_is_simulated(policy):
    """A bandit told at once takes the arms of replication 0."""
    played = lb.trace(policy, environment(), horizon=HORIZON, seed=SEED)
    follow(lb.Bandit(policy, ARMS, seed=SEED), played)


def check_a_policy_that_grows_goes_on_alike(policy):
    """One arm gets more rewards than a new record holds."""
    if policy.grows:
        easy = lb.Stationary([lb.Bernoulli(0.1), lb.Bernoulli(0.95), lb.Bernoulli(0.1)])
        follow(lb.Bandit(policy, ARMS, seed=SEED), lb.trace(policy, easy, horizon=1600, seed=SEED))


def check_jit_changes_nothing(policy):
    assert exact_traces([policy]) == traces_without_jit([policy])


def check_saved_and_loaded_goes_on_alike(policy):
    """In the middle of a run, with decisions out."""
    world = random.Random(SEED)
    bandit = lb.Bandit(policy, ["a", "b", "c"], seed=SEED)
    live_with_delays(bandit, 80, world)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bandit"
        bandit.save(path)
        loaded = lb.Bandit.load(path)
    assert loaded.pending == bandit.pending
    assert loaded.pulls == bandit.pulls
    other_world = random.Random()
    other_world.setstate(world.getstate())
    assert live_with_delays(loaded, 80, other_world) == live_with_delays(bandit, 80, world)
    assert loaded.to_bytes() == bandit.to_bytes()


def check_asking_never_waits(policy):
    """Many decisions without a reward, then all rewards at once, in any order."""
    world = random.Random(SEED)
    bandit = lb.Bandit(policy, ARMS, seed=SEED)
    for _ in range(3):
        decisions = [bandit.ask() for _ in range(40)]
        assert all(decision.arm in range(ARMS) for decision in decisions)
        world.shuffle(decisions)
        for i, decision in enumerate(decisions):
            if i % 10 == 0:
                bandit.forget(decision)
            else:
                bandit.tell(decision, float(world.random() < 0.5))
    assert bandit.pending == ()
    assert sum(bandit.pulls.values()) == 3 * 36


def check_arms_have_no_favourites(policy):
    """Permuting the arms permutes the law of the pulls, unless the policy is told the arms."""
    if policy.oracle:
        return
    order = (2, 0, 1)
    replications = 40 if DISABLED else 400
    plain, permuted = (
        lb.simulate(policy, env, horizon=HORIZON, replications=replications, seed=seed).pulls
        for env, seed in [(environment(), SEED), (environment(order), SEED + 1)]
    )
    expected = plain[:, order]
    variance = (expected.var(axis=0, ddof=1) + permuted.var(axis=0, ddof=1)) / replications
    gap = np.abs(expected.mean(axis=0) - permuted.mean(axis=0))
    # An arm may be one pull ahead in a round that the horizon cuts short.
    assert np.all(gap <= 5.0 * np.sqrt(variance) + 1.0), f"mean pulls differ by {gap}"


def check_shift_is_as_declared(policy):
    if policy.shift_invariant:
        plain = live_arms(policy, HORIZON)
        for shift in (-3.0, 0.25, 1024.0):
            assert live_arms(policy, HORIZON, lambda x, c=shift: x + c) == plain, f"shift {shift}"


def check_scale_is_as_declared(policy):
    if policy.scale_invariant:
        plain = live_arms(policy, HORIZON)
        for scale in (0.125, 4.0, 2.0**20, 2.0**-600, 2.0**900):
            assert live_arms(policy, HORIZON, lambda x, a=scale: a * x) == plain, f"scale {scale}"


def check_state_is_bounded(policy):
    if not policy.grows:
        sizes = {lb.state_size(policy, ARMS, horizon) for horizon in (None, 10, 10**6)}
        assert len(sizes) == 1, f"the state's size depends on the horizon: {sizes}"
    bandit = lb.Bandit(policy, ARMS, seed=SEED)
    size = bandit.state_size
    world = random.Random(SEED)
    live_with_delays(bandit, 3000, world)
    assert bandit.state_size == size or policy.grows


def check_start_sets_what_it_reads(policy):
    """Whatever the record held before, the run is the same."""
    env, key = environment(), key_of(SEED)
    outcomes = []
    for garbage in (0x00, 0xA5, 0xFF):
        state = np.empty(1, state_dtype(policy, ARMS, HORIZON))
        state.view(np.uint8)[:] = garbage
        out = Outcome.empty(2, times=1, phases=len(env.changes) + 1, arms=ARMS, traced=HORIZON)
        times, streams = np.array([HORIZON]), np.empty((2, 4), np.uint64)
        arguments = policy, env.compile(HORIZON), state, key, streams, 0, times, out
        specialise(play, *arguments)(*arguments)
        outcomes.append(b"".join(array.tobytes() for array in out))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def numbers_in(record, prefix=""):
    """The fields of a record that are single numbers, those of records within it too."""
    found = {}
    for name in record.dtype.names:
        if record[name].dtype.names is not None:
            found |= numbers_in(record[name], f"{prefix}{name}.")
        elif record[name].shape == ():
            found[prefix + name] = record[name].item()
    return found


def check_start_sets_every_number(policy):
    """Whoever reads a state file that was just begun finds no garbage."""
    begun = []
    for garbage in (0x00, 0xA5):
        live = Live(policy, ARMS)
        live.states.view(np.uint8)[:] = garbage
        live.start(ARMS, key_of(SEED))
        begun.append(numbers_in(live.states[0]))
    unset = [name for name in begun[0] if begun[0][name] != begun[1][name]]
    assert not unset, f"start() does not set {', '.join(unset)}"


def check_wrong_types_are_rejected(policy):
    wrong = {int: ["7", 1.5, True, None], float: ["x", None, math.nan, math.inf], bool: [1, "x"]}
    for name, kind in get_type_hints(type(policy)).items():
        for value in wrong.get(kind, [object()]):
            assert_value_error(lambda n=name, v=value: policy._replace(**{n: v}), name)


def check_parameters_survive(policy):
    """As plain data, which a saved bandit and a scenario hold."""
    assert build(json.loads(json.dumps(describe(policy)))) == policy
    assert type(policy)(**policy._asdict()) == policy


def check_bad_rewards_change_nothing(policy):
    bandit = lb.Bandit(policy, ARMS, seed=SEED)
    live_with_delays(bandit, 20, random.Random(SEED))
    decision = bandit.ask()

    before = bandit.to_bytes()
    for reward in (math.nan, math.inf, -math.inf, 1e300, None, "x"):
        assert_value_error(lambda r=reward: bandit.tell(decision, r), "reward")
        assert bandit.to_bytes() == before
    bandit.tell(decision, 1.0)
    after = bandit.to_bytes()
    assert_value_error(lambda: bandit.tell(decision, 1.0), "already")
    assert bandit.to_bytes() == after


def check_arms_come_and_go(policy):
    """With decisions out, in the record of the beginning; and the events tell the whole life."""
    bandit = lb.Bandit(policy, ["a", "b", "c"], seed=SEED)
    events = []
    bandit.attach(events.extend)
    world = random.Random(SEED)
    live_with_delays(bandit, 60, world)
    before = bandit.to_bytes()
    if policy.oracle:
        assert_value_error(lambda: bandit.retire_arm("b"), "told the arms beforehand")
        assert_value_error(lambda: bandit.add_arm("d"), "told the arms beforehand")
        assert bandit.to_bytes() == before
        return
    pulls = bandit.pulls
    for old, new in [("b", "d"), ("a", "e"), ("e", "f"), ("f", "g")]:  # every place, twice the last
        bandit.retire_arm(old)
        assert bandit.pulls == pulls
        assert all(decision.arm != old for decision in live_with_delays(bandit, 40, world))
        round_left = int(bandit._live.s.queued - bandit._live.s.taken)
        pulls = bandit.pulls
        bandit.add_arm(new)
        assert bandit.pulls == {**pulls, new: 0}
        # It is pulled in the round that is being handed out.
        assert new in [decision.arm for decision in bandit.ask(round_left + 1)]
        taken = live_with_delays(bandit, 60, world)
        assert all(decision.arm != old for decision in taken)
        pulls = bandit.pulls
    assert {arm for arm, state in bandit.arms.items() if state == "active"} == {"c", "d", "g"}
    for decision in bandit.pending:
        bandit.tell(decision, 1.0)
    assert bandit.pulls["b"] + bandit.pulls["a"] == pulls["b"] + pulls["a"]  # ignored
    assert finite(bandit._live.s)
    assert lb.Bandit.from_json(bandit.to_json()).to_bytes() == bandit.to_bytes()
    twin = lb.Bandit(policy, ["a", "b", "c"], seed=SEED)
    for event in json.loads(json.dumps(events)):
        twin.apply(event)
    assert twin.to_bytes() == bandit.to_bytes()


def check_a_forced_arm_is_taken_in(policy):
    """A floor sends decisions to arms that the policy would not choose; nothing breaks."""
    bandit = lb.Bandit(policy, ARMS, seed=SEED, floor={0: 0.2, 2: 0.1})
    world = random.Random(SEED)
    taken = live_with_delays(bandit, 300, world)
    shares = [sum(decision.arm == arm for decision in taken) / 300 for arm in range(ARMS)]
    assert shares[0] > 0.2 - 4 * 0.024  # four standard errors
    assert shares[2] > 0.1 - 4 * 0.018
    assert finite(bandit._live.s)


def check_words_come_for_every_policy(policy):
    bandit = lb.Bandit(policy, ["a", "b", "c"], seed=SEED)
    for _ in range(60):
        decision = bandit.ask()
        said = bandit.explain()
        assert decision.arm in said.arms
        assert all(repr(arm) in str(said) for arm in said.arms)
        bandit.tell(decision, float(decision.id % 3 == 0))
        assert bandit.explain().arms == said.arms
    summary = bandit.summary()
    assert sum(arm.pulls for arm in summary.arms) == 60
    assert summary.leader in ("a", "b", "c")


CHECKS = [check for name, check in globals().items() if name.startswith("check_")]


# Helpers.


def finite(s):
    """No field of the record is NaN; infinite ones are limits that were meant so."""
    return all(
        finite(s[name]) if s.dtype[name].names else not np.isnan(s[name]).any()
        for name in s.dtype.names
        if s.dtype[name].names or s.dtype[name].base.kind == "f"
    )


def assert_same_run(a, b):
    assert a.regret.tobytes() == b.regret.tobytes()
    assert a.pulls.tobytes() == b.pulls.tobytes()


def assert_value_error(action, mention):
    with pytest.raises(ValueError, match=re.escape(mention)):
        action()


def follow(bandit, played):
    """The bandit takes the arms of a trace when it gets its rewards."""
    for t, (arm, reward) in enumerate(zip(played.arms, played.rewards, strict=True)):
        decision = bandit.ask()
        assert decision.arm == arm, f"step {t}"
        bandit.tell(decision, reward)


def live_arms(policy, steps, change=lambda reward: reward):
    """The arms a live bandit takes; its rewards, 0 or 1, depend on the step and the arm alone."""
    world = random.Random(SEED)
    bandit = lb.Bandit(policy, ARMS, seed=SEED)
    arms = []
    for _ in range(steps):
        decision = bandit.ask()
        arms.append(decision.arm)
        bandit.tell(decision, change(float(world.random() < 0.3 + 0.2 * decision.arm)))
    return arms


def live_with_delays(bandit, steps, world):
    """Rewards come late, out of order, or never. The decisions taken."""
    taken = []
    for _ in range(steps):
        taken.append(bandit.ask())
        while len(bandit.pending) > world.randint(0, 4):
            late = world.choice(bandit.pending)
            if world.random() < 0.1:
                bandit.forget(late)
            else:
                bandit.tell(late, float(world.random() < 0.5))
    return taken


def exact_traces(policies):
    """Arms and rewards, the latter to the last bit."""
    played = [lb.trace(policy, environment(), horizon=HORIZON, seed=SEED) for policy in policies]
    return [[t.arms.tolist(), [reward.hex() for reward in t.rewards.tolist()]] for t in played]


def traces_without_jit(policies):
    """`exact_traces` of a Python that runs the same kernels uncompiled."""
    order = {
        "modules": sorted({type(policy).__module__ for policy in policies}),
        "policies": [describe(policy) for policy in policies],
    }
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", "from conformance import checks; checks.answer()"],
        input=json.dumps(order),
        env={
            **os.environ,
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONPATH": os.pathsep.join([tests, *filter(None, sys.path)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answer():
    """The other end of `traces_without_jit`."""
    order = json.load(sys.stdin)
    for module in order["modules"]:
        __import__(module)
    json.dump(exact_traces([build(policy) for policy in order["policies"]]), sys.stdout)
