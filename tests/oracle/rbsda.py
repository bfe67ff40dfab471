"""RB-SDA: LB-SDA's rounds with a random block of the leader's rewards."""

from oracle.lbsda import LBSDA
from oracle.rounds import mean


class RBSDA(LBSDA):
    def is_owed(self, pulls, leader_pulls):
        return not self.reference and super().is_owed(pulls, leader_pulls)

    def wins(self, k):
        mine, theirs = self.history[k], self.history[self.leader]
        if self.reference and len(mine) >= len(theirs):
            return False
        n = len(mine)
        blocks = [theirs[i : i + n] for i in range(len(theirs) - n + 1)]
        if self.reference:
            blocks.pop()
        block = blocks[0] if len(blocks) == 1 else blocks[self.stream.below(len(blocks))]
        return mean(mine) >= mean(block)
