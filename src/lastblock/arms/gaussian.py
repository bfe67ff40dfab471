"""Gaussian rewards."""

import math
from typing import Annotated, Any, NamedTuple

from lastblock.core.families import family
from lastblock.core.parameters import Range
from lastblock.kernels.samplers import normal_of


@family(movable=True, common=True)
class Gaussian(NamedTuple):
    """Rewards from a normal law with mean `mean` and standard deviation `std`."""

    mean: float
    std: Annotated[float, Range(above=0.0, hint="for 0 use Dirac")] = 1.0

    def parameters(self) -> tuple[float, ...]:
        return self.mean, self.std

    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        return a + b * normal_of(word, scratch)
