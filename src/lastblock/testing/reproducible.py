"""Checks: the same seed gives the same decisions, however a policy is run."""

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lastblock.arms.bernoulli import Bernoulli
from lastblock.core.protocol import Policy
from lastblock.environments.piecewise import Stationary
from lastblock.kernels.background import compiling
from lastblock.live.bandit import Bandit
from lastblock.live.decisions import Decision
from lastblock.simulation.run import Run
from lastblock.simulation.simulate import simulate, trace
from lastblock.testing.expectations import expect, expect_same
from lastblock.testing.without_jit import work_without_jit
from lastblock.testing.worlds import (
    ARMS,
    HORIZON,
    SEED,
    declares,
    environment,
    follow,
    live_arms,
    live_with_delays,
)


def same_seed_same_run(policy: Policy) -> None:
    """The same seed gives the same simulation and the same live decisions."""
    first, second = (
        simulate(policy, environment(), horizon=HORIZON, replications=5, seed=SEED)
        for _ in range(2)
    )
    _expect_same_run("simulated twice with the same seed", first, second)
    expect_same(
        "arms of two live bandits with the same seed", live_arms(policy, 50), live_arms(policy, 50)
    )


def threads_and_chunks_change_nothing(policy: Policy) -> None:
    """Results are the same with one, two, three and seven threads, hence chunks of 7, 4, 3, 1."""

    def run(threads: int) -> Run:
        return simulate(
            policy, environment(), horizon=HORIZON, replications=7, seed=SEED, threads=threads
        )

    plain = run(1)
    for threads in (2, 3, 7):
        _expect_same_run(f"simulated on {threads} threads and on one", run(threads), plain)


def trace_is_replication_0(policy: Policy) -> None:
    """`trace` shows replication 0 of `simulate`."""
    played = trace(policy, environment(), horizon=HORIZON, seed=SEED)
    run = simulate(policy, environment(), horizon=HORIZON, replications=2, seed=SEED)
    traced = np.bincount(played.arms, minlength=ARMS).tolist()
    simulated = run.pulls[0].tolist()
    expect(traced == simulated, f"pulls of the arms: {traced} traced, {simulated} simulated")


def live_is_simulated(policy: Policy) -> None:
    """A live bandit whose rewards come at once takes the arms of replication 0."""
    played = trace(policy, environment(), horizon=HORIZON, seed=SEED)
    follow(Bandit(policy, ARMS, seed=SEED), played)


def a_policy_that_grows_goes_on_alike(policy: Policy) -> None:
    """Decisions stay the same when an arm gets more rewards than a new record holds."""
    if declares(policy, "grows"):
        easy = Stationary([Bernoulli(0.1), Bernoulli(0.95), Bernoulli(0.1)])
        follow(Bandit(policy, ARMS, seed=SEED), trace(policy, easy, horizon=1600, seed=SEED))


def jit_changes_nothing(policy: Policy) -> None:
    """Compiled or not, arms are the same, and rewards are the same to the last bit."""
    (plain,) = work_without_jit(exact_traces, [policy])
    expect_same_trace(exact_traces([policy])[0], plain)


def compiling_in_the_middle_changes_nothing(policy: Policy) -> None:
    """Plain Python and compiled code have the same state after every step of a live bandit.

    So it does not matter after which of them a bandit changes over to its compiled code.
    """
    for floor in (None, {0: 0.2, 2: 0.1}):
        with compiling("never"):
            plain: Bandit[int] = Bandit(policy, ARMS, seed=SEED, floor=floor)
        compiled: Bandit[int] = Bandit(policy, ARMS, seed=SEED, floor=floor, compiled=True)
        for step in range(60):
            with compiling("never"):
                slowly = _live_a_step(plain, step)
            expect_same(f"decisions of step {step}", slowly, _live_a_step(compiled, step))
            expect(
                plain.to_bytes() == compiled.to_bytes(),
                f"after step {step} plain Python and compiled code have different states",
            )


def _live_a_step(bandit: Bandit[int], step: int) -> list[Decision[int]]:
    """Live for a while; arms come and go meanwhile, unless the policy forbids it."""
    if step == 30 and not declares(bandit.policy, "oracle"):
        bandit.retire_arm(1)
        bandit.add_arm(7)
    return live_with_delays(bandit, 2, random.Random(step))


def saved_and_loaded_goes_on_alike(policy: Policy) -> None:
    """A bandit saved and loaded in the middle of a run, with decisions out, goes on alike."""
    world = random.Random(SEED)
    bandit = Bandit(policy, ["a", "b", "c"], seed=SEED)
    live_with_delays(bandit, 80, world)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bandit"
        bandit.save(path)
        loaded: Bandit[str] = Bandit.load(path)
    expect_same("decisions out, after loading", loaded.pending, bandit.pending)
    expect(loaded.pulls == bandit.pulls, f"pulls, after loading: {loaded.pulls}, {bandit.pulls}")
    other_world = random.Random()
    other_world.setstate(world.getstate())
    expect_same(
        "decisions after loading",
        live_with_delays(loaded, 80, other_world),
        live_with_delays(bandit, 80, world),
    )
    expect(
        loaded.to_bytes() == bandit.to_bytes(),
        "after the same decisions, the states of a saved bandit and of the loaded one differ",
    )


def exact_traces(policies: Sequence[Policy]) -> list[list[list[Any]]]:
    """Return the arms and rewards of a short simulation.

    Parameters
    ----------
    policies
        The policies to simulate, one by one.

    Returns
    -------
    list
        For each policy its arms, and its rewards as hexadecimal numbers, to the last bit.
    """
    played = [trace(policy, environment(), horizon=HORIZON, seed=SEED) for policy in policies]
    return [[t.arms.tolist(), [reward.hex() for reward in t.rewards.tolist()]] for t in played]


def expect_same_trace(compiled: list[list[Any]], plain: list[list[Any]]) -> None:
    """Expect one policy's traces with and without the JIT to be the same."""
    for what, one, other in zip(("arms", "rewards"), compiled, plain, strict=True):
        expect_same(f"{what} with the JIT on and off", one, other)


def _expect_same_run(what: str, a: Run, b: Run) -> None:
    expect_same(f"{what}: pulls of the arms", a.pulls.tolist(), b.pulls.tolist())
    if a.regret.tobytes() != b.regret.tobytes():
        expect_same(f"{what}: regret", a.regret.ravel().tolist(), b.regret.ravel().tolist())
