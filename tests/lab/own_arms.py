"""A family of arms of the user's own: rewards 0 or `height`."""

FAMILY = '''
from typing import NamedTuple
from lastblock.core.families import family
from lastblock.kernels.streams import to_unit

@family()
class Lottery(NamedTuple):
    """A prize, now and then."""

    chance: float
    height: float = 1.0

    @property
    def mean(self):
        return self.chance * self.height

    def parameters(self):
        return self.chance, self.height

    def support(self):
        return 0.0, self.height

    @staticmethod
    def draw(a, b, c, d, table, at, word, scratch):
        return b if to_unit(word) < a else 0.0
'''
