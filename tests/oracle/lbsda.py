"""LB-SDA: algorithm 1 of the paper."""

from math import log, sqrt
from typing import ClassVar

from oracle.rounds import Oracle, last, mean


class LBSDA(Oracle):
    PER_ARM: ClassVar = {"rewards": lambda self: []}

    def __init__(self, arms, seed, reference=False):
        super().__init__(arms, seed, reference)
        self.rewards = [[] for _ in range(arms)]  # Y_{k,1}, Y_{k,2}, …

    def plan(self):
        pulls = [len(rewards) for rewards in self.rewards]
        self.leader = self.most_pulled(self.present, pulls, self.rewards)
        chosen = []
        for k in self.present:
            if k != self.leader:
                if self.is_owed(pulls[k], pulls[self.leader]) or self.wins(k):
                    chosen.append(k)
        return chosen, []

    def is_owed(self, pulls, leader_pulls):
        """The sampling obligation."""
        if self.reference:  # r is the number of finished rounds there
            return pulls < log(self.round - 1) ** 0.333 and pulls < leader_pulls
        return pulls <= sqrt(log(self.round))

    def wins(self, k):
        mine, theirs = self.rewards[k], self.rewards[self.leader]
        if self.reference and len(mine) >= len(theirs):
            return False
        return mean(mine) >= mean(last(theirs, len(mine)))

    def held(self, k):
        return self.rewards[k]

    def tell(self, arm, reward):
        self.rewards[arm].append(reward)
