"""WR-SDA: LB-SDA's rounds with BESA's samples of the leader's rewards."""

from math import fsum

from oracle.besa import BESA
from oracle.rbsda import RBSDA


class WRSDA(RBSDA):
    wins_counted = BESA.wins_counted
    wins_drawn = BESA.wins

    def wins(self, k):
        values = sorted({reward for rewards in self.history for reward in rewards})
        if self.reference:
            return self.wins_or_tosses(k)
        if len(values) < 3:
            return self.wins_counted(k, self.leader, values[-1])
        return self.wins_drawn(k, self.leader)

    def wins_or_tosses(self, k):
        n, theirs = len(self.history[k]), self.history[self.leader]
        draws = min(n, len(theirs) - n)
        for i in range(draws):
            j = i + self.stream.below(len(theirs) - i)
            theirs[i], theirs[j] = theirs[j], theirs[i]
        sample = theirs[:draws] if draws == n else theirs[draws:]
        margin = fsum(self.history[k]) - fsum(sample)
        return margin > 0 if margin != 0 else self.stream.below(2) == 0
