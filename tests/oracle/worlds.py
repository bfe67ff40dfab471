"""Rewards for the tests: some are kind, some are full of ties."""

import itertools
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


def stalls(twin, seed):
    """Rewards of four arms: 0 and 1 are level, and after a takeover arm 2 wins for long.

    Then arm 3 raises its flag.
    """
    rng, steps = random.Random(seed), itertools.count()
    leader, stalled_until = None, 0

    def reward(arm):
        nonlocal leader, stalled_until
        t = next(steps)
        if t >= max(300, stalled_until) and twin.leader != leader:
            stalled_until = t + 200
        leader = twin.leader
        if t < stalled_until:
            return [0.0, 0.0, 1.0, -1.0][arm]
        return float(rng.random() < 0.5) if arm < 2 else [0.25, -1.0][arm - 2]

    return reward


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


def follow(bandit, twin, reward, horizon):
    """A bandit takes the decisions of its twin, one by one; `reward` gives the reward of an arm."""
    for t in range(horizon):
        decision = bandit.ask()
        assert decision.arm == twin.ask(), f"step {t}"
        value = reward(decision.arm)
        bandit.tell(decision, value)
        twin.tell(decision.arm, value)


def play(policy, twin, world, horizon, seed):
    """The same for a policy; return the twin, to ask what it has been through."""
    with bandit_of(policy, twin.arms, seed) as bandit:
        follow(bandit, twin, world.reward, horizon)
    return twin


def follow_trace(played, twin):
    """A twin takes the decisions of a bandit that has played."""
    steps = zip(played.arms.tolist(), played.rewards.tolist(), strict=True)
    for t, (arm, reward) in enumerate(steps):
        assert twin.ask() == arm, f"step {t}, round {twin.round}"
        twin.tell(arm, reward)
