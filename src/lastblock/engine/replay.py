"""The loop that replays a log of decisions that another policy has taken."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import States
from lastblock.core.rounds import begin, next_arm, reward_arm
from lastblock.kernels.jit import entry
from lastblock.kernels.streams import ENVIRONMENT, Stream, below, seed_stream


class Passes(NamedTuple):
    """What `replay` writes down, with one row per pass over the log."""

    reward: npt.NDArray[np.float64]  # (n, times): the sum of rewards of the matched events so far
    matched: npt.NDArray[np.int64]  # (n, times): the number of matched events so far
    pulls: npt.NDArray[np.int64]  # (n, K): the number of matched events of each arm
    squares: npt.NDArray[np.float64]  # (n,): squared distances of matched rewards from their mean
    events: npt.NDArray[np.int64]  # (n, traced): which events matched first

    @classmethod
    def empty(cls, n: int, times: int, arms: int, traced: int = 0) -> "Passes":
        """Return arrays for n passes."""
        return cls(
            reward=np.empty((n, times)),
            matched=np.empty((n, times), np.int64),
            pulls=np.empty((n, arms), np.int64),
            squares=np.empty(n),
            events=np.empty((n, traced), np.int64),
        )

    def part(self, first: int, last: int) -> "Passes":
        """Return a view of the passes from `first` to before `last`."""
        return Passes._make(table[first:last] for table in self)


@entry
def replay(
    policy: Any,
    state: States,
    key: Stream,
    stream: Stream,
    first: int,
    log_arms: npt.NDArray[np.uint32],
    log_rewards: npt.NDArray[np.float64],
    resampled: bool,
    horizon: int,
    times: npt.NDArray[np.int64],
    passes: Passes,
) -> int:
    """Make passes first, first + 1, … over a log (Li, Chu, Langford & Wang, 2011).

    A decision waits for the next event with its arm; the events before that are skipped. If
    `resampled`, a pass reads as many events, drawn with replacement. Returns how many passes were
    completed: fewer than asked for if the record must grow first.
    """
    s = state[0]
    reward, matched, pulls = passes.reward, passes.matched, passes.pulls
    squares, events = passes.squares, passes.events
    size = log_arms.shape[0]
    for i in range(reward.shape[0]):
        seed_stream(stream, key, first + i, ENVIRONMENT)
        begin(policy, s, pulls.shape[1], key, first + i)
        for k in range(pulls.shape[1]):
            pulls[i, k] = 0
        n = 0
        total = 0.0
        origin = 0.0
        mean = 0.0
        distance = 0.0
        wanted = next_arm(policy, s)
        t = 0
        for j in range(times.shape[0]):
            while t < times[j] and n < horizon:
                event = below(stream, size) if resampled else t
                t += 1
                if log_arms[event] == wanted:
                    if policy.full(s, wanted):
                        return i
                    value = log_rewards[event]
                    reward_arm(policy, s, wanted, value)
                    pulls[i, wanted] += 1
                    if n < events.shape[1]:
                        events[i, n] = event
                    n += 1
                    total += value
                    # Welford's rule on rewards less the first one, so that large rewards that
                    # are almost equal lose no digits.
                    if n == 1:
                        origin = value
                    step = value - origin - mean
                    mean += step / n
                    distance += step * (value - origin - mean)
                    if n < horizon:
                        wanted = next_arm(policy, s)
            reward[i, j] = total
            matched[i, j] = n
        squares[i] = distance
    return int(reward.shape[0])
