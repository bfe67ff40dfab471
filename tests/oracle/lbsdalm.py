"""LB-SDA-LM: the algorithm of the paper's appendix B, with the ≥ of its section 3."""

from math import ceil, log, sqrt
from typing import ClassVar

from oracle.rounds import Oracle, last, mean


class LBSDALM(Oracle):
    PER_ARM: ClassVar = {
        "pulls": lambda self: 0,
        "all_rewards": lambda self: [],
        "stored": lambda self: [],
    }

    def r(self):
        """The paper's r; in the authors' code the number of finished rounds."""
        return max(1, self.round - 1) if self.reference else self.round

    def memory(self):
        return max(self.minimum, ceil(self.scale * log(self.r()) ** 2) + self.offset)

    def plan(self):
        self.leader = self.most_pulled(self.present, self.pulls, self.all_rewards)
        chosen = []
        for k in self.present:
            if k != self.leader:
                if self.is_owed(k) or self.wins(k):
                    chosen.append(k)
        return chosen, []

    def is_owed(self, k):
        """The sampling obligation."""
        if self.reference:
            ahead = self.pulls[k] < self.pulls[self.leader]
            return ahead and self.pulls[k] < log(self.r()) ** 0.333
        return self.pulls[k] <= sqrt(log(self.r()))

    def wins(self, k):
        if self.reference and self.pulls[k] >= self.pulls[self.leader]:
            return False
        mine, theirs = self.stored[k], self.stored[self.leader]
        return mean(mine) >= mean(last(theirs, len(mine)))

    def held(self, k):
        return self.stored[k]

    def tell(self, arm, reward):
        if len(self.stored[arm]) >= self.memory():
            self.stored[arm].pop(0)
        self.stored[arm].append(reward)
        self.pulls[arm] += 1
        self.all_rewards[arm].append(reward)
