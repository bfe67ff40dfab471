"""PHE, Giro and NPTS: indices of the whole history, drawn afresh at every step."""

from fractions import Fraction
from math import ceil, floor, fsum

from oracle.ucb import Index


class PHE(Index):
    def index(self, k):
        rewards = self.rewards(k)
        coins = ceil(Fraction(str(self.a)) * len(rewards))
        return (fsum(rewards) + self.stream.binomial(coins, 0.5)) / (len(rewards) + coins)


class Giro(Index):
    def index(self, k):
        rewards = self.rewards(k)
        exact = self.a * len(rewards)
        pseudo = floor(exact)
        if exact > pseudo and self.stream.uniform() < exact - pseudo:
            pseudo += 1
        history = rewards + [0.0] * pseudo + [1.0] * pseudo
        ones = history.count(1.0)
        atoms = ones + history.count(0.0)
        others = [reward for reward in rewards if reward not in {0.0, 1.0}]
        inner = len(history)
        if atoms > 0:
            inner = self.stream.binomial(len(history), len(others) / len(history))
        sample = [others[self.stream.below(len(others))] for _ in range(inner)]
        if inner < len(history):
            sample.append(self.stream.binomial(len(history) - inner, ones / atoms))
        total = 0.0
        for reward in sample:
            total += reward
        return total / len(history)


class NPTS(Index):
    def index(self, k):
        rewards = self.rewards(k)
        top = self.stream.gamma(rewards.count(1.0) + self.bound)
        weight = top
        if rewards.count(0.0) > 0:
            weight += self.stream.gamma(rewards.count(0.0))
        for reward in rewards:
            if reward not in {0.0, 1.0}:
                share = self.stream.exponential()
                weight += share
                top += share * reward
        return top / weight
