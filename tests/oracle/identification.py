"""Naive twins of the policies that look for the best arm, from the papers' pseudo-code."""

from functools import cache
from math import exp, fsum, inf, log, sqrt

from oracle.klucb import Index, kl, largest_mean
from oracle.randomised import Thompson


class LUCB(Index):
    """Kalyanakrishnan et al. (2012); with another family than "gaussian", kl-LUCB (2013)."""

    rounds = 0

    def plan(self):
        self.rounds += 1
        leader = self.largest([self.count_and_mean(k)[1] for k in range(self.arms)])
        bounds = [-inf if k == leader else self.index(k) for k in range(self.arms)]
        return [leader, self.largest(bounds)]

    def index(self, k):
        count, mean = self.count_and_mean(k)
        return largest_mean(self.family, mean, self.rate() / count, self.sigma)

    def rate(self):
        t, arms, delta = self.rounds, self.arms, 1.0 - self.confidence
        if self.practical:
            return log((log(t) + 1) / delta)
        if self.family == "gaussian":
            return log(5 / 4 * arms * t**4 / delta)
        first = log(405.5 * arms * t**1.1 / delta)
        return first + log(first)


class TrackAndStop(Index):
    """Garivier & Kaufmann (2016): D-tracking, weights by two bisections as in theorem 5."""

    def plan(self):
        t = len(self.pulled)
        numbers, means = zip(*(self.count_and_mean(k) for k in range(self.arms)), strict=True)
        if min(numbers) < sqrt(t) - self.arms / 2:
            owed = [-n for n in numbers]
        else:
            weights = best_weights(means, self.family, self.sigma)
            owed = [t * w - n for w, n in zip(weights, numbers, strict=True)]
        return [self.largest(owed)]


@cache
def best_weights(means, family, sigma):
    """w*, to 30 binary digits; shared by the largest means if there are several."""
    top = max(means)
    near = [mean >= top - 1e-12 * abs(top) for mean in means]
    if sum(near) > 1:
        return [float(each) / sum(near) for each in near]
    if family == "exponential":  # whose rewards are positive
        means = [max(mean, 1e-12 * top) for mean in means]
    rivals = sorted(set(means) - {top})

    def d(p, q):
        return kl(family, p, q, sigma)

    def middle(mean, x):
        return (top + x * mean) / (1 + x)

    def case(mean, x):
        return d(top, middle(mean, x)) + x * d(mean, middle(mean, x))

    def matching(mean, y):
        return exp(root(lambda u: case(mean, exp(u)) > y, -60.0, 9.0))

    def too_large(u):
        x = exp(u)
        y = case(rivals[-1], x)
        found = {mean: x if mean == rivals[-1] else matching(mean, y) for mean in rivals}
        quotients = [
            d(top, middle(mean, found[mean])) / d(mean, middle(mean, found[mean]))
            for mean in means
            if mean != top
        ]
        return fsum(quotients) > 1.0

    x = exp(root(too_large, -8.0, 8.0))
    y = case(rivals[-1], x)
    found = {mean: x if mean == rivals[-1] else matching(mean, y) for mean in rivals}
    shares = [1.0 if mean == top else found[mean] for mean in means]
    return [round(share / fsum(shares) * 2**30) / 2**30 for share in shares]


def root(is_beyond, low, high):
    for _ in range(52):
        middle = (low + high) / 2
        if is_beyond(middle):
            high = middle
        else:
            low = middle
    return (low + high) / 2


class TopTwoThompson(Thompson):
    """Russo (2016), algorithm 4 (TTTS); T3C of Shang et al. (2020) where it takes too long."""

    def ask(self):
        first = self.largest(self.draws())
        if self.stream.uniform() < self.beta:
            return first
        for _ in range(self.redraws):
            again = self.largest(self.draws())
            if again != first:
                return again
        return self.largest(
            [-inf if k == first else -self.cost(first, k) for k in range(self.arms)]
        )

    def cost(self, first, k):
        """How much says that `first` is better than `k`."""
        own, other = self.rewards(first), self.rewards(k)
        if not own or not other or fsum(own) / len(own) <= fsum(other) / len(other):
            return 0.0
        both = fsum(own + other) / len(own + other)
        return fsum(
            len(each) * kl(self.family, fsum(each) / len(each), both, self.sigma)
            for each in (own, other)
        )
