"""The reward families that some policies must be told, unlike the subsampling ones."""

from enum import IntEnum
from typing import Literal, TypeAlias


class Family(IntEnum):
    """A one-parameter exponential family; written as a word, ``family="gaussian"``."""

    BERNOULLI = 0
    GAUSSIAN = 1
    POISSON = 2
    EXPONENTIAL = 3

    def __repr__(self) -> str:
        return repr(self.name.lower())


FamilyWord: TypeAlias = Literal["bernoulli", "gaussian", "poisson", "exponential"]
"""The families as words. A policy's field is ``Family | FamilyWord``: it accepts both, and holds
the `Family` once the policy is made."""

FamilyCode: TypeAlias = int | FamilyWord
"""What a kernel is given: always a number. The words are here because a type checker cannot know
that a policy has turned them into a `Family`."""
