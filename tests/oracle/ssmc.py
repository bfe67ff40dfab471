"""SSMC: every block of the leader's rewards, every time."""

from math import log, sqrt

from oracle.rounds import Oracle, mean


class SSMC(Oracle):
    def plan(self):
        pulls = [len(rewards) for rewards in self.history]
        self.leader = self.most_pulled(range(self.arms), pulls, self.history)
        chosen = []
        for k in range(self.arms):
            if k != self.leader and pulls[k] < pulls[self.leader]:
                if pulls[k] < self.exploration * sqrt(log(self.round)) or self.wins(k):
                    chosen.append(k)
        return chosen, []

    def wins(self, k):
        mine, theirs = self.history[k], self.history[self.leader]
        n = len(mine)
        blocks = [theirs[i : i + n] for i in range(len(theirs) - n + 1)]
        return mean(mine) >= min(mean(block) for block in blocks)
