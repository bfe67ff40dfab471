"""Rewards 0 or 1."""

from typing import Any, NamedTuple

from lastblock.core.families import family
from lastblock.core.parameters import Share
from lastblock.kernels.streams import to_unit


@family(movable=True, common=True)
class Bernoulli(NamedTuple):
    """Rewards that are 1 with probability `mean`, else 0."""

    mean: Share

    def parameters(self) -> tuple[float, ...]:
        return (self.mean,)

    def support(self) -> tuple[float, float]:
        return 0.0, 1.0

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        return 1.0 if to_unit(word) < a else 0.0
