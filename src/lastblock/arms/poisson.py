"""Poisson rewards."""

import math
from typing import Annotated, Any, NamedTuple

from lastblock.core.families import family
from lastblock.core.parameters import Range
from lastblock.kernels.samplers import poisson
from lastblock.kernels.streams import expand


@family(movable=True)
class Poisson(NamedTuple):
    """Rewards from a Poisson law with mean `mean`: counts."""

    mean: Annotated[float, Range(above=0.0, most=1e9)]

    def parameters(self) -> tuple[float, ...]:
        return (self.mean,)

    def support(self) -> tuple[float, float]:
        return 0.0, math.inf

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        expand(scratch, word)
        return poisson(scratch, a)
