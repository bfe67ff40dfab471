"""BDS, QDS and RDS: the whole history, sorted and weighted anew for every duel."""

from itertools import groupby
from math import ceil, fsum, log, sqrt

from oracle.rounds import Oracle
from oracle.sampling import Sampler


class DirichletSampling(Oracle):
    def __init__(
        self, arms, seed, bonus="robust", rho=4.0, margin=0.0, alpha=0.05, memory=0, upper=1.0
    ):
        super().__init__(arms, seed, reference=False)
        self.stream = Sampler(seed)
        self.bonus, self.rho, self.margin, self.alpha = bonus, rho, margin, alpha
        self.memory, self.upper = memory, upper
        self.rewards = [[] for _ in range(arms)]
        self.kept = [[] for _ in range(arms)]

    def plan(self):
        pulls = [len(rewards) for rewards in self.rewards]
        self.leader = self.most_pulled(self.present, pulls, self.rewards)
        mean = fsum(self.rewards[self.leader]) / pulls[self.leader]
        chosen = []
        for k in self.present:
            if k != self.leader:
                if fsum(self.rewards[k]) / pulls[k] >= mean or self.index(k, mean) >= mean:
                    chosen.append(k)
        return chosen, []

    def index(self, k, mean):
        kept, n = self.kept[k], len(self.rewards[k])
        kept.sort()
        body = ceil(len(kept) * (1 - self.alpha)) if self.bonus == "quantile" else len(kept)
        pairs = [(x, len(list(run))) for x, run in groupby(kept[:body])]
        tail = kept[body:]
        short = sum(max(0.0, mean - x) * run for x, run in pairs) / body
        if tail:
            pairs.append((sum(tail) / len(tail), len(tail)))
        factor = sqrt(log(1 + n)) if self.bonus == "robust" else self.rho
        added = mean + factor * short
        if self.bonus == "bounded":
            added = max(added, max(self.rewards[k]) + self.margin)
        if self.bonus == "known":
            added = self.upper
        shares = [(x, self.share(run * (n / len(kept)))) for x, run in pairs]
        shares.append((added, self.share(1)))
        return sum(x * share for x, share in shares) / sum(share for _, share in shares)

    def share(self, shape):
        return self.stream.exponential() if shape == 1 else self.stream.gamma(shape)

    def tell(self, arm, reward):
        self.rewards[arm].append(reward)
        kept = self.kept[arm]
        if self.memory and len(kept) == self.memory:
            place = self.stream.below(len(self.rewards[arm]))
            if place < self.memory:
                kept[place] = reward
        else:
            kept.append(reward)
