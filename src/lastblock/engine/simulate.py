"""The loop over time and replications of a simulation."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.families import check_drawn
from lastblock.core.protocol import EnvironmentTable, Policy, States
from lastblock.core.restarts import restarts_of
from lastblock.core.rounds import begin, next_arm, reward_arm
from lastblock.engine.lateness import Late, note_reward, open_book, tell_due
from lastblock.kernels.jit import entry, kernel
from lastblock.kernels.streams import ENVIRONMENT, Stream, next_word, seed_stream

RECENT = 64
"""The number of last pulls that show whether a policy has found the best arm."""

OFTEN_ENOUGH = RECENT // 2
"""A policy has found the best arm of a phase when this many of the last pulls were of it."""


class Outcome(NamedTuple):
    """What `play` writes down, with one row per replication."""

    regret: npt.NDArray[np.float64]  # (n, times): regret so far
    best_pulls: npt.NDArray[np.int64]  # (n, times): pulls of a best arm so far
    pulls: npt.NDArray[np.int64]  # (n, phases, K): pulls of each arm
    delays: npt.NDArray[np.int64]  # (n, phases): pulls until the best arm is found; −1 for never
    restarts: npt.NDArray[np.int64]  # (n,); −1 for a policy that does not count them
    arms: npt.NDArray[np.int64]  # (n, traced): the arms pulled first
    rewards: npt.NDArray[np.float64]  # (n, traced): their rewards

    @classmethod
    def empty(cls, n: int, times: int, phases: int, arms: int, traced: int = 0) -> "Outcome":
        """Return arrays for n replications."""
        return cls(
            regret=np.empty((n, times)),
            best_pulls=np.empty((n, times), np.int64),
            pulls=np.empty((n, phases, arms), np.int64),
            delays=np.empty((n, phases), np.int64),
            restarts=np.empty(n, np.int64),
            arms=np.empty((n, traced), np.int64),
            rewards=np.empty((n, traced)),
        )

    def part(self, first: int, last: int) -> "Outcome":
        """Return a view of the replications from `first` to before `last`."""
        return Outcome._make(table[first:last] for table in self)


class Standing(NamedTuple):
    """What is known of one replication so far."""

    regret: float
    found: int  # pulls of a best arm
    in_phase: int  # named unlike the method `phase` of environments, for numba's sake
    phase_start: int
    recent: np.uint64  # the last pulls as bits: 1 for a best arm
    recent_best: int


@kernel
def clear_row(outcome: Outcome, i: int) -> Standing:
    """Make row i ready for a replication; return its standing before the first step."""
    pulls, delays = outcome.pulls, outcome.delays
    for p in range(pulls.shape[1]):
        delays[i, p] = -1
        for k in range(pulls.shape[2]):
            pulls[i, p, k] = 0
    return Standing(0.0, 0, 0, 0, np.uint64(0), 0)


@kernel
def draw_reward(
    environment: EnvironmentTable, t: int, cursor: int, arm: int, stream: Stream, scratch: Stream
) -> tuple[int, float]:
    """Draw the reward of an arm at step t; return where the environment is now, and the reward."""
    cursor = environment.seek(t, cursor)
    return cursor, environment.sample(cursor, arm, next_word(stream), scratch)


@kernel
def note_pull(
    outcome: Outcome,
    environment: EnvironmentTable,
    standing: Standing,
    i: int,
    t: int,
    cursor: int,
    arm: int,
    reward: float,
) -> Standing:
    """Write the pull at step t into row i; return the standing after it."""
    # Pseudo-regret is the gap between true means at the time of the pull.
    gap = environment.best(cursor) - environment.mean(cursor, arm)
    phase, phase_start = standing.in_phase, standing.phase_start
    recent, recent_best = standing.recent, standing.recent_best
    now = environment.phase(cursor)
    if now != phase:
        phase = now
        phase_start = t
        recent = np.uint64(0)
        recent_best = 0
    outcome.pulls[i, phase, arm] += 1
    is_best = 1 if gap == 0.0 else 0
    recent_best += is_best - int(recent >> np.uint64(RECENT - 1))
    recent = (recent << np.uint64(1)) | np.uint64(is_best)
    if t < outcome.arms.shape[1]:
        outcome.arms[i, t] = arm
        outcome.rewards[i, t] = reward
    if recent_best >= OFTEN_ENOUGH and outcome.delays[i, phase] < 0:
        outcome.delays[i, phase] = t + 1 - phase_start
    return Standing(
        standing.regret + gap, standing.found + is_best, phase, phase_start, recent, recent_best
    )


@kernel
def note_time(outcome: Outcome, i: int, j: int, standing: Standing) -> None:
    """Write the standing at the time in column j into row i."""
    outcome.regret[i, j] = standing.regret
    outcome.best_pulls[i, j] = standing.found


@entry
def play(
    policy: Policy,
    environment: EnvironmentTable,
    state: States,
    key: Stream,
    streams: Stream,
    first: int,
    times: npt.NDArray[np.int64],
    outcome: Outcome,
    late: Late | None,
) -> None:
    """Play replications first, first + 1, … one after the other in one record.

    Without `late` every reward comes before the next decision. Numba knows the type of None and
    leaves those branches out. What does not depend on the policy is in the kernels above: numba
    reads them once, and this function again for each policy.
    """
    stream, scratch, s = streams[0], streams[1], state[0]
    for i in range(outcome.regret.shape[0]):
        seed_stream(stream, key, first + i, ENVIRONMENT)
        begin(policy, s, outcome.pulls.shape[2], key, first + i)
        if late is not None:
            open_book(late, first + i)
        standing = clear_row(outcome, i)
        cursor = 0
        t = 0
        for j in range(times.shape[0]):
            while t < times[j]:
                if late is not None:
                    tell_due(policy, s, late, t)
                arm = next_arm(policy, s)
                cursor, reward = draw_reward(environment, t, cursor, arm, stream, scratch)
                check_drawn(policy, environment, reward)
                if late is None:
                    reward_arm(policy, s, arm, reward)
                else:
                    note_reward(late, t, arm, reward)
                standing = note_pull(outcome, environment, standing, i, t, cursor, arm, reward)
                t += 1
            note_time(outcome, i, j, standing)
        outcome.restarts[i] = restarts_of(s)
