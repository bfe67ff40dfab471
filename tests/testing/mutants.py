"""Policies, detectors and arms with one mistake each, and the checks that must find it.

Run without the JIT, in a process of its own: compiling them all would take minutes. Prints what was
found as JSON.
"""

import json
import math
import os
import random
from typing import NamedTuple

import numpy as np

import lastblock as lb
from lastblock import kit, testing
from lastblock.kit import (
    ARM,
    FIRST_ROOM,
    argmax,
    below,
    detector,
    enqueue,
    enqueue_all,
    family,
    history,
    next_word,
    policy,
    shuffle,
    to_unit,
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

    def start(self, s):
        s.last = 0
        for k in range(s.arms):
            s.sums[k] = 0.0
            s.pulls[k] = 0
        enqueue_all(s)
        shuffle(s)

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
    cls = type(name, (base,), {"__slots__": (), "__module__": __name__, **changes})
    return register(cls)


# Policies.


def unseeded(self, s):
    enqueue(s, random.randrange(int(s.arms)))


def elsewhere_another(self, s):
    enqueue(s, (s.round + ELSEWHERE) % s.arms)


def overtaxed(self, s):
    enqueue(s, 99 if s.out.sum() > 10 else below(s.stream, s.arms))


def sometimes_silent(self, s):
    if s.round % 50 != 0:
        enqueue(s, below(s.stream, s.arms))


def favourite(self, s):
    enqueue(s, 0)


def stale_arm(self, s):
    s.last = max(s.last, s.arms - 1)  # the number of an arm, in a field that does not say so
    enqueue(s, s.last)


def whole_room(self, s):
    enqueue(s, s.pulls.sum() % s.arms)  # there are entries beyond the arms


def parity(self, s):
    enqueue(s, 1 if s.round < 1500 else s.history.kept[1] % 3)


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


def remember(self, s, arm, reward):
    history.append(s.history, arm, reward)


def by_horizon(self, arms, horizon):
    return [*Sound.layout(self, arms, horizon), ("times", np.float64, (horizon or 5,))]


def lazy_start(self, s):
    enqueue_all(s)
    shuffle(s)


def with_leader(self, arms, horizon):
    return [("leader", ARM), *Sound.layout(self, arms, horizon)]


def start_with_leader(self, s):
    Sound.start(self, s)
    s.leader = 0


def boastful(self, s, arm):
    return kit.describing.Held(float(s.pulls[arm] + 1), float(s.sums[arm]))


def optimistic(self, s, arm):
    return kit.describing.Held(float(s.pulls[arm]), float(s.sums[arm] + 1.0))


def padded(self, s, arm):
    pulls = int(s.pulls[arm])
    return kit.describing.Held(float(pulls), rewards=lambda: np.full(pulls, 0.5))


def wordless(self, s):
    raise KeyError("duels")


def by_room(self, s):
    if s.round % s.sums.shape[0] == 0:  # the room, not the number of arms
        enqueue(s, below(s.stream, s.arms))
    else:
        Sound.plan(self, s)


class Anything(NamedTuple):
    """Takes any parameter."""

    what: object = complex(1.0)

    layout = Sound.layout
    start = Sound.start
    plan = unseeded
    observe = Sound.observe


def make(name, *, flags=(), **changes):
    return mutant(Sound, policy(**dict.fromkeys(flags, True)), name, **changes)()


POLICIES = [
    (
        make("Unseeded", plan=unseeded),
        (
            "same_seed_same_run",
            "threads_and_chunks_change_nothing",
            "trace_is_replication_0",
            "live_is_simulated",
            "saved_and_loaded_goes_on_alike",
            "several_rewards_count_as_their_sum",
            "a_store_takes_tokens_again_and_again",
        ),
    ),
    (make("Elsewhere", plan=elsewhere_another), ("jit_changes_nothing",)),
    (
        make(
            "Forgetful",
            flags=["grows"],
            layout=with_history,
            start=start_history,
            plan=parity,
            observe=remember,
        ),
        ("a_policy_that_grows_goes_on_alike",),
    ),
    (make("Overtaxed", plan=overtaxed), ("asking_never_waits",)),
    (make("Silent", plan=sometimes_silent), ("every_round_can_be_played",)),
    (make("Favourite", plan=favourite), ("arms_have_no_favourites",)),
    (
        make("Threshold", flags=["shift_invariant", "scale_invariant"], observe=by_threshold),
        (
            "shift_is_as_declared",
            "scale_is_as_declared",
        ),
    ),
    (make("ByHorizon", layout=by_horizon), ("state_is_bounded",)),
    (make("Lazy", start=lazy_start), ("start_sets_what_it_reads", "start_sets_every_number")),
    (policy()(Anything)(), ("wrong_types_are_rejected", "parameters_survive")),
    (make("Stale", plan=stale_arm), ("arms_come_and_go", "paused_arms_are_not_taken")),
    (make("ByRoom", plan=by_room), ("room_changes_no_decision",)),
    (make("Wide", plan=whole_room), ("absent_arms_are_as_if_retired",)),
    (make("Root", observe=by_root), ("only_its_support_is_taken", "environments_fit")),
    (
        make("Narrow", observe=only_its_own),
        ("a_forced_arm_is_taken_in", "decisions_of_others_are_learnt"),
    ),
    (make("Boastful", held=boastful), ("held_agrees_with_what_was_told",)),
    (make("Optimistic", held=optimistic), ("held_agrees_with_what_was_told",)),
    (make("Padded", held=padded), ("held_agrees_with_what_was_told",)),
    (
        make("Wordless", layout=with_leader, start=start_with_leader, duels=wordless),
        ("words_come_for_every_policy",),
    ),
]


# Detectors.


class Watchful(NamedTuple):
    """So many zeros in a row from an arm that has given something before."""

    zeros: int = 8

    def layout(self, arms):
        found = [("size", np.int64), ("old", np.float64), ("new", np.float64)]
        return [("run", np.int64, (arms,)), ("best", np.float64, (arms,)), *found]

    def reset(self, d):
        d.size, d.old, d.new = 0, 0.0, 0.0
        for k in range(d.run.shape[0]):
            d.run[k] = 0
            d.best[k] = 0.0

    def notice(self, d, arm, reward, age):
        d.run[arm] = d.run[arm] + 1 if reward == 0.0 else 0
        d.best[arm] = max(d.best[arm], reward)
        d.size, d.old, d.new = d.run[arm], d.best[arm], 0.0
        return d.run[arm] >= self.zeros and d.best[arm] > 0.0


def lazy_reset(self, d):
    d.run[0] = 0


def blind(self, d, arm, reward, age):
    return False


def mute(self, d, arm, reward, age):
    noticed = Watchful.notice(self, d, arm, reward, age)
    d.size, d.old = 0, math.inf
    return noticed


def elsewhere_blind(self, d, arm, reward, age):
    return Watchful.notice(self, d, arm, reward, age) and not ELSEWHERE


class Unchecked(NamedTuple):
    """Takes any parameter."""

    what: object = complex(1.0)

    layout = Watchful.layout
    reset = Watchful.reset
    notice = blind


def watch(name, **changes):
    return mutant(Watchful, detector(), name, **changes)()


DETECTORS = [
    (watch("LazyReset", reset=lazy_reset), ("reset_sets_what_it_reads", "it_restarts_a_policy")),
    (watch("Blind", notice=blind), ("a_clear_change_is_noticed",)),
    (watch("Mute", notice=mute), ("it_says_what_it_noticed",)),
    (watch("ElsewhereBlind", notice=elsewhere_blind), ("jit_changes_nothing",)),
    (detector()(Unchecked)(), ("wrong_types_are_rejected", "parameters_survive")),
]


# Arm families.


class Uniform(NamedTuple):
    """Between 0 and twice the mean."""

    mean: float = 0.5

    def parameters(self):
        return (self.mean,)

    @staticmethod
    def draw(a, b, c, d, table, at, word, scratch):
        return 2.0 * a * to_unit(word)


class AnyMean(NamedTuple):
    """Takes any parameter."""

    mean: object = 0.5

    parameters = Uniform.parameters
    draw = Uniform.draw


def arm(name, *, movable=False, draw=Uniform.draw, **changes):
    return mutant(Uniform, family(movable=movable), name, draw=staticmethod(draw), **changes)()


def off(a, b, c, d, table, at, word, scratch):
    return 2.2 * a * to_unit(word)


def sometimes_nan(a, b, c, d, table, at, word, scratch):
    return math.nan if to_unit(word) > 0.99 else a


def not_expanded(a, b, c, d, table, at, word, scratch):
    return 2.0 * a * to_unit(next_word(scratch) ^ word)


def elsewhere_off(a, b, c, d, table, at, word, scratch):
    return 2.0 * a * to_unit(word) + ELSEWHERE


ARMS = [
    (arm("Off", draw=off), ("samples_match_the_mean",)),
    (arm("Modest", support=lambda self: (0.0, self.mean)), ("rewards_lie_in_the_support",)),
    (arm("SometimesNaN", draw=sometimes_nan), ("rewards_are_finite",)),
    (arm("NotExpanded", draw=not_expanded), ("one_word_a_step",)),
    (arm("Long", parameters=lambda self: (1.0,) * 5), ("parameters_fit",)),
    (arm("Fixed", movable=True, parameters=lambda self: (1.0, self.mean)), ("parameters_fit",)),
    (family()(AnyMean)(), ("wrong_types_are_rejected",)),
    (arm("ElsewhereOff", draw=elsewhere_off), ("jit_changes_nothing",)),
]


SOUND = make("SoundPolicy", flags=["shift_invariant"])
SOUND_DETECTOR = watch("SoundDetector")
SOUND_ARM = arm("SoundArm", movable=True)


def escaped(checks, mutants):
    """The mutants that a check which should find them lets pass, and what the others are told."""
    passed, told = [], {}
    for subject, names in mutants:
        for name in names:
            try:
                checks[name](subject)
            except Exception as error:
                told[f"{type(subject).__name__}-{name}"] = f"{type(error).__name__}: {error}"
            else:
                passed.append(f"{type(subject).__name__}-{name}")
    return passed, told


def complaint(check, subject, **options):
    """What a whole run of the checks says."""
    try:
        check(subject, **options)
    except AssertionError as error:
        return str(error)
    return None


def main():
    found = {
        "policies": escaped(testing.POLICY_CHECKS, POLICIES),
        "detectors": escaped(testing.DETECTOR_CHECKS, DETECTORS),
        "arms": escaped(testing.FAMILY_CHECKS, ARMS),
        "sound": [
            complaint(testing.check_policy, SOUND),
            complaint(testing.check_detector, SOUND_DETECTOR),
            complaint(testing.check_family, SOUND_ARM),
        ],
        "all": complaint(testing.check_detector, lb.DETECTORS["LazyReset"]()),
        "skipped": complaint(
            testing.check_detector,
            lb.DETECTORS["Blind"](),
            skip=["a_clear_change_is_noticed", "it_restarts_a_policy"],
        ),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
