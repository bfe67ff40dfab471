"""LB-SDA: algorithm 1 of the paper."""

from math import log, sqrt

from oracle.rounds import Oracle, last, mean


class LBSDA(Oracle):
    def plan(self):
        pulls = [len(rewards) for rewards in self.history]
        self.leader = self.most_pulled(self.present, pulls, self.history)
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
        mine, theirs = self.history[k], self.history[self.leader]
        if self.reference and len(mine) >= len(theirs):
            return False
        return mean(mine) >= mean(last(theirs, len(mine)))
