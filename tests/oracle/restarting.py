"""A policy's twin, made anew whenever a naive detector finds a change."""

from fractions import Fraction
from math import floor, log, sqrt

from oracle.adaptivelbsda import largest_shift
from oracle.glrklucb import on_grid
from oracle.klucb import clip, kl
from oracle.rounds import mean
from oracle.twin import Twin, twin_of


def mean_shift(rewards, age, caution):
    z, size, old, new = largest_shift(rewards)
    return (size, old, new) if z > log(1.0 + age) + caution else None


def likelihood_ratio(rewards, age, delta):
    """For rewards that are 0 or 1; every split of the grid, the earlier half first."""
    n = len(rewards)
    centre = clip("bernoulli", float(mean(rewards)))
    early = [at for at in range(1, n) if on_grid(at, n) and 2 * at <= n]
    late = [at for at in range(n - 1, 0, -1) if on_grid(at, n) and 2 * at > n]
    for at in early + late:
        means = [clip("bernoulli", float(mean(part))) for part in (rewards[:at], rewards[at:])]
        ratio = at * kl("bernoulli", means[0], centre, 1.0)
        ratio += (n - at) * kl("bernoulli", means[1], centre, 1.0)
        if ratio >= log(3.0 * n**1.5 / delta):
            return n - at, float(mean(rewards[:at])), float(mean(rewards[at:]))
    return None


NOTICES = {"MeanShift": mean_shift, "GLR": likelihood_ratio}


class Restarting(Twin):
    now, since, due = 0, 0, True

    def begin(self):
        self.alertness = Fraction(self.alertness)
        self.asked = [0] * self.arms
        self.kept = [[] for _ in range(self.arms)]
        self.noticed = []

    def ask(self):
        self.now += 1
        silent = self.now - min(self.asked)
        if self.due:
            self.due = False
            self.inner = twin_of(self.policy, self.arms, self.stream)
            arm = self.inner.ask()
        elif self.turn() >= 0:
            arm = self.turn()
        elif (silent * self.alertness) ** 2 > (self.now - self.since) * (self.arms - 1):
            arm = self.asked.index(min(self.asked))
        else:
            arm = self.inner.ask()
        self.asked[arm] = self.now
        return arm

    def turn(self):
        """All arms in turn at the end of each period; negative if it is nobody's turn."""
        if self.exploration == 0:
            return -1
        share = min(0.99, self.exploration * sqrt((len(self.noticed) + 1) * self.arms))
        period = floor(self.arms / share)
        return (self.now - self.since - 1) % period - (period - self.arms)

    def tell(self, arm, reward):
        self.inner.tell(arm, reward)
        self.kept[arm].append(reward)
        notice, first = NOTICES[type(self.detector).__name__], self.detector[0]
        found = notice(self.kept[arm], self.now - self.since, first)
        if found:
            size, old, new = found
            back = (self.now - self.since) * (size - 1) // len(self.kept[arm])
            self.noticed.append((self.now - back - 1, self.now - 1, arm, old, new))
            self.kept = [[] for _ in range(self.arms)]
            self.since = self.now
            self.due = True
