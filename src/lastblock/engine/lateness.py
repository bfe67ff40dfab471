"""Rewards that come late in a simulation: drawn delays, and a book of what is still to come.

The reward of the decision at step t with delay d is told after d further decisions, before that of
step t + d + 1; with d = 0 before the next one. Rewards that are due at the same step are told in
the order of their decisions. What is due after the horizon never comes.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy, Record
from lastblock.core.rounds import reward_arm
from lastblock.kernels.jit import kernel
from lastblock.kernels.streams import (
    ENVIRONMENT,
    STREAM_WORDS,
    Stream,
    next_word,
    seed_stream,
    to_open_unit,
)

FIXED, GEOMETRIC, PARETO = 0, 1, 2
"""The laws of delays."""

NOTHING = -1
_LARGEST_EXPONENT = 600.0  # beyond any horizon; Python's `exp` raises an error above 709
_SALT = np.uint64(0x44656C6179)  # delays have a stream of their own


class Late(NamedTuple):
    """The law of the delays, and the book of rewards that are still to come, for one thread."""

    law: int
    first: float  # steps of a fixed delay, the mean of a geometric one, the scale of Pareto's
    second: float  # the shape of Pareto's
    never: float  # the share of rewards that never come
    key: Stream
    stream: Stream
    heads: npt.NDArray[np.int64]  # for each step the first decision whose reward is due
    tails: npt.NDArray[np.int64]  # and the last one
    links: npt.NDArray[np.int64]  # for each decision the next one that is due at the same step
    arms: npt.NDArray[np.int64]
    rewards: npt.NDArray[np.float64]

    @classmethod
    def empty(
        cls, law: int, first: float, second: float, never: float, key: Stream, horizon: int
    ) -> "Late":
        """Return a book for so many steps; `key` is that of the seed."""
        heads, tails, links, arms = np.empty((4, horizon), np.int64)
        stream = np.empty(STREAM_WORDS, np.uint64)
        rewards = np.empty(horizon)
        salted = key ^ _SALT
        book = heads, tails, links, arms, rewards
        return cls(law, first, second, never, salted, stream, *book)


@kernel
def draw_delay(late: Any, word: np.uint64) -> float:
    """Return the delay that a random word gives; infinite if the reward never comes."""
    u = to_open_unit(word) - late.never
    if u <= 0.0:
        return math.inf
    u /= 1.0 - late.never
    if late.law == FIXED:
        return float(late.first)
    if late.law == GEOMETRIC:
        if late.first == 0.0:
            return 0.0
        return float(np.floor(math.log(u) / -math.log1p(1.0 / late.first)))
    exponent = min(_LARGEST_EXPONENT, -math.log(u) / late.second)
    return float(np.floor(late.first * (math.exp(exponent) - 1.0)))


@kernel
def open_book(late: Any, replication: int) -> None:
    """Start a replication: nothing is due, and delays begin with its own random stream."""
    seed_stream(late.stream, late.key, replication, ENVIRONMENT)
    for t in range(late.heads.shape[0]):
        late.heads[t] = NOTHING


@kernel
def tell_due(policy: Policy, s: Record, late: Any, t: int) -> None:
    """Tell the policy the rewards that are due before the decision of step `t`."""
    told = late.heads[t]
    while told != NOTHING:
        reward_arm(policy, s, late.arms[told], late.rewards[told])
        told = late.links[told]


@kernel
def note_reward(late: Any, t: int, arm: int, reward: float) -> None:
    """Note the reward of step `t` for the step at which it is due, if it comes at all."""
    delay = draw_delay(late, next_word(late.stream))
    horizon = late.heads.shape[0]
    if delay >= horizon - t - 1:
        return
    due = t + 1 + int(delay)
    late.arms[t] = arm
    late.rewards[t] = reward
    late.links[t] = NOTHING
    if late.heads[due] == NOTHING:
        late.heads[due] = t
    else:
        late.links[late.tails[due]] = t
    late.tails[due] = t
