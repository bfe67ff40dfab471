"""Naive twins of the policies that draw arms by chances: everything from the list of all pulls."""

from math import exp, fsum, sqrt

from oracle.randomised import EpsilonGreedy, drawn
from oracle.twin import Twin


class Softmax(EpsilonGreedy):
    def ask(self):
        if self.first:
            return self.first.pop(0)
        means = self.means()
        t = len(self.pulled) + 1
        if max(means) == 1e300:  # forgotten: it goes first
            return self.largest(means)
        tau = self.temperature / t**self.decay
        weights = [exp((mean - max(means)) / tau) for mean in means]
        return drawn(self.stream, [w / fsum(weights) for w in weights])


class GradientBandit(Twin):
    def ask(self):
        preferences = [0.0] * self.arms
        before = []
        for arm, reward, chances in self.pulled:
            weights = [self.discount ** (len(before) - 1 - i) for i in range(len(before))]
            usual = reward
            if before:
                products = [x * w for x, w in zip(before, weights, strict=True)]
                usual = fsum(products) / fsum(weights)
            gain = max(-200, min(self.step * (reward - usual), 200))
            preferences = [
                self.discount * preferences[k] + gain * ((k == arm) - chances[k])
                for k in range(self.arms)
            ]
            before.append(reward)
        weights = [exp(h - max(preferences)) for h in preferences]
        self.chances = [w / fsum(weights) for w in weights]
        return drawn(self.stream, self.chances)

    def tell(self, arm, reward):
        self.pulled.append((arm, reward, self.chances))


class TsallisINF(Twin):
    def ask(self):
        losses = [0.0] * self.arms
        for t, (arm, reward, chances) in enumerate(self.pulled, start=1):
            for k in range(self.arms):
                baseline = 0.0
                if self.reduced_variance and chances[k] >= self.rate(t) ** 2:
                    baseline = 0.5
                losses[k] += baseline
                if k == arm:
                    losses[k] += (1 - reward - baseline) / chances[k]
        self.chances = tsallis_chances(losses, self.rate(len(self.pulled) + 1))
        return drawn(self.stream, self.chances)

    def rate(self, t):
        return (4 if self.reduced_variance else 2) / sqrt(t)

    def tell(self, arm, reward):
        self.pulled.append((arm, reward, self.chances))


def tsallis_chances(losses, rate):
    """4 / (η (L − x))², with the x below all losses for which they sum to 1, by bisection."""
    low = min(losses) - 2 * sqrt(len(losses)) / rate
    high = min(losses) - 2 / rate
    for _ in range(200):
        x = (low + high) / 2
        if fsum(4 / (rate * (loss - x)) ** 2 for loss in losses) > 1:
            high = x
        else:
            low = x
    return [4 / (rate * (loss - low)) ** 2 for loss in losses]


def regularised(chances, losses, rate):
    """What Tsallis-INF minimises: the cumulated loss, less Tsallis entropy with α = ½."""
    entropy = fsum(4 * (sqrt(p) - p / 2) for p in chances)
    return fsum(p * loss for p, loss in zip(chances, losses, strict=True)) - entropy / rate
