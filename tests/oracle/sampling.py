"""The twins' stream with the library's samplers: what is tested is a policy, not a sampler."""

import numpy as np

from lastblock.kernels import count_samplers as counts
from lastblock.kernels import samplers
from oracle.stream import WORD, Stream, mix


class Sampler(Stream):
    def call(self, sampler, *parameters):
        words = np.array(self.state, dtype=np.uint64)
        value = float(sampler(words, *parameters))
        self.state = [int(word) for word in words]
        return value

    def binomial(self, n, p):
        return int(self.call(counts.binomial, n, p))

    def normal(self):
        return self.call(samplers.normal)

    def beta(self, a, b):
        return self.call(samplers.beta, a, b)

    def gamma(self, shape):
        return self.call(samplers.gamma, float(shape))

    def exponential(self):
        return self.call(samplers.exponential)

    def coin(self, x):
        """1 with probability x."""
        if x <= 0:
            return 0.0
        if x >= 1:
            return 1.0
        return 1.0 if self.uniform() < x else 0.0

    def child(self):
        """Another stream, made from the next word of this one."""
        word, other = self.word(), Sampler(0)
        other.state = [mix((word + (i + 1) * 0x9E3779B97F4A7C15) % WORD) for i in range(4)]
        return other

    def split(self):
        """The same, but this one stays as it is."""
        before = list(self.state)
        other, self.state = self.child(), before
        return other
