"""The only loops over time and over replications."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.jit import entry
from lastblock.protocol import EnvironmentTable, Policy, States
from lastblock.random import ENVIRONMENT, Stream, next_word, seed_stream
from lastblock.state import begin, next_arm, reward_arm


@entry
def play(
    policy: Policy,
    environment: EnvironmentTable,
    state: States,
    key: Stream,
    streams: Stream,
    first: int,
    times: npt.NDArray[np.int64],
    regret: npt.NDArray[np.float64],
    pulls: npt.NDArray[np.int64],
    arms: npt.NDArray[np.int64],
    rewards: npt.NDArray[np.float64],
) -> None:
    """Play replications first, first + 1, … one after the other in one record.

    `regret` (replications, times) and `pulls` (replications, K) are filled in; so are the first
    columns of `arms` and `rewards`, as many as there are.
    """
    stream, scratch = streams[0], streams[1]
    s = state[0]
    traced = arms.shape[1]
    for i in range(regret.shape[0]):
        seed_stream(stream, key, first + i, ENVIRONMENT)
        begin(policy, s, pulls.shape[1], key, first + i)
        for k in range(pulls.shape[1]):
            pulls[i, k] = 0
        total = 0.0
        cursor = 0
        t = 0
        for j in range(times.shape[0]):
            while t < times[j]:
                arm = next_arm(policy, s)
                cursor = environment.seek(t, cursor)
                reward = environment.sample(cursor, arm, next_word(stream), scratch)
                reward_arm(policy, s, arm, reward)
                # Pseudo-regret: true means, at the time of the pull.
                total += environment.best(cursor) - environment.mean(cursor, arm)
                pulls[i, arm] += 1
                if t < traced:
                    arms[i, t] = arm
                    rewards[i, t] = reward
                t += 1
            regret[i, j] = total


@entry
def open_live(policy: Policy, states: States, i: int, arms: int, key: Stream) -> None:
    """Start a live bandit in record i: the policy stream of replication 0 of the same seed."""
    begin(policy, states[i], arms, key, 0)


@entry
def ask_live(policy: Policy, states: States, i: int) -> int:
    """The arm of the next decision."""
    return next_arm(policy, states[i])


@entry
def tell_live(policy: Any, states: States, i: int, arm: int, reward: float) -> bool:
    """Take in a reward; False, and nothing changed, if the record must grow first."""
    if policy.full(states[i], arm):
        return False
    reward_arm(policy, states[i], arm, reward)
    return True


@entry
def forget_live(states: States, i: int, arm: int) -> None:
    """A decision whose reward will never come."""
    states[i].out[arm] -= 1
    states[i].lost[arm] += 1
