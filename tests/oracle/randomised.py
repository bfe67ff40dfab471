"""Naive twins of the randomised policies: everything from the list of all pulls, at every step."""

from math import e, exp, fsum, sqrt

from oracle.twin import Twin, twin_of


class Thompson(Twin):
    window, discount = None, 1.0

    def ask(self):
        return self.largest(self.draws())

    def draws(self):
        """A mean from the posterior of each arm."""
        seen = self.pulled if self.window is None else self.pulled[-self.window :]
        age = len(seen)
        faded = []  # (arm, reward, what is left of it)
        for arm, reward in seen:
            age -= 1
            faded.append((arm, reward, self.discount**age))
        draws = []
        for k in range(self.arms):
            if self.family == "bernoulli":
                wins = fsum(left for arm, reward, left in faded if arm == k and reward == 1)
                losses = fsum(left for arm, reward, left in faded if arm == k and reward == 0)
                draws.append(self.stream.beta(1 + wins, 1 + losses))
                continue
            n = fsum(left for arm, _, left in faded if arm == k)
            x = fsum(left * reward for arm, reward, left in faded if arm == k)
            m, v = self.prior_mean, self.prior_sigma**2
            if self.family == "poisson":
                draws.append(self.stream.gamma(m**2 / v + x) / (m / v + n))
            elif self.family == "exponential":
                shape = 2 + m**2 / v
                draws.append((m * (shape - 1) + x) / self.stream.gamma(shape + n))
            else:
                precision = 1 / self.prior_sigma**2 + n / self.sigma**2
                mean = (self.prior_mean / self.prior_sigma**2 + x / self.sigma**2) / precision
                draws.append(mean + self.stream.normal() / sqrt(precision))
        return draws

    def tell(self, arm, reward):
        if self.family == "bernoulli":
            reward = self.stream.coin(reward)
        super().tell(arm, reward)


DiscountedThompson = SlidingWindowThompson = Thompson


class EpsilonGreedy(Twin):
    decay, discount = 0.0, 1.0

    def begin(self):
        self.first = list(range(self.arms))
        self.stream.shuffle(self.first)

    def ask(self):
        if self.first:
            return self.first.pop(0)
        t = len(self.pulled) + 1
        if self.stream.uniform() < min(1, self.epsilon / t**self.decay):
            return self.stream.below(self.arms)
        return self.largest(self.means())

    def means(self):
        """Of all rewards, the one of i pulls ago with weight γⁱ."""
        newest = len(self.pulled) - 1
        faded = [(arm, x, self.discount ** (newest - t)) for t, (arm, x) in enumerate(self.pulled)]
        counts = [fsum(left for arm, _, left in faded if arm == k) for k in range(self.arms)]
        sums = [fsum(left * x for arm, x, left in faded if arm == k) for k in range(self.arms)]
        return [
            total / count if count >= 1e-200 else 1e300
            for total, count in zip(sums, counts, strict=True)
        ]


DiscountedEpsilonGreedy = EpsilonGreedy


class PlayTheWinner(Twin):
    def begin(self):
        self.circle = list(range(self.arms))
        self.stream.shuffle(self.circle)

    def ask(self):
        return self.circle[0]

    def tell(self, arm, reward):
        if self.stream.coin(reward) == 0:
            step = 1 if self.cyclic else 1 + self.stream.below(self.arms - 1)
            self.circle = self.circle[step:] + self.circle[:step]


class EXP3(Twin):
    batch = None

    def ask(self):
        first = 0 if self.batch is None else len(self.pulled) // self.batch * self.batch
        gains = [0.0] * self.arms
        for arm, reward, chance in self.pulled[first:]:
            gains[arm] += self.gamma / self.arms * min(1, max(0, reward)) / chance
        weights = [exp(gain - max(gains)) for gain in gains]
        self.chances = chances_of(weights, self.gamma)
        return drawn(self.stream, self.chances)

    def tell(self, arm, reward):
        self.pulled.append((arm, reward, self.chances[arm]))


REXP3 = EXP3


class EXP3S(Twin):
    def begin(self):
        self.weights = [[1.0] * self.arms]  # after 0, 1, 2, … rewards

    def ask(self):
        late = self.reference and len(self.weights) > 1
        self.chances = chances_of(self.weights[-2 if late else -1], self.gamma)
        return drawn(self.stream, self.chances)

    def tell(self, arm, reward):
        w = self.weights[-1]
        gains = [0.0] * self.arms
        taken = reward if self.as_is else min(1, max(0, reward))
        gains[arm] = taken / self.chances[arm]
        if self.reference:
            gains[arm] = reward / chances_of(w, self.gamma)[arm]
        growths = [min(200, max(-200, self.gamma * gain / self.arms)) for gain in gains]
        new = [
            w[k] * exp(growths[k]) + e * self.alpha / self.arms * fsum(w) for k in range(self.arms)
        ]
        self.weights.append([weight / max(new) for weight in new])  # only their ratios matter


def chances_of(weights, gamma):
    return [(1 - gamma) * w / fsum(weights) + gamma / len(weights) for w in weights]


def drawn(stream, chances):
    u = stream.uniform()
    for k, chance in enumerate(chances[:-1]):
        if u < chance:
            return k
        u -= chance
    return len(chances) - 1


class Binarized(Twin):
    """Another twin, which sees coins."""

    def begin(self):
        self.coins = self.stream.split()
        self.inner = twin_of(self.policy, self.arms, self.stream)

    def ask(self):
        return self.inner.ask()

    def tell(self, arm, reward):
        self.inner.tell(arm, self.coins.coin((reward - self.low) / (self.high - self.low)))


class OracleRestart(Twin):
    """Another twin, made anew at every change."""

    t = 0

    def ask(self):
        if self.t == 0 or self.t in self.changes:
            self.inner = twin_of(self.policy, self.arms, self.stream)
        self.t += 1
        return self.inner.ask()

    def tell(self, arm, reward):
        self.inner.tell(arm, reward)
