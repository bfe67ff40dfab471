"""GLR-kl-UCB: all rewards of each arm since its restart, and every split each time."""

from math import floor, fsum, inf, log, sqrt

from oracle.klucb import Index, clip, kl, largest_mean
from oracle.ucb import sessions


def on_grid(split, n):
    """At a distance of 8 · 2ʲ to 16 · 2ʲ from the nearer end, multiples of 2ʲ; all before."""
    distance = min(split, n - split)
    step = 1
    while distance >= 16 * step:
        step *= 2
    return split % step == 0


class GLRKLUCB(Index):
    now = alarms = 0

    def begin(self):
        super().begin()
        self.since = [0] * self.arms
        self.kept = [[] for _ in range(self.arms)]

    def ask(self):
        self.now += 1
        if self.diminishing and self.now > self.arms:
            age = self.now - 1 - max(self.since)
            turn = age - sessions(self.arms, self.exploration, age)[-1]
            if turn < self.arms:
                return turn
        elif self.now > self.arms and self.exploration > 0.0:
            share = self.exploration
            if self.growing:
                share = min(0.99, share * sqrt((self.alarms + 1) * self.arms))
            turn = (self.now - 1) % floor(self.arms / share)
            if turn < self.arms:
                return turn
        return super().ask()

    def index(self, k):
        n = len(self.kept[k])
        if n == 0:
            return inf
        mean = clip(self.family, fsum(self.kept[k]) / n)
        level = self.c * log(self.now - self.since[k]) / n
        return largest_mean(self.family, mean, level, self.sigma)

    def tell(self, arm, reward):
        self.kept[arm].append(reward)
        if self.has_changed(self.kept[arm]):
            self.alarms += 1
            for k in [arm] if self.local else range(self.arms):
                self.kept[k] = []
                self.since[k] = self.now

    def has_changed(self, rewards):
        n = len(rewards)
        mean = clip(self.family, fsum(rewards) / n)
        for split in range(1, n):
            if self.all_splits or on_grid(split, n):
                before = clip(self.family, fsum(rewards[:split]) / split)
                after = clip(self.family, fsum(rewards[split:]) / (n - split))
                ratio = split * kl(self.family, before, mean, self.sigma)
                ratio += (n - split) * kl(self.family, after, mean, self.sigma)
                if ratio >= log(self.factor * n**1.5 / self.delta):
                    return True
        return False
