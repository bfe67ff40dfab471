"""Change detectors with one mistake each, and the checks that must find it."""

import math
from typing import NamedTuple

import numpy as np
from policy_mutants import ELSEWHERE, mutant

from lastblock.kit import (
    detector,
)


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


SOUND = watch("SoundDetector")
