"""Arm families with one mistake each, and the checks that must find it."""

import math
from typing import NamedTuple

from policy_mutants import ELSEWHERE, mutant

from lastblock.kit import (
    family,
    next_word,
    to_unit,
)


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


SOUND = arm("SoundArm", movable=True)
