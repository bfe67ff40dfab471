"""Policies with one mistake each, and the checks that must find it."""

import math
import os
import random
from typing import NamedTuple

import numpy as np

from lastblock import kit
from lastblock.kit import (
    FIRST_ROOM,
    argmax,
    below,
    enqueue,
    enqueue_all,
    history,
    policy,
    record,
    shuffle,
    unseen,
)

ELSEWHERE = "LASTBLOCK_TESTING_WITHOUT_JIT" in os.environ  # in the process of jit_changes_nothing


class Sound(NamedTuple):
    """The best mean so far, and now and then another arm."""

    every: int = 7

    def layout(self, arms, horizon):
        return [
            ("last", np.int64),
            ("sums", np.float64, (arms,)),
            ("pulls", np.int64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def plan(self, s):
        if s.round % self.every == 0:
            enqueue(s, below(s.stream, s.arms))
        else:
            for k in range(s.arms):
                s.index[k] = s.sums[k] / s.pulls[k] if s.pulls[k] > 0 else unseen(s, k)
            enqueue(s, argmax(s, s.index))

    def observe(self, s, arm, reward):
        s.sums[arm] += reward
        s.pulls[arm] += 1


def mutant(base, register, name, **changes):
    """A class with some methods replaced; importable by its name, as a second process does it."""
    cls = type(name, (base,), {"__slots__": (), "__module__": base.__module__, **changes})
    return register(cls)


def always(arm):
    """Plan one arm, which may depend on the record."""
    return lambda self, s: enqueue(s, arm(s))


def sometimes_silent(self, s):
    if s.round % 50 != 0:
        enqueue(s, below(s.stream, s.arms))


def stale_arm(self, s):
    s.last = max(s.last, s.arms - 1)  # the number of an arm, in a field that does not say so
    enqueue(s, s.last)


def by_threshold(self, s, arm, reward):
    s.sums[arm] += reward > 0.5
    s.pulls[arm] += 1


def only_its_own(self, s, arm, reward):
    if arm not in s.queue[: s.queued]:
        s.sums[arm] = math.nan


def by_root(self, s, arm, reward):
    s.sums[arm] += math.sqrt(reward)  # and does not say that rewards must not be negative
    s.pulls[arm] += 1


def with_history(self, arms, horizon):
    rewards = FIRST_ROOM if horizon is None else horizon
    return [("history", history.history_dtype(arms, rewards))]


def start_history(self, s):
    history.clear(s.history)
    enqueue_all(s)
    shuffle(s)


def by_horizon(self, arms, horizon):
    return [*Sound.layout(self, arms, horizon), ("times", np.float64, (horizon or 5,))]


def with_record(self, arms, horizon):
    return [*Sound.layout(self, arms, horizon), ("own", record([("last", np.int64)]))]


def padded(self, s, arm):
    pulls = int(s.pulls[arm])
    return kit.Held(float(pulls), rewards=lambda: np.full(pulls, 0.5))


def wordless(self, s):
    raise KeyError("words")


def by_room(self, s):
    if s.round % s.sums.shape[0] == 0:  # the room, not the number of arms
        enqueue(s, below(s.stream, s.arms))
    else:
        Sound.plan(self, s)


def by_mean(self, s):
    for k in range(s.arms):
        s.index[k] = s.sums[k] / s.pulls[k] if s.pulls[k] > 0 else unseen(s, k)
    enqueue(s, argmax(s, s.index))


def outdated(self, s):
    if s.round == 2:  # once and for all, and far too low
        for k in range(s.arms):
            s.index[k] = 0.1
    enqueue(s, below(s.stream, s.arms))


def all_at_once(self, s):
    by_mean(self, s)
    s.queued = 0
    enqueue_all(s)


def without_index(self, arms, horizon):
    return [field for field in Sound.layout(self, arms, horizon) if field[0] != "index"]


unseeded = always(lambda s: random.randrange(int(s.arms)))
favourite = always(lambda s: 0)


class Anything(NamedTuple):
    """Takes any parameter."""

    what: object = complex(1.0)

    layout = Sound.layout
    plan = unseeded
    observe = Sound.observe


def make(name, *flags, **changes):
    return mutant(Sound, policy(**dict.fromkeys(flags, True)), name, **changes)()


FORGETFUL = make(
    "Forgetful",
    "grows",
    layout=with_history,
    start=start_history,
    plan=always(lambda s: 1 if s.round < 1500 else s.history.kept[1] % 3),
    observe=lambda self, s, arm, reward: history.append(s.history, arm, reward),
)
OVERTAXED = always(lambda s: 99 if s.out.sum() > 10 else below(s.stream, s.arms))
UNCLEARED = always(lambda s: s.own.last % s.arms)
BEYOND = always(lambda s: s.pulls.sum() % s.arms)  # there are entries beyond the arms
WATCHED = always(lambda s: (s.round + ELSEWHERE) % s.arms)
INVARIANT = "shift_invariant", "scale_invariant"


def holding(number, total):
    """What an arm is said to hold, from the pulls and the sum that it has."""
    return lambda self, s, arm: kit.Held(float(s.pulls[arm] + number), float(s.sums[arm] + total))


# The checks that must find each of them.
FOUND_BY = [
    (
        make("Unseeded", plan=unseeded),
        "same_seed_same_run threads_and_chunks_change_nothing trace_is_replication_0 "
        "live_is_simulated saved_and_loaded_goes_on_alike several_rewards_count_as_their_sum "
        "a_store_takes_tokens_again_and_again",
    ),
    (make("Elsewhere", plan=WATCHED), "jit_changes_nothing"),
    (FORGETFUL, "a_policy_that_grows_goes_on_alike"),
    (make("Overtaxed", plan=OVERTAXED), "asking_never_waits"),
    (make("Silent", plan=sometimes_silent), "every_round_can_be_played"),
    (make("Favourite", plan=favourite), "arms_have_no_favourites"),
    (
        make("Threshold", *INVARIANT, observe=by_threshold),
        "shift_is_as_declared scale_is_as_declared",
    ),
    (make("ByHorizon", layout=by_horizon), "state_is_bounded"),
    (
        make("Lazy", layout=with_record, plan=UNCLEARED),
        "start_sets_what_it_reads start_sets_every_number",
    ),
    (policy()(Anything)(), "wrong_types_are_rejected parameters_survive"),
    (make("Stale", plan=stale_arm), "arms_come_and_go paused_arms_are_not_taken"),
    (make("ByRoom", plan=by_room), "room_changes_no_decision"),
    (make("Wide", plan=BEYOND), "absent_arms_are_as_if_retired"),
    (make("Root", observe=by_root), "only_its_support_is_taken environments_fit"),
    (
        make("Narrow", observe=only_its_own),
        "a_forced_arm_is_taken_in decisions_of_others_are_learnt",
    ),
    (make("Boastful", held=holding(1, 0.0)), "held_agrees_with_what_was_told"),
    (make("Optimistic", held=holding(0, 1.0)), "held_agrees_with_what_was_told"),
    (make("Padded", held=padded), "held_agrees_with_what_was_told"),
    (make("Greedy", "optimistic", plan=by_mean), "promises_are_kept"),
    (make("Outdated", "optimistic", plan=outdated), "promises_are_kept"),
    (make("Crowd", "optimistic", plan=all_at_once), "promises_are_kept"),
    (
        make("Unindexed", "optimistic", layout=without_index, plan=favourite),
        "promises_are_kept",
    ),
    (make("Wordless", explain=wordless), "words_come_for_every_policy"),
]
POLICIES = [(policy, checks.split()) for policy, checks in FOUND_BY]


SOUND = make("SoundPolicy", "shift_invariant")
