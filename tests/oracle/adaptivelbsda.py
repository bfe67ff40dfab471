"""Adaptive LB-SDA: lists of rewards, every comparison from scratch."""

from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum, inf, log, sqrt

from oracle.rounds import Oracle, last, mean

SHORT_MEMORY, LONG_MEMORY = 511, 0.2
MARKS = 8  # a level
KEPT, CAUTION, MOST_ALERT, ALARM = 32, 4.5, 0.25, 0.25
COMMON, CALM, SECOND_LOOK = 5_000, 20_000, 128
TOLERANCE, PATIENCE = Fraction(1, 2), 8
REACH = 3
UNTOLD = 2
SMALLEST, LEVELS, TRUSTED = 16, 10, 24.0
NEVER_ENOUGH = 2.0  # no alarm is raised below log(1 + age), and at an age of a dozen at least


def variance(rewards):
    centre = float(mean(rewards))
    return fsum((x - centre) ** 2 for x in rewards) / len(rewards)


def tails(rewards):
    """From the kurtosis, by the mean of all before each reward."""
    fourth, total = 0.0, Fraction(rewards[0])
    for i, reward in enumerate(rewards[1:], start=1):
        fourth += float(Fraction(reward) - total / i) ** 4
        total += Fraction(reward)
    spread = variance(rewards)
    if spread == 0.0:
        return 1.0
    return sqrt(max(1.0, 2.0 * (fourth / (len(rewards) * spread**2) - 1.0)))


def shifts(rewards):
    """(z, size of the new block, old mean, new mean) of every comparison that is due."""
    n = len(rewards)
    for level in range(LEVELS):
        size = SMALLEST << level
        if n % (size // 8) or n - size < SMALLEST:
            continue
        old, new = rewards[:-size], rewards[-size:]
        gap = float(mean(new) - mean(old)) ** 2
        if gap == 0.0:
            continue
        v_old, v_new = variance(old), variance(new)
        for trusted in (lambda: TRUSTED, lambda: TRUSTED * tails(rewards)):
            w_old = max(v_old, v_new * min(1.0, trusted() / len(old)))
            w_new = max(v_new, v_old * min(1.0, trusted() / len(new)))
            spread = 2.0 * (w_new / len(new) + w_old / len(old))
            z = inf if spread == 0.0 else gap / spread
            if z < NEVER_ENOUGH:  # tails only make it less
                break
        yield z, size, float(mean(old)), float(mean(new))


def largest_shift(rewards):
    best = (0.0, 0, 0.0, 0.0)
    for found in shifts(rewards):
        if found[0] > best[0]:
            best = found
    return best


def clipped(rewards):
    """By limits from the first 32, four times as far from the median as the deciles."""
    if len(rewards) < KEPT:
        return rewards
    ordered = sorted(rewards[:KEPT])
    low, middle, high = ordered[3], (ordered[15] + ordered[16]) / 2, ordered[28]
    least = low - REACH * (middle - low) if low < middle else -inf
    most = high + REACH * (high - middle) if high > middle else inf
    return [min(max(x, least), most) for x in rewards]


def last_block(rewards, n):
    """About n: it begins at the nearest multiple of a step, of two that are as near the later."""
    step = 1
    while n > (MARKS - 1) * step:
        step *= 2
    exact = len(rewards) - n
    before = exact // step * step
    return rewards[before if 2 * (exact - before) < step else before + step :]


@dataclass
class Arm:
    """Since the last restart, or what was kept of the time before."""

    rewards: list = field(default_factory=list)
    times: list = field(default_factory=list)
    asked: int = 0
    burst: int | None = None


class AdaptiveLBSDA(Oracle):
    now = since = 0  # decisions so far
    suspect = None
    epoch_ends, recent, earlier = 1, 0, 0
    refresh, silence, memory = 0, inf, SHORT_MEMORY
    probes = doubts = full = clips = 0

    def begin(self):
        super().begin()
        self.state = [Arm() for _ in range(self.arms)]
        self.noticed = []

    def ask(self):
        arm = super().ask()
        self.now += 1
        return arm

    def plan(self):
        if self.now >= self.epoch_ends:
            self.epoch_ends *= 2
            self.earlier, self.recent = self.recent, 0
        age = self.now - self.since
        if self.now >= self.refresh:
            self.refresh = self.now + age // 64 + 1
            events = self.recent + self.earlier
            rate = min(max(MOST_ALERT, self.alertness), self.alertness * sqrt(1 + ALARM * events))
            self.silence = inf if rate == 0.0 else self.slow(age) * (self.arms - 1) / rate**2
            self.memory = max(SHORT_MEMORY, int(LONG_MEMORY * age))
        pulls = [min(len(arm.rewards), self.memory) for arm in self.state]
        if self.leader is None or sum(n >= pulls[self.leader] for n in pulls) > 1:
            means = [[float(mean(self.remembered(arm)))] for arm in self.state]
            self.leader = self.most_pulled(range(self.arms), pulls, means)
        chosen = []
        for k in range(self.arms):
            if k != self.leader:
                owed = pulls[k] <= sqrt(log(1 + age))
                if owed or self.wins(k) or self.is_probed(k, age):
                    chosen.append(k)
        for k in chosen or [self.leader]:
            self.state[k].asked = self.now
        return chosen, []

    def slow(self, age):
        """What the square of the longest silence is proportional to."""
        return COMMON * (min(age, CALM) / COMMON) ** (2 / 3) * max(1.0, age / CALM) ** 2

    def remembered(self, arm):
        if len(arm.rewards) <= self.memory:
            return arm.rewards or [0.0]
        return last_block(arm.rewards, self.memory)

    def leaders_block(self, n):
        """Against an arm with n rewards."""
        theirs = self.state[self.leader].rewards
        n = min(n, self.memory)
        return theirs if n >= len(theirs) else last_block(theirs, n)

    def wins(self, k):
        mine, theirs = self.state[k].rewards, self.state[self.leader].rewards
        if len(mine) > self.memory:
            self.full += 1
            return False
        if not mine or not theirs:
            return False
        won = mean(mine) >= mean(self.leaders_block(len(mine)))
        if won and not self.is_plausible(k):
            self.doubts += 1
            return False
        return won

    def is_plausible(self, k):
        """By an index like IMED's, with the larger variance of the two arms."""
        mine, theirs = self.state[k].rewards, self.state[self.leader].rewards
        gap = mean(self.remembered(self.state[self.leader])) - mean(mine)
        if gap <= 0:
            return True
        w = max(variance(clipped(mine)), variance(clipped(theirs)))
        if w == 0.0:
            return False
        evidence = max(0, len(mine) - UNTOLD) / 2 * log(1.0 + float(gap) ** 2 / w)
        return evidence + log(len(mine)) <= log(min(len(theirs), self.memory))

    def is_probed(self, k, age):
        arm = self.state[k]
        if arm.burst:
            if self.goes_on(arm):
                return True
            arm.burst = None
        silent = self.now - arm.asked
        due = silent**2 > self.silence
        if k == self.suspect and age > SECOND_LOOK:
            self.suspect = None
            due = self.alertness > 0.0
        if due:
            arm.burst = 0
            self.probes += 1
        return due

    def goes_on(self, arm):
        if not self.state[self.leader].rewards:
            return False
        rewards, own = arm.rewards, arm.burst
        goal = mean(self.leaders_block(len(rewards)))
        slack = 0
        if len(rewards) > own:
            gap = goal - mean(rewards[:-own])
            slack = TOLERANCE * max(0, gap) * min(own, PATIENCE)
        return own * mean(rewards[-own:]) >= own * goal - slack

    def tell(self, k, reward):
        arm = self.state[k]
        arm.rewards.append(reward)
        arm.times.append(self.now)
        if arm.burst is not None:
            arm.burst += 1
        # The limits follow from 32 rewards once these have been compared as they are.
        seen = clipped(arm.rewards) if len(arm.rewards) > KEPT else arm.rewards
        self.clips += seen != arm.rewards
        z, size, _, _ = largest_shift(seen)
        caution = max(0.0, CAUTION - log(1 + self.recent + self.earlier))
        if z > log(1 + self.now - self.since) + caution:
            kept = min(size, KEPT)
            age = self.now - arm.times[-kept]
            back = min(self.now - self.since, age * (size - 1) // (kept - 1))
            old, new = mean(arm.rewards[:-size]), mean(arm.rewards[-size:])
            self.noticed.append((self.now - back - 1, self.now - 1, k, float(old), float(new)))
            self.since = self.now - age
            self.recent += 1
            self.suspect = k
            self.leader = None
            self.refresh = 0
            for other in self.state:
                kept = sum(t >= self.since for t in other.times[-KEPT:])
                other.rewards = last(other.rewards, kept)
                other.times = last(other.times, kept)
                other.burst = None
