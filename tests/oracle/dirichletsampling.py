"""BDS, QDS and RDS: the whole history, sorted and weighted anew for every duel."""

from itertools import groupby
from math import ceil, fsum, log, sqrt
from typing import ClassVar

from oracle.rounds import Oracle


class DirichletSampling(Oracle):
    PER_ARM: ClassVar = {"history": lambda self: [], "kept": lambda self: []}

    def plan(self):
        pulls = [len(rewards) for rewards in self.history]
        self.leader = self.most_pulled(self.present, pulls, self.history)
        mean = fsum(self.history[self.leader]) / pulls[self.leader]
        chosen = []
        for k in self.present:
            if k != self.leader:
                if fsum(self.history[k]) / pulls[k] >= mean or self.index(k, mean) >= mean:
                    chosen.append(k)
        return chosen, []

    def index(self, k, mean):
        kept, n = self.kept[k], len(self.history[k])
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
            added = max(added, max(self.history[k]) + self.margin)
        if self.bonus == "known":
            added = self.upper
        shares = [(x, self.share(run * (n / len(kept)))) for x, run in pairs]
        shares.append((added, self.share(1)))
        return sum(x * share for x, share in shares) / sum(share for _, share in shares)

    def share(self, shape):
        return self.stream.exponential() if shape == 1 else self.stream.gamma(shape)

    def tell(self, arm, reward):
        super().tell(arm, reward)
        kept = self.kept[arm]
        if self.memory and len(kept) == self.memory:
            place = self.stream.below(len(self.history[arm]))
            if place < self.memory:
                kept[place] = reward
        else:
            kept.append(reward)
