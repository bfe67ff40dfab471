"""The twins' stream with the library's samplers: what is tested is a policy, not a sampler."""

import numpy as np

from lastblock.kernels import count_samplers as counts
from lastblock.kernels import samplers
from oracle.stream import Stream


class Sampling(Stream):
    def binomial(self, n, p):
        return int(self._call(counts.binomial, n, p))

    def gamma(self, shape):
        return float(self._call(samplers.gamma, float(shape)))

    def exponential(self):
        return float(self._call(samplers.exponential))

    def _call(self, sampler, *parameters):
        words = np.array(self.state, dtype=np.uint64)
        value = sampler(words, *parameters)
        self.state = [int(word) for word in words]
        return value


class IndexTwin:
    """Every arm once in random order, then the largest index; a subclass has the index."""

    def __init__(self, arms, seed):
        self.arms = arms
        self.stream = Sampling(seed)
        self.pulls = []  # (arm, reward), from the first
        self.first = list(range(arms))
        self.stream.shuffle(self.first)

    def ask(self):
        if self.first:
            return self.first.pop(0)
        indices = [self.index(self.rewards(k)) for k in range(self.arms)]
        best = [k for k in range(self.arms) if indices[k] == max(indices)]
        return best[0] if len(best) == 1 else best[self.stream.below(len(best))]

    def rewards(self, arm):
        return [reward for pulled, reward in self.pulls if pulled == arm]

    def tell(self, arm, reward):
        self.pulls.append((arm, reward))
