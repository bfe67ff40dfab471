"""LB-SDA-GM: LB-SDA's rules; the leader's block begins at a mark, recomputed from all rewards."""

from oracle.lbsda import LBSDA
from oracle.rounds import mean


def level_of(n, marks, block):
    """The lowest level whose marks reach back for a block of n: its steps are 2 to this power."""
    waits = max(3, marks - 3)  # for level 1, before a mark moves there
    level = 0
    if n > marks:
        level = 1
        while 2 * n > (marks + waits - (2 if block == "long" else 1)) * 2**level:
            level += 1
    return level


def length_of_block(written, n, marks, block):
    """Of the leader's last block, against n rewards of the challenger."""
    step = 2 ** level_of(n, marks, block)
    exact = written - n
    before = exact // step * step
    after = before if before == exact else before + step
    if block == "long":
        place = before
    elif block == "short":
        place = after
    else:  # the nearest; of two that are as near, the later one
        place = before if exact - before < after - exact else after
    return written - place


class LBSDAGM(LBSDA):
    def wins(self, k):
        mine = self.history[k]
        return mean(mine) >= mean(self.against(self.leader, len(mine)))

    def against(self, leader, n):
        written = len(self.history[leader])
        return self.history[leader][-length_of_block(written, n, self.marks, self.block) :]
