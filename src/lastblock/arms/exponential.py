"""Exponential rewards."""

import math
from typing import Any, NamedTuple

from lastblock.core.families import family
from lastblock.core.parameters import Positive
from lastblock.kernels.streams import to_open_unit


@family(movable=True)
class Exponential(NamedTuple):
    """Rewards from an exponential law with mean `mean`, the inverse of its rate."""

    mean: Positive

    def parameters(self) -> tuple[float, ...]:
        return (self.mean,)

    def support(self) -> tuple[float, float]:
        return 0.0, math.inf

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        return -a * math.log(to_open_unit(word))
