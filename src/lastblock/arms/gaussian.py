"""Gaussian rewards."""

import math
from typing import Any, NamedTuple

from lastblock.core.families import family
from lastblock.kernels.samplers import normal_of


@family(movable=True, common=True)
class Gaussian(NamedTuple):
    """Rewards from a normal law with mean `mean` and standard deviation `std`."""

    mean: float
    std: float = 1.0

    def validate(self) -> None:
        if self.std <= 0.0:
            raise ValueError(f"Gaussian: std={self.std} must be positive; for 0 use Dirac")

    def parameters(self) -> tuple[float, ...]:
        return self.mean, self.std

    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        return a + b * normal_of(word, scratch)
