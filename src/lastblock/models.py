"""The reward families that some policies must be told, unlike the subsampling ones."""

from enum import IntEnum


class Family(IntEnum):
    """A one-parameter exponential family; written as a word, ``family="gaussian"``."""

    BERNOULLI = 0
    GAUSSIAN = 1
    POISSON = 2
    EXPONENTIAL = 3

    def __repr__(self) -> str:
        return repr(self.name.lower())
