"""xoshiro256++ on Python's whole numbers, seeded like a bandit of the library."""

from numpy.random import SeedSequence

WORD = 1 << 64
POLICY, ENVIRONMENT = 0, 1


class Stream:
    def __init__(self, seed, replication=0, role=POLICY, salt=0):
        key = [int(word) ^ salt for word in SeedSequence(seed).generate_state(4, "uint64")]
        tag = mix((2 * replication + role + 0x9E3779B97F4A7C15) % WORD)
        self.state = [mix((key[i] + tag * (2 * i + 1)) % WORD) for i in range(4)]

    def word(self):
        s0, s1, s2, s3 = self.state
        result = (rotate((s0 + s3) % WORD, 23) + s0) % WORD
        shifted = (s1 << 17) % WORD
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = rotate(s3, 45)
        self.state = [s0, s1, s2, s3]
        return result

    def uniform(self):
        return (self.word() >> 11) / 2**53

    def below(self, n):
        return int(self.uniform() * n)

    def shuffle(self, items):
        """Fisher–Yates, from the top."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def rotate(word, bits):
    return (word << bits) % WORD | word >> (64 - bits)


def mix(word):
    """The finaliser of splitmix64."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)
