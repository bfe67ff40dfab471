"""kl-UCB and its relatives, IMED, MED: every index from the whole list of pulls, by bisection."""

from math import exp, fsum, inf, log, log1p, sqrt

from oracle import ucb
from oracle.randomised import drawn

BELOW_ONE = 1.0 - exp(-30)  # what is closer counts as 1


def clip(family, mean):
    if family in ("bernoulli", "bounded"):
        return min(max(mean, 0.0), 1.0)
    return mean if family == "gaussian" else max(mean, 0.0)


def kl(family, p, q, sigma):
    if p == q:
        return 0.0
    if family == "gaussian":
        return (p - q) ** 2 / (2 * sigma**2)
    if family == "bernoulli":
        if q in (0.0, 1.0):
            return inf
        ones = p * log(p / q) if p > 0.0 else 0.0
        zeros = (1 - p) * log((1 - p) / (1 - q)) if p < 1.0 else 0.0
        return ones + zeros
    if family == "poisson":
        return inf if q == 0.0 else q - p + (p * log(p / q) if p > 0.0 else 0.0)
    return inf if p == 0.0 or q == 0.0 else log(q / p) + p / q - 1.0


def largest_mean(family, p, level, sigma):
    """sup {q: kl(p, q) ≤ level}."""
    if family == "gaussian":
        return p + sigma * sqrt(2.0 * level)
    if family == "bounded":  # and rewards 0 and 1
        family = "bernoulli"
    if family == "exponential" and p == 0.0:
        return 0.0
    low, high = p, 1.0
    if family == "bernoulli":
        if p == 1.0 or kl(family, p, BELOW_ONE, sigma) <= level:
            return 1.0
    else:
        high = p + 1.0
        while kl(family, p, high, sigma) <= level:
            high *= 2.0
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return low
        if kl(family, p, middle, sigma) <= level:
            low = middle
        else:
            high = middle


def k_inf(rewards, mu):
    """max over 0 ≤ λ ≤ 1 / (1 − μ) of the mean of log(1 − λ (x − μ)), by bisection."""
    rewards = sorted(rewards)
    n = len(rewards)
    if fsum(rewards) / n >= mu:
        return 0.0
    if mu >= 1.0:
        return inf

    def rises(share):  # with λ = share / (1 − μ)
        gaps = [(x - mu) / (1.0 - mu) for x in rewards]
        if share == 1.0 and max(gaps) == 1.0:
            return False
        return fsum(gap / (1.0 - share * gap) for gap in gaps) < 0.0

    low, high = 0.0, 1.0
    if rises(1.0):
        low = 1.0
    while low < (low + high) / 2.0 < high:
        middle = (low + high) / 2.0
        if rises(middle):
            low = middle
        else:
            high = middle
    return fsum(log1p(-low * (x - mu) / (1.0 - mu)) for x in rewards) / n


def largest_empirical_mean(rewards, level):
    """The largest mean of a law on [0, 1] whose divergence from the rewards is at most `level`.

    By its dual (Filippi, Cappé & Garivier, 2010): the law has weights in proportion to
    1 / (ν − x), for the ν ≥ 1 where the divergence is `level`, or a rest of the mass at 1.
    """
    rewards = sorted(rewards)
    n = len(rewards)
    if max(rewards) == min(rewards) == 1.0:
        return 1.0

    def reached(nu):
        inverse = fsum(1.0 / (nu - x) for x in rewards) / n
        return fsum(log(nu - x) for x in rewards) / n + log(inverse)

    if max(rewards) < 1.0 and reached(1.0) < level:
        weight = exp(reached(1.0) - level)
        shares = [1.0 / (1.0 - x) for x in rewards]
        inner = fsum(x * share for x, share in zip(rewards, shares, strict=True)) / fsum(shares)
        return weight * inner + (1.0 - weight)
    low, high = -30.0 * log(10.0), 30.0 * log(10.0)  # of log(ν − 1)
    if max(rewards) == 1.0:
        low = -34.0  # closer to 1, 1 + (ν − 1) is 1
    for _ in range(200):
        middle = (low + high) / 2.0
        if reached(1.0 + exp(middle)) > level:
            low = middle
        else:
            high = middle
    nu = 1.0 + exp(low)
    return nu - n / fsum(1.0 / (nu - x) for x in rewards)


class Index(ucb.Index):
    def weights(self):
        """What each of the pulls counts."""
        return [1.0] * len(self.pulled)

    def count_and_mean(self, k):
        weighted = list(zip(self.weights(), self.pulled, strict=True))
        count = fsum(weight for weight, (arm, _) in weighted if arm == k)
        if count == 0.0:
            return 0.0, 0.0
        total = fsum(weight * reward for weight, (arm, reward) in weighted if arm == k)
        return count, clip(self.family, total / count)

    def index(self, k):
        count, mean = self.count_and_mean(k)
        if count == 0.0:
            return inf
        return largest_mean(self.family, mean, self.c * log(self.time()) / count, self.sigma)

    def time(self):
        """What the index takes the logarithm of."""
        return len(self.pulled) + 1


class KLUCB(Index):
    def index(self, k):
        if self.family == "bounded" and not set(self.rewards(k)) <= {0.0, 1.0}:
            rewards = self.rewards(k)
            return largest_empirical_mean(rewards, self.c * log(self.time()) / len(rewards))
        return super().index(k)


class SWKLUCB(Index):
    def time(self):
        t = super().time()
        return t if self.reference else min(t, self.window)

    def weights(self):
        n = len(self.pulled)
        return [1.0 if i >= n - self.window else 0.0 for i in range(n)]


class DKLUCB(Index):
    def time(self):
        return super().time() if self.reference else fsum(self.weights())

    def weights(self):
        n = len(self.pulled)
        return [self.discount ** (n - 1 - i) for i in range(n)]


class IMED(Index):
    rounding = 1e-9  # where a bounded family's divergence is searched for

    def are_exact(self, ties):
        return len({tuple(sorted(self.rewards(k))) for k in ties}) == 1

    def evidence(self, k):
        """Against the arm being the best."""
        best = max(self.count_and_mean(j)[1] for j in range(self.arms))
        count, mean = self.count_and_mean(k)
        if self.family == "bounded":
            return count * k_inf(self.rewards(k), best)
        return count * kl(self.family, mean, best, self.sigma)

    def index(self, k):
        return -(log(self.count_and_mean(k)[0]) + self.evidence(k))


class MED(IMED):
    def plan(self):
        weights = [exp(-self.evidence(k)) for k in range(self.arms)]
        return [drawn(self.stream, [weight / fsum(weights) for weight in weights])]


class KLUCBPlusPlus(Index):
    def index(self, k):
        count, mean = self.count_and_mean(k)
        x = self.horizon / (self.arms * count)
        exploration = log_plus(x * (log_plus(x) ** 2 + 1.0))
        return largest_mean(self.family, mean, exploration / count, self.sigma)


def log_plus(x):
    return log(x) if x > 1.0 else 0.0
