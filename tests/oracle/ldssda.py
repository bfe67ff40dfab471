"""LDS-SDA: LB-SDA's rounds with a block that Sobol's sequence places."""

from fractions import Fraction

from oracle.rbsda import RBSDA
from oracle.rounds import mean


def sobol(n):
    """The n-th point: flip, from the point before, the digit that the zeros at n's end count."""
    point = 0
    for i in range(1, n + 1):
        zeros = (i & -i).bit_length() - 1
        point ^= 1 << (62 - zeros)
    return Fraction(point, 1 << 63)


class LDSSDA(RBSDA):
    def wins(self, k):
        mine, theirs = self.history[k], self.history[self.leader]
        n = len(mine)
        point = sobol(self.round - 1)
        if self.reference:
            if n >= len(theirs):
                return False
            first = int(point * len(theirs))
            return mean(mine) >= mean((theirs + theirs)[first : first + n])
        blocks = [theirs[i : i + n] for i in range(len(theirs) - n + 1)]
        return mean(mine) >= mean(blocks[int(point * len(blocks))])
