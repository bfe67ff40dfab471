"""BESA, with the exact probabilities of a duel where rewards have two values."""

from fractions import Fraction
from math import comb, fsum

from oracle.twin import Twin


class BESA(Twin):
    round = 0

    def begin(self):
        self.queue = []
        self.history = [[] for _ in range(self.arms)]  # in the order that the samples leave

    def ask(self):
        if not self.queue:
            self.round += 1
            self.queue = list(range(self.arms))
            if self.round <= self.initial:
                self.stream.shuffle(self.queue)
            else:
                if self.arms > 2:
                    self.stream.shuffle(self.queue)
                self.queue = [self.tournament(self.queue)]
        return self.queue.pop(0)

    def tournament(self, order):
        """Duels level by level, the deepest first."""
        parts = halves(len(order))
        winners = {(i, i + 1): order[i] for i in range(len(order))}
        for level in reversed(parts):
            for first, middle, last in level:
                a, b = winners[first, middle], winners[middle, last]
                winners[first, last] = self.duel(a, b)
        return winners[0, len(order)]

    def duel(self, a, b):
        mine, theirs = self.history[a], self.history[b]
        if len(mine) == len(theirs):
            if fsum(mine) == fsum(theirs):
                return a if self.stream.below(2) == 0 else b
            return a if fsum(mine) > fsum(theirs) else b
        few, many = (a, b) if len(mine) < len(theirs) else (b, a)
        values = sorted({reward for rewards in self.history for reward in rewards})
        wins = self.wins_counted(few, many, values[-1]) if len(values) < 3 else self.wins(few, many)
        return few if wins else many

    def wins_counted(self, few, many, high):
        """One draw decides with the probability that a sample is no better."""
        x, n = self.history[few].count(high), len(self.history[few])
        good, total = self.history[many].count(high), len(self.history[many])
        ways = [comb(good, i) * comb(total - good, n - i) for i in range(n + 1)]
        probability = Fraction(sum(ways[: x + 1]), comb(total, n))
        if probability in {0, 1}:
            return probability == 1
        return self.stream.uniform() < probability

    def wins(self, few, many):
        n, rewards = len(self.history[few]), self.history[many]
        draws = min(n, len(rewards) - n)
        for i in range(draws):
            j = i + self.stream.below(len(rewards) - i)
            rewards[i], rewards[j] = rewards[j], rewards[i]
        sample = rewards[:draws] if draws == n else rewards[draws:]
        return fsum(self.history[few]) >= fsum(sample)

    def tell(self, arm, reward):
        self.history[arm].append(reward)


def halves(n):
    """For each depth, the parts (first, middle, last) that hold more than one of n places."""
    levels = []
    depth = 0
    while 2**depth < n:
        edges = [n * j // 2 ** (depth + 1) for j in range(2 ** (depth + 1) + 1)]
        parts = zip(edges[0::2], edges[1::2], edges[2::2], strict=False)
        levels.append([part for part in parts if part[0] < part[1] < part[2]])
        depth += 1
    return levels
