"""Rewards for the tests, some kind, some full of ties; and bandits that play them with twins."""

import itertools
import random

import lastblock as lb
from lastblock.core.support import Support, support_of
from oracle.twin import twin_of

SHIFT = 2.0**40


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


def late_third(rng, levels, t, arm):
    """Two values for a while, the lower one seen last, then a third."""
    return 0.5 if t >= 150 and rng.random() < 0.1 else 3.0 * (rng.random() < levels[arm]) - 1.0


def jumps(rng, levels, t, arm):
    return float(rng.random() < (0.05, 0.9)[(arm + t // 150) % 2])


def steps(rng, levels, t, arm):
    """Gaussian arms whose levels and spread change."""
    return rng.gauss(3.0 * ((arm + t // 170) % 3), 0.25 * 4.0 ** (t // 170 % 3))


def quarters(rng, levels, t, arm):
    """Multiples of ¼ in [0, 1], the ends among them."""
    return min(4, max(0, round(4 * levels[arm] + rng.gauss(0.0, 1.0)))) / 4


def mixed(rng, levels, t, arm):
    """Zeros, ones, and numbers between."""
    return rng.choice([0.0, 1.0, rng.random(), rng.random() ** (0.5 + levels[arm])])


def nearly_one(rng, levels, t, arm):
    """Means come close to 1."""
    return rng.randint(0, 8) / 8 if rng.random() > levels[arm] else 1.0


def far_below_one(rng, levels, t, arm):
    return 0.1 * rng.random() + 0.1 * levels[arm]


def risers(rng, levels, t, arm):
    """The leader stays; another arm passes it."""
    return rng.gauss((0.0, 1.0, 2.0 if t > 250 else 0.0)[arm % 3], 0.5)


def tails(rng, levels, t, arm):
    return rng.lognormvariate(2.0 * ((arm + t // 200) % 2), 1.0)


def outliers(rng, levels, t, arm):
    """Once in 50 rewards, one is a thousand spreads away; the levels jump."""
    far = 1000.0 if rng.random() < 0.02 else 0.0
    return rng.gauss(3.0 * ((arm + t // 200) % 2), 1.0) + far


def contrasts(rng, levels, t, arm):
    """Arms far apart, which change places now and then."""
    return 4.0 * ((arm + t // 75) % len(levels)) + rng.randint(0, 1) / 2


def one_rise(rng, levels, t, arm):
    return float(rng.random() < 0.4 + 0.2 * (t > 1500))


def even():
    """Whichever of two arms has been pulled less pays a little more, so that both go on."""
    pulls = [0, 0]

    def pays_the_other(rng, levels, t, arm):
        pulls[arm] += 1
        return float(rng.randint(0, 3)) + 0.5 * (pulls[arm] <= pulls[1 - arm])

    return pays_the_other


def always(rng, levels, t, arm):
    return 1.0


def losses(rng, levels, t, arm):
    return -9.0 - levels[arm]


def huge(rng, levels, t, arm):
    return 1e4 * rng.gauss(levels[arm], 1.0)


def either(good, bad):
    """The rewards of the second arm and of all others."""
    return lambda rng, levels, t, arm: good if arm == 1 else bad


def turning(rng, levels, t, arm):
    """The best of the arms becomes the worst, and the reverse."""
    level = 0.9 * (arm + 1) / len(levels)
    return float(rng.random() < (level if t // 150 % 2 else 1.0 - level))


def positive(rng, levels, t, arm):
    return rng.expovariate(1.0) * (0.5 + levels[arm])


def lifetimes(rng, levels, t, arm):
    return rng.expovariate(1.0) * 5.0 ** ((arm + t // 120) % 3)


KINDS = [bernoulli, small_integers, dyadic, gaussian, constant, shifted, regimes]


def kinds_for(policy):
    """Kinds of rewards that a policy takes."""
    support = support_of(policy)
    if support.high < float("inf"):
        return [bernoulli, quarters, constant, mixed, nearly_one, far_below_one, turning]
    if support == Support():
        return [*KINDS, late_third]
    return [small_integers, positive, lifetimes, constant]


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


def pair(policy, arms, seed):
    """A live bandit and its twin."""
    return lb.Bandit(policy, arms, seed=seed), twin_of(policy, arms, seed=seed)


def follow(bandit, twin, reward, horizon):
    """A bandit takes the decisions of its twin, one by one; `reward` gives the reward of an arm."""
    for t in range(horizon):
        decision = bandit.ask()
        if decision.arm != (wanted := twin.ask()) and twin.rounding_has_decided:
            return
        assert decision.arm == wanted, f"step {t}"
        value = reward(decision.arm)
        bandit.tell(decision, value)
        twin.tell(decision.arm, value)


def play(policy, kind, arms, horizon, seed):
    """The same for a policy; return bandit and twin, to ask what they have been through."""
    bandit, twin = pair(policy, arms, seed)
    try:
        follow(bandit, twin, World(kind, arms, seed).reward, horizon)
    except AssertionError as error:
        error.add_note(f"{policy} with {arms} arms, {kind.__name__}, seed {seed}")
        raise
    return bandit, twin
