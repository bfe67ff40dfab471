"""SSMC: every block of the leader's rewards, every time."""

from math import log, sqrt

from oracle.rounds import Oracle, mean


class SSMC(Oracle):
    def __init__(self, arms, seed, exploration=1.0):
        super().__init__(arms, seed, reference=False)
        self.exploration = exploration
        self.rewards = [[] for _ in range(arms)]

    def plan(self):
        pulls = [len(rewards) for rewards in self.rewards]
        self.leader = self.most_pulled(range(self.arms), pulls, self.rewards)
        chosen = []
        for k in range(self.arms):
            if k != self.leader and pulls[k] < pulls[self.leader]:
                if pulls[k] < self.exploration * sqrt(log(self.round)) or self.wins(k):
                    chosen.append(k)
        return chosen, []

    def wins(self, k):
        mine, theirs = self.rewards[k], self.rewards[self.leader]
        n = len(mine)
        blocks = [theirs[i : i + n] for i in range(len(theirs) - n + 1)]
        return mean(mine) >= min(mean(block) for block in blocks)

    def tell(self, arm, reward):
        self.rewards[arm].append(reward)
