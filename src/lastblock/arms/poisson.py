"""Poisson rewards."""

import math
from typing import Any, NamedTuple

from lastblock.core.families import family
from lastblock.kernels.samplers import poisson
from lastblock.kernels.streams import expand


@family(movable=True)
class Poisson(NamedTuple):
    """Rewards from a Poisson law with mean `mean`: counts."""

    mean: float

    def validate(self) -> None:
        if not 0.0 < self.mean <= 1e9:
            raise ValueError(f"Poisson: mean={self.mean} must be positive and at most 1e9")

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
