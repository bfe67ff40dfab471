"""Rewards for the tests: some are kind, some are full of ties."""

import random
from contextlib import contextmanager

import lastblock as lb
from lastblock.kernels.background import compiling

SHIFT = 2.0**40

MOST_COMPILED = 4
"""The conformance suite compiles every policy for so many arms."""


def room(arms):
    """Few layouts, because each compiles each policy anew."""
    return max(arms, MOST_COMPILED)


@contextmanager
def bandit_of(policy, arms, seed):
    """A bandit for a twin to follow; with more arms than those, it decides in plain Python."""
    with compiling("at once" if arms <= MOST_COMPILED else "never"):
        yield lb.Bandit(policy, arms, seed=seed, room=room(arms))


def bernoulli(rng, levels, t, arm):
    return float(rng.random() < 0.2 + 0.6 * levels[arm])


def small_integers(rng, levels, t, arm):
    return float(rng.randint(0, 2))


def dyadic(rng, levels, t, arm):
    return rng.randint(-64, 64) / 64 + round(4 * levels[arm]) / 4


def gaussian(rng, levels, t, arm):
    return rng.gauss(levels[arm], 1.0)


def constant(rng, levels, t, arm):
    """Sums of dyadic numbers are exact; those of 0.1 are not, and then ties are not ties."""
    return round(2 * levels[arm]) / 2


def shifted(rng, levels, t, arm):
    return SHIFT + rng.randint(0, 3)


def regimes(rng, levels, t, arm):
    """The arms swap their levels now and then."""
    return round(8 * levels[(arm + t // 40) % len(levels)]) / 8 + rng.randint(0, 1) / 4


KINDS = [bernoulli, small_integers, dyadic, gaussian, constant, shifted, regimes]


class World:
    """Rewards of a kind, the same ones for the same seed and the same sequence of arms."""

    def __init__(self, kind, arms, seed):
        self.kind = kind
        self.rng = random.Random(seed)
        self.levels = [self.rng.random() for _ in range(arms)]
        self.t = 0

    def reward(self, arm):
        reward = self.kind(self.rng, self.levels, self.t, arm)
        self.t += 1
        return reward
