"""The only loops over time and over replications."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.events import ASK, NO_CHANCE, TELL
from lastblock.jit import entry, kernel, moment
from lastblock.notes import note_decision, note_reward, note_round
from lastblock.protocol import EnvironmentTable, Policy, Record, States
from lastblock.random import ENVIRONMENT, Stream, below, next_word, seed_stream, uniform
from lastblock.restarts import note_extra, restarts_of
from lastblock.state import begin, lose_arm, next_arm, plan_if_due, reward_arm, take_arm
from lastblock.sums import LARGEST_REWARD

RECENT = 64
"""How many of the last pulls are looked at to tell whether a policy has found the best arm."""

FOUND = RECENT // 2
"""A policy has found the best arm of a phase when it took this many of the recent pulls."""


class Outcome(NamedTuple):
    """What `play` writes down of each replication: one row each."""

    regret: npt.NDArray[np.float64]  # (n, times)
    best_pulls: npt.NDArray[np.int64]  # (n, times): pulls of a best arm so far
    pulls: npt.NDArray[np.int64]  # (n, phases, K)
    delays: npt.NDArray[np.int64]  # (n, phases): pulls until the best arm is found; −1 for never
    restarts: npt.NDArray[np.int64]  # (n,); −1 for a policy that does not count them
    arms: npt.NDArray[np.int64]  # (n, steps): the first so many arms …
    rewards: npt.NDArray[np.float64]  # … and rewards

    @classmethod
    def empty(cls, n: int, times: int, phases: int, arms: int, traced: int = 0) -> "Outcome":
        """Room for n replications."""
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
        """A view of the replications from `first` to before `last`."""
        return Outcome._make(table[first:last] for table in self)


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
) -> None:
    """Play replications first, first + 1, … one after the other in one record."""
    stream, scratch = streams[0], streams[1]
    s = state[0]
    regret, best_pulls, pulls = outcome.regret, outcome.best_pulls, outcome.pulls
    delays, arms, rewards = outcome.delays, outcome.arms, outcome.rewards
    traced = arms.shape[1]
    for i in range(regret.shape[0]):
        seed_stream(stream, key, first + i, ENVIRONMENT)
        begin(policy, s, pulls.shape[2], key, first + i)
        for p in range(pulls.shape[1]):
            delays[i, p] = -1
            for k in range(pulls.shape[2]):
                pulls[i, p, k] = 0
        total = 0.0
        found = 0
        cursor = 0
        phase = 0
        phase_start = 0
        recent = np.uint64(0)  # the last pulls as bits: was it a best arm?
        recent_best = 0
        t = 0
        for j in range(times.shape[0]):
            while t < times[j]:
                arm = next_arm(policy, s)
                cursor = environment.seek(t, cursor)
                reward = environment.sample(cursor, arm, next_word(stream), scratch)
                reward_arm(policy, s, arm, reward)
                # Pseudo-regret: true means, at the time of the pull.
                gap = environment.best(cursor) - environment.mean(cursor, arm)
                total += gap
                if environment.phase(cursor) != phase:
                    phase = environment.phase(cursor)
                    phase_start = t
                    recent = np.uint64(0)
                    recent_best = 0
                pulls[i, phase, arm] += 1
                is_best = 1 if gap == 0.0 else 0
                found += is_best
                recent_best += is_best - int(recent >> np.uint64(RECENT - 1))
                recent = (recent << np.uint64(1)) | np.uint64(is_best)
                if t < traced:
                    arms[i, t] = arm
                    rewards[i, t] = reward
                t += 1
                if recent_best >= FOUND and delays[i, phase] < 0:
                    delays[i, phase] = t - phase_start
            regret[i, j] = total
            best_pulls[i, j] = found
        outcome.restarts[i] = restarts_of(s)


@moment
def open_live(policy: Policy, states: States, arms: int, key: Stream, replication: int) -> None:
    """Start a live bandit, with the policy stream of a replication of the seed."""
    begin(policy, states[0], arms, key, replication)


@moment
def ask_live(
    policy: Policy,
    states: States,
    planned: npt.NDArray[np.uint64],
    id: int,
) -> int:
    """The arm of the next decision."""
    s = states[0]
    if plan_if_due(policy, s):
        note_round(s, planned, id)
    arm = take_arm(s)
    note_decision(planned, id, arm, arm)
    return arm


@kernel
def chance_of(floor: npt.NDArray[np.float64], arms: int, arm: int, wanted: int) -> float:
    """The probability of an arm: its floor, and what no floor takes if the policy wanted it."""
    total = 0.0
    for k in range(arms):
        total += floor[k]
    own = max(0.0, 1.0 - total) if arm == wanted else 0.0
    return float(min(1.0, floor[arm] + own))


@kernel
def apply_floor(s: Record, floor: npt.NDArray[np.float64], wanted: int) -> tuple[int, float]:
    """Between the policy, which has decided for an arm, and the traffic floors one uniform decides.

    Returns the arm and its probability. Where a floor has its way, be it for the same arm, the
    policy's decision is taken back, and is the next one of its round.
    """
    u = uniform(s.stream)
    arm = int(wanted)
    forced = False
    for k in range(s.arms):
        if not forced and u < floor[k]:
            forced = True
            arm = k
        u -= floor[k]
    if forced:
        s.taken -= 1
        s.out[wanted] -= 1
        s.out[arm] += 1
        note_extra(s)
    return arm, chance_of(floor, s.arms, arm, wanted)


@moment
def ask_floored_live(
    policy: Policy,
    states: States,
    planned: npt.NDArray[np.uint64],
    floor: npt.NDArray[np.float64],
    id: int,
) -> tuple[int, float]:
    """The same with traffic floors: the arm and its probability."""
    s = states[0]
    if plan_if_due(policy, s):
        note_round(s, planned, id)
    wanted = take_arm(s)
    arm, chance = apply_floor(s, floor, wanted)
    note_decision(planned, id, arm, wanted)
    return arm, chance


@moment
def tell_live(
    policy: Any, states: States, told: npt.NDArray[np.float64], arm: int, reward: float
) -> bool:
    """Take in a reward; False, and nothing changed, if it is too large or the record is full."""
    if not -LARGEST_REWARD < reward < LARGEST_REWARD:  # NaN, too
        return False
    if policy.full(states[0], arm):
        return False
    value = reward + 0.0  # no −0.0: equal rewards leave equal bytes
    reward_arm(policy, states[0], arm, value)
    note_reward(told, arm, value)
    return True


@moment
def full_live(policy: Any, states: States, arm: int) -> bool:
    """Whether the record must grow before it takes a reward of this arm."""
    return bool(policy.full(states[0], arm))


@moment
def forget_live(states: States, arm: int) -> None:
    """A decision whose reward will never come."""
    lose_arm(states[0], arm)


@entry
def relive(
    policy: Any,
    states: States,
    planned: npt.NDArray[np.uint64],
    told: npt.NDArray[np.float64],
    floor: npt.NDArray[np.float64],
    is_floored: bool,
    run: npt.NDArray[np.float64],
    first: int,
    places: npt.NDArray[np.int64],
) -> int:
    """Asks, tells and forgets, once more, from row `first` of `run` on.

    `places` says where in the record an arm is; −1 for retired ones. Returns the row that could not
    be done: of an ask that gives something else, or of a reward for which the record must grow.
    """
    s = states[0]
    for row in range(first, run.shape[0]):
        kind, place = run[row, 0], places[int(run[row, 2])]
        if kind == ASK:
            if plan_if_due(policy, s):
                note_round(s, planned, int(run[row, 1]))
            wanted = int(take_arm(s))
            arm, chance = wanted, NO_CHANCE
            if is_floored:
                arm, chance = apply_floor(s, floor, wanted)
            note_decision(planned, int(run[row, 1]), arm, wanted)
            if arm != place or chance != run[row, 3]:
                return row
        elif place >= 0:
            if kind == TELL:
                if policy.full(s, place):
                    return row
                reward_arm(policy, s, place, run[row, 3])
                note_reward(told, place, run[row, 3])
            else:
                lose_arm(s, place)
    return int(run.shape[0])


class Passes(NamedTuple):
    """What `replay` writes down of each pass over a log: one row each."""

    reward: npt.NDArray[np.float64]  # (n, times): of the matched events so far …
    matched: npt.NDArray[np.int64]  # … and how many they are
    pulls: npt.NDArray[np.int64]  # (n, K)
    squares: npt.NDArray[np.float64]  # (n,): squared distances of matched rewards from their mean
    events: npt.NDArray[np.int64]  # (n, traced): the first so many matched events

    @classmethod
    def empty(cls, n: int, times: int, arms: int, traced: int = 0) -> "Passes":
        """Room for n passes."""
        return cls(
            reward=np.empty((n, times)),
            matched=np.empty((n, times), np.int64),
            pulls=np.empty((n, arms), np.int64),
            squares=np.empty(n),
            events=np.empty((n, traced), np.int64),
        )

    def part(self, first: int, last: int) -> "Passes":
        """A view of the passes from `first` to before `last`."""
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
    """Passes first, first + 1, … over a log (Li, Chu, Langford & Wang, 2011).

    A decision stays asked until an event has its arm; the events in between leave no trace. A
    resampled log has as many events, drawn with replacement. Returns how many passes are done: not
    all of them if the record must grow first.
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
                    # Welford's rule, counted from the first reward: large ones do not cancel.
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
